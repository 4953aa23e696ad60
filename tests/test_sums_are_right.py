"""The promise of docs/contract.md, asked of every published table: a plain SUM over a filter on one currency is right.

Every table with exact amounts (DECIMAL) is here, with its filter, beside the book: the money of the bill, the masses of the
provider, the energy of the runs. A table that is not listed fails, so that a new one is thought about.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dagster_project.base.dbt_project import project_folder

pytestmark = pytest.mark.slow

MODELS = {path.stem for path in (project_folder() / "models" / "marts").rglob("*.sql")}
MASSES = ("provider_total_location_based_kgco2e", "provider_scope_2_market_based_kgco2e")


def book(measure: str, total: str, unit: str = "USD", filters: str = "true") -> str:
    """A total of the book: where is_elected, one measure, one unit."""
    where = f"is_elected and measure = '{measure}' and unit_or_currency = '{unit}' and {filters}"
    return f"select sum({total}) from marts.fct_reconciliation where {where}"


def plain(table: str, column: str, filters: str = "billing_currency = 'USD'") -> str:
    return f"select sum({column}) from marts.{table} where {filters}"


def nine_places(microseconds: str) -> str:
    """Hours of whole microseconds at nine decimals."""
    return f"cast(cast(({microseconds}) * 10 + 18 as bigint) // 36 as decimal(19, 0)) * cast(0.000000001 as decimal(9, 9))"


FACILITY = plain("fct_training_run_energy", "facility_energy_kwh", "true")
SUMS: dict[str, list[tuple[str, str]]] = {
    # no record of the demo holds a part of a chip
    "dim_training_runs": [
        (plain("dim_training_runs", "chip_equivalents", "true"), plain("dim_training_runs", "chip_count", "true"))
    ],
    "fct_training_run_costs": [
        (plain("fct_training_run_costs", cost), book(cost, "runs_total")) for cost in ("billed_cost", "effective_cost")
    ],
    "fct_run_cell_costs": [
        (plain("fct_run_cell_costs", cost), book(cost, "runs_total")) for cost in ("billed_cost", "effective_cost")
    ],
    "fct_residual_costs": [
        (plain("fct_residual_costs", cost), book(cost, "residual_total")) for cost in ("billed_cost", "effective_cost")
    ],
    "fct_reconciliation": [
        (book(cost, "provider_total"), f"select ({plain('fct_run_cell_costs', cost)}) + ({plain('fct_residual_costs', cost)})")
        for cost in ("billed_cost", "effective_cost")
    ],
    "fct_run_cell_emissions": [
        (plain("fct_run_cell_emissions", mass, "true"), book(mass, "runs_total", "kgCO2e")) for mass in MASSES
    ],
    "fct_residual_emissions": [
        (plain("fct_residual_emissions", mass, "true"), book(mass, "residual_total", "kgCO2e")) for mass in MASSES
    ],
    "fct_training_run_emissions": [
        (plain("fct_training_run_emissions", mass, "true"), plain("fct_run_cell_emissions", mass, "true")) for mass in MASSES
    ],
    "fct_training_run_emissions_versions": [
        (plain("fct_training_run_emissions_versions", mass, "is_elected"), book(mass, "runs_total", "kgCO2e")) for mass in MASSES
    ],
    "fct_training_run_energy": [  # one boundary of the four
        (FACILITY, "select sum(facility_energy_kwh) from marts.run_summary where facility_energy_kwh is not null")
    ],
    "fct_training_run_emissions_modelled": [  # one set of factors
        (plain("fct_training_run_emissions_modelled", "facility_energy_kwh", "factor_set_id = 'location_direct_v1'"), FACILITY)
    ],
    "fct_energy_integrals": [  # idle shares, in joules
        (
            "select sum(integral) from marts.fct_energy_integrals inner join marts.fct_training_run_energy"
            " using (training_run_id, usage_month) where measure = 'idle_share' and idle_share_facility_energy_kwh is not null",
            "select cast(sum(idle_share_facility_energy_kwh) * 3600000 as decimal(38, 12)) from marts.fct_training_run_energy",
        )
    ],
    "fct_prepaid": [  # flows; opening and closing are balances, of which the first and the last are the change
        (
            plain("fct_prepaid", "purchased_cost - refunded_cost - amortised_used_cost - amortised_unused_cost"),
            "select sum(case when is_last then closing_cost else 0 end) - sum(case when is_first then opening_cost else 0 end)"
            " from (select *, usage_month = max(usage_month) over commitment as is_last,"
            " usage_month = min(usage_month) over commitment as is_first from marts.fct_prepaid where billing_currency = 'USD'"
            " window commitment as (partition by provider_name, payer_account_id, commitment_id))",
        )
    ],
    "fct_lost_work": [
        (
            plain("fct_lost_work", "effective_cost", "cause = 'idle' and billing_currency = 'USD'"),
            plain("fct_residual_costs", "effective_cost", "reason = 'idle' and billing_currency = 'USD'"),
        )
    ],
    "fct_purchase_costs": [
        (
            plain("fct_purchase_costs", "effective_cost"),
            plain("fct_training_run_costs", "effective_cost", "cost_component = 'accelerator' and billing_currency = 'USD'"),
        )
    ],
    "fct_run_attempts": [
        (
            plain("fct_run_attempts", "lost_hours", "true"),
            f"select sum({nine_places('epoch_us(ended_at) - epoch_us(coalesce(kept_until, started_at))')})"
            " from marts.fct_run_attempts where state in ('failed', 'interrupted') and ended_at > started_at",
        )
    ],
    "fct_run_progress": [
        (
            plain("fct_run_progress", "held_hours", "true"),
            f"select sum(hours) from (select {nine_places('sum(epoch_us(ended_at) - epoch_us(started_at))')} as hours"
            " from marts.fct_run_attempts group by training_run_id having count(*) = count(ended_at))",
        )
    ],
    "rpt_lost_work": [
        (plain("rpt_lost_work", amount), plain("fct_lost_work", amount)) for amount in ("effective_cost", "facility_energy_kwh")
    ],
    "run_summary": [(plain("run_summary", "effective_cost"), book("effective_cost", "runs_total"))],
    "run_month_summary": [
        (plain("run_month_summary", "effective_cost"), book("effective_cost", "runs_total")),
        (plain("run_month_summary", "facility_energy_kwh", "true"), FACILITY),
    ],
    "rpt_coverage": [(plain("rpt_coverage", "effective_cost"), book("effective_cost", "provider_total"))],
    "rpt_model_energy": [  # one boundary
        (
            plain("rpt_model_energy", "energy_kwh", "boundary = 'facility'"),
            "select sum(facility_energy_kwh) from marts.fct_training_run_energy inner join marts.dim_training_runs"
            " using (training_run_id) where model_name in (select model_name from marts.rpt_model_energy"
            " where boundary = 'facility' and energy_kwh is not null)",
        )
    ],
    "fct_telemetry_matches": [
        (
            plain("fct_telemetry_matches", "sample_count", "true"),
            "select sum(sample_count) from (select distinct * from marts.fct_telemetry_matches)",
        )
    ],
    "focus_1_4": [
        (plain("focus_1_4", "EffectiveCost", "BillingCurrency = 'USD'"), book("effective_cost", "provider_total")),
    ],
    "fct_costs_by_commitment": [
        (plain("fct_costs_by_commitment", measure), book(measure, "provider_total"))
        for measure in ("billed_cost", "effective_cost")
    ],
    "focus_emissions": [
        (plain("focus_emissions", "x_ProviderTotalLocationBasedKgco2e", "true"), book(MASSES[0], "provider_total", "kgCO2e")),
    ],
    "activity_data": [
        (plain("activity_data", "training_activity_kwh", "true"), FACILITY),
        (
            plain("activity_data", "provider_total_location_based_tco2e * 1000", "true"),
            book(MASSES[0], "provider_total", "kgCO2e"),
        ),
    ],
}
# rates, prices, powers, factors, what pairs promise; and figures of reports, each of a span, a boundary or a method of its own
NOT_ADDED = {
    *("dim_accelerators", "dim_accelerator_sources", "dim_prices", "dim_emission_factors", "dim_fx_rates"),
    *("rpt_break_even", "rpt_purchase_options", "rpt_quarterly_disclosure", "rpt_quarterly_figures", "rpt_vendor_claims"),
    *("dim_article_figures", "dim_comparison_plan_power", "dim_porting_costs", "dim_pue", "dim_vendor_claims"),
    *("dim_wue", "fct_water_withdrawals", "fct_training_run_water"),  # of two methods, and of years that are not out
    *("rpt_break_even_emissions", "rpt_region_what_if", "fct_restatements", "fct_power_calibration"),
    *("dim_comparison_registrations", "dim_comparison_plan_power", "rpt_yearly_disclosure", "dim_own_inventory"),
}


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield connection


@pytest.mark.parametrize("table", sorted(SUMS.keys() & MODELS))
def test_a_plain_sum_over_one_currency_is_the_book_s(published: duckdb.DuckDBPyConnection, table: str) -> None:
    for ours, theirs in SUMS[table]:
        (found,), (expected,) = published.execute(ours).fetchone() or (None,), published.execute(theirs).fetchone() or (None,)
        assert found == expected, ours
        assert found is not None, ours


def test_every_published_table_with_exact_amounts_is_asked(published: duckdb.DuckDBPyConnection) -> None:
    with_amounts = {
        name
        for (name,) in published.execute(
            "select distinct table_name from duckdb_columns() where schema_name = 'marts' and data_type like 'DECIMAL%'"
        ).fetchall()
    }
    assert with_amounts - SUMS.keys() - NOT_ADDED == set(), "say what their sums are equal to"


def test_other_rows_stand_beside_the_elected_ones_in_the_demo(published: duckdb.DuckDBPyConnection) -> None:
    """Without a second model version, an invoice and a modelled row the sums above would show nothing."""
    beside = published.execute(
        "select distinct method, measure = 'invoiced_cost' from marts.fct_reconciliation where not is_elected order by all"
    ).fetchall()
    assert beside == [("conservation", False), ("cross_check", True), ("modelled_vs_provider", False)]
    twice = published.execute(
        "select count(*) from (select 1 from marts.fct_reconciliation where is_elected"
        " group by source_name, payer_account_id, sub_account_id, service_code, region_id, usage_month, measure, unit_or_currency"
        " having count(*) > 1)"
    ).fetchone()
    assert twice == (0,)
