"""Accelerator cost that no run carries is one amount: on page one, in table T2.5, in fct_residual_costs and for the verdicts."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from reports.model import Sentence
from reports.pages import answer
from reports.publication import Publication
from reports.quarter import Quarter
from reports.quarterly import render
from reports.sections.summary import sentences
from tests.reports.kit import figures_of, tables_of
from tests.reports.report_models import with_pages

pytestmark = pytest.mark.slow
QUARTER = "2026Q3"
MONTHS = "usage_month between date '2026-07-01' and date '2026-09-01'"
OF_ACCELERATORS = "(cost_component = 'accelerator' or accelerator_type <> '')"
AMOUNTS = ("idle_cost", "unused_commitment_cost", "unlogged_cost", "no_record_cost", "other_cost")
Amounts = dict[tuple[str, str, str], Decimal]  # by cloud, currency and accelerator


@pytest.fixture(scope="module")
def connection(demo_home: Path) -> duckdb.DuckDBPyConnection:
    path = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    return duckdb.connect(str(path), read_only=True)


@pytest.fixture(scope="module")
def record(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    path = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    return json.loads(render(path, QUARTER, tmp_path_factory.mktemp("report"), organisation="Example AG").json.read_text())


@pytest.fixture(scope="module")
def left(connection: duckdb.DuckDBPyConnection) -> Amounts:
    """What fct_residual_costs leaves of accelerators."""
    rows = connection.execute(
        "select provider_name, billing_currency, accelerator_type, sum(effective_cost) from marts.fct_residual_costs"
        f" where {OF_ACCELERATORS} and {MONTHS} group by all"
    ).fetchall()
    return {(cloud, currency, name): amount for cloud, currency, name, amount in rows}


def rows_of(record: dict) -> list[dict]:
    return [row["values"] for row in tables_of(record)["residual_shares"]["rows"]]


def test_table_and_ledger_leave_the_same_amounts_by_cloud_currency_and_accelerator(record: dict, left: Amounts) -> None:
    table = {
        (row["provider_name"], row["billing_currency"], row["accelerator_type"]): Decimal(row["residual_cost"])
        for row in rows_of(record)
        if row["accelerator_type"] is not None
    }
    assert {key: amount for key, amount in table.items() if amount} == {key: amount for key, amount in left.items() if amount}
    assert table["Google Cloud", "USD", "v5p"] > 13_000  # of the commitment a quarter was not used
    for row in rows_of(record):
        assert Decimal(row["residual_cost"]) == sum(Decimal(row[name]) for name in AMOUNTS)
        assert Decimal(row["accelerator_cost"]) == Decimal(row["residual_cost"]) + Decimal(row["run_cost"])


def test_page_one_states_the_amounts_of_the_table_by_cloud_and_currency(record: dict, left: Amounts) -> None:
    [sentence] = [one for one in record["sections"][0]["sentences"] if one["id"] == "accelerators"]
    stated = {number["id"]: number["text"] for number in sentence["figures"]}
    totals = {(row["provider_name"], row["billing_currency"]): row for row in rows_of(record) if row["accelerator_type"] is None}
    assert len(stated) == 2 * len(totals) > 0
    for (cloud, currency), row in totals.items():
        assert Decimal(row["residual_cost"]) == sum(amount for key, amount in left.items() if key[:2] == (cloud, currency))
        cell = f"{QUARTER}/residual_shares/{cloud.replace(' ', '%20')},{currency},"
        assert {f"{cell}/residual_cost", f"{cell}/residual_ratio"} <= stated.keys()


def test_each_denominator_is_what_the_coverage_of_the_same_services_holds(
    connection: duckdb.DuckDBPyConnection, record: dict
) -> None:
    """rpt_coverage has whole services: of those with accelerators, their accelerators and what else they billed."""
    covered = connection.execute(
        f"""with parts as (
            select provider_name, billing_currency, service_code, effective_cost, cost_component = 'accelerator' as is_counted
            from marts.fct_run_cell_costs where {MONTHS}
            union all
            select provider_name, billing_currency, service_code, effective_cost, {OF_ACCELERATORS}
            from marts.fct_residual_costs where {MONTHS}
        ),
        services as (select provider_name, billing_currency, service_code from parts where is_counted group by all),
        others as (
            select provider_name, billing_currency, sum(effective_cost) filter (where not is_counted) as other_cost
            from parts semi join services using (provider_name, billing_currency, service_code) group by all
        ),
        coverage as (
            select provider_name, billing_currency, sum(effective_cost) as effective_cost
            from marts.rpt_coverage semi join services using (provider_name, billing_currency, service_code)
            where {MONTHS} group by all
        )
        select provider_name, billing_currency, effective_cost - coalesce(other_cost, 0)
        from coverage left join others using (provider_name, billing_currency)"""
    ).fetchall()
    totals = {
        (row["provider_name"], row["billing_currency"]): Decimal(row["accelerator_cost"])
        for row in rows_of(record)
        if row["accelerator_type"] is None
    }
    assert {(cloud, currency): amount for cloud, currency, amount in covered} == totals
    # and page one divides by the same
    [runs] = connection.execute(
        f"select sum(effective_cost) from marts.fct_training_run_costs where cost_component = 'accelerator' and {MONTHS}"
    ).fetchall()
    whole = Decimal(figures_of(record)["accelerator_cost_coverage"]["whole"])
    assert whole == round(Decimal(float(runs[0]) / float(sum(totals.values()))), 9)


def test_the_rule_that_withholds_a_verdict_compares_shares_of_the_types_compared(connection: duckdb.DuckDBPyConnection) -> None:
    """Of one workload by hand: what is idle of its Trainium type, over that and what runs carry of it, in all its months."""
    [(withheld, share)] = connection.execute(
        """select verdict_reason, trainium_residual_share from marts.rpt_trainium_vs_tpu
        where workload_key = 'demand-forecast' and kpi = 'cost_per_run_to_target' and window_start = date '2026-07-01'"""
    ).fetchall()
    in_months = "accelerator_type = 'trn1.2xlarge' and usage_month >= date '2025-10-01' and usage_month < date '2026-10-01'"
    [(idle,)] = connection.execute(f"select sum(effective_cost) from marts.fct_residual_costs where {in_months}").fetchall()
    [(carried,)] = connection.execute(
        "select sum(effective_cost) from marts.fct_training_run_costs inner join marts.dim_training_runs using (training_run_id)"
        f" where cost_component = 'accelerator' and {in_months}"
    ).fetchall()
    assert share == pytest.approx(float(idle / (idle + carried)), rel=1e-8) and share > 0.3
    assert withheld == "residual_share"


def test_without_a_residual_of_accelerators_page_one_has_no_such_sentence() -> None:
    with duckdb.connect() as empty:
        empty.execute((Path(__file__).with_name("published_schema.sql")).read_text())
        with_pages(empty)
        shares = answer(Publication(empty), Quarter.parse(QUARTER), "residual_shares")
    assert shares.rows == ()
    found: tuple[Sentence, ...] = sentences(Quarter.parse(QUARTER), [], uncarried=shares)
    assert "accelerators" not in {sentence.id for sentence in found}
