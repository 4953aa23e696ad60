"""Which runs make a pair, what it promises and what a side costs: the published SELECT on the demo's tables, a few rows changed.

The demo's pairs are of one launch a side. What changes here is written as one would correct it in a record, a bill or a file.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

pytestmark = pytest.mark.slow
Ask = Callable[..., dict[str, Any]]
YEAR, SPRING, SUMMER = "2025-10-01", "2026-04-01", "2026-07-01"  # the four quarters to September 2026, and two alone
CHANGED = ("dim_training_runs", "dim_comparison_registrations", "dim_model_names", "dim_fx_rates", "fct_training_run_costs")
TO_TARGET, FIXED_WORK = "cost_per_run_to_target", "cost_per_run_of_fixed_work"
TRAINIUM, TPU = "llm8b-cpt-05", "llm8b-tpu-05"  # the two sides of llm8b-05, in June
OTHER = "llm8b-cpt-04"  # of llm8b-04, also in June
FAILED = "dim_training_runs set pair_key = 'llm8b-05', state = 'failed' where training_run_id = '{}'"
NO_TARGET = "dim_training_runs set target_metric = null, target_value = null, final_value = null, is_target_reached = null"


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    found = connection.execute(query)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.fixture
def tables(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The demo's published tables, those that tests change as copies."""
    file = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"attach '{file}' as published (read_only)")
        connection.execute("create schema marts")
        for (table,) in connection.execute(
            "select table_name from duckdb_tables() where database_name = 'published' and schema_name = 'marts'"
        ).fetchall():
            kind = "table" if table in CHANGED else "view"
            connection.execute(f'create {kind} marts."{table}" as from published.marts."{table}"')
        # what runs promise is asked here; the demo's plans state it for some of them (tests/comparison/test_registrations.py)
        stated = ("promise", "target_metric", "target_direction", "target_value", "tokens")
        nothing = ", ".join(f"planned_{name} = null" for name in stated)
        connection.execute(f"update marts.dim_comparison_registrations set {nothing}")
        yield connection


def pairs(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    query = "select statement from published.ops.report_statements where model = 'rpt_comparison_pairs'"
    [statement] = connection.execute(query).fetchone() or [""]
    return rows(connection, f"select * replace (cast(window_start as varchar) as window_start) from ({statement})")


@pytest.fixture
def ask(tables: duckdb.DuckDBPyConnection) -> Ask:
    """The rows of pairs by window and pair, once these changes to published tables have been made."""

    def answer(*changes: str, kpi: str = TO_TARGET, setting: str = "") -> dict[str, Any]:
        for change in changes:
            tables.execute(change if change.startswith("insert") else f"update marts.{change}")
        found = (row for row in pairs(tables) if row["kpi"] == kpi and row["setting"] == setting and row["factor_view"] == "chip")
        return {f"{row['window_start']} {row['pair_key']}": row for row in found}

    return answer


def cost(connection: duckdb.DuckDBPyConnection, run: str) -> float:
    of_run = "from marts.fct_training_run_costs where training_run_id = ? and cost_component <> 'credit'"
    return float((connection.execute(f"select sum(effective_cost) {of_run}", [run]).fetchone() or [0])[0])


def test_a_launch_that_failed_is_paid_by_those_that_reached(ask: Ask, tables: duckdb.DuckDBPyConnection) -> None:
    """Under an id of its own: the side then costs more for each success, and does not look cheaper."""
    before = ask()[f"{YEAR} llm8b-05"]
    after = ask(FAILED.format(OTHER))[f"{YEAR} llm8b-05"]
    assert (after["trainium_launches"], after["trainium_reached"], after["tpu_launches"]) == (2, 1, 1)
    assert after["trainium_value"] == pytest.approx(cost(tables, TRAINIUM) + cost(tables, OTHER))
    assert after["ratio"] == pytest.approx(after["tpu_value"] / after["trainium_value"])
    assert after["ratio"] < 0.6 * before["ratio"]


@pytest.mark.parametrize("how", ["state = 'stopped'", "is_target_reached = false", "state = 'interrupted'"])
def test_what_was_stopped_or_missed_its_target_counts_as_what_failed(ask: Ask, how: str) -> None:
    row = ask(f"dim_training_runs set pair_key = 'llm8b-05', {how} where training_run_id = '{OTHER}'")[f"{YEAR} llm8b-05"]
    assert (row["trainium_launches"], row["trainium_reached"]) == (2, 1)


def test_replicates_that_reached_share_the_cost_and_the_pair_counts_once(ask: Ask, tables: duckdb.DuckDBPyConnection) -> None:
    row = ask(f"dim_training_runs set pair_key = 'llm8b-05' where training_run_id = '{OTHER}'")[f"{YEAR} llm8b-05"]
    assert row["trainium_run_count"] == row["trainium_reached"] == 2
    assert row["trainium_value"] == pytest.approx((cost(tables, TRAINIUM) + cost(tables, OTHER)) / 2)


def test_a_side_that_never_reached_has_a_cost_and_no_ratio(ask: Ask) -> None:
    row = ask(f"dim_training_runs set state = 'failed' where training_run_id = '{TPU}'")[f"{YEAR} llm8b-05"]
    assert row["ratio"] is row["missing_side"] is None and row["tpu_reached"] == 0 and row["tpu_launches"] == 1


def test_a_launch_that_nobody_billed_leaves_no_cost_of_its_side(ask: Ask) -> None:
    """Half of the launches is not the side: the figure is missing, and the row shows on which side."""
    unbilled = f"fct_training_run_costs set training_run_id = 'another' where training_run_id = '{OTHER}'"
    row = ask(FAILED.format(OTHER), unbilled)[f"{YEAR} llm8b-05"]
    assert (row["ratio"], row["missing_side"], row["used_as"], row["use_reason"]) == (None, "trainium", "set_aside", "no_figure")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ("model_name = 'llm-70b'", "model_name"),
        ("target_value = 3, is_target_reached = true", "target_value"),
        ("target_metric = 'another'", "target_metric"),
        ("target_direction = case when target_direction = 'min' then 'max' else 'min' end", "target_direction"),
        ("target_metric = null, target_value = null", "target_value"),
    ],
)
def test_two_promises_are_no_pair(ask: Ask, change: str, field: str) -> None:
    row = ask(f"dim_training_runs set {change} where training_run_id = '{TPU}'")[f"{YEAR} llm8b-05"]
    assert (row["promise"], row["promise_broken_field"]) == ("broken", field)
    assert (row["used_as"], row["use_reason"]) == ("not_comparable", "promise_broken")


def test_to_a_target_tokens_are_an_outcome_that_stands_beside(ask: Ask) -> None:
    change = f"dim_training_runs set useful_tokens = 3 * useful_tokens where training_run_id = '{TPU}'"
    row = ask(change)[f"{YEAR} llm8b-05"]
    assert row["promise"] == "to_target" and row["tpu_tokens"] > 2.5 * row["trainium_tokens"]


def test_another_name_of_the_same_model_is_the_same_model(ask: Ask, tables: duckdb.DuckDBPyConnection) -> None:
    query = "select model_name from marts.dim_training_runs where training_run_id = ?"
    [(name,)] = tables.execute(query, [TRAINIUM]).fetchall()
    renamed = f"dim_training_runs set model_name = 'llm8b-jax' where training_run_id = '{TPU}'"
    assert ask(renamed)[f"{YEAR} llm8b-05"]["promise_broken_field"] == "model_name"
    alias = f"insert into marts.dim_model_names values ('llm8b-jax', '{name}', 'model card (example)', null, 'own')"
    assert ask(alias)[f"{YEAR} llm8b-05"]["promise"] == "to_target"


@pytest.mark.parametrize(("times", "promise"), [("1.05", "fixed_work"), ("1.06", "broken")])
def test_without_a_target_the_same_tokens_within_five_percent_are_promised(ask: Ask, times: str, promise: str) -> None:
    tokens = f"useful_tokens = case when training_run_id = '{TPU}' then floor(1000000 * {times}) else 1000000 end"
    row = ask(f"{NO_TARGET}, {tokens}", kpi=FIXED_WORK)[f"{YEAR} llm8b-05"]
    assert row["promise"] == promise and row["promise_broken_field"] == (None if promise == "fixed_work" else "useful_tokens")


@pytest.mark.parametrize(("times", "is_named"), [("1.05", False), ("1.06", True)])
def test_operations_of_fixed_work_that_differ_by_more_than_5_percent_are_a_remark(ask: Ask, times: str, is_named: bool) -> None:
    same = f"useful_tokens = 1000000, model_flops = case when training_run_id = '{TPU}' then {times}e18 else 1e18 end"
    row = ask(f"{NO_TARGET}, {same}", kpi=FIXED_WORK)[f"{YEAR} llm8b-05"]
    assert row["promise"] == "fixed_work" and ("operations" in (row["remark"] or "")) == is_named


def test_a_pair_without_target_and_tokens_is_described(ask: Ask) -> None:
    row = ask(f"{NO_TARGET}, useful_tokens = null, tokens = null", kpi=FIXED_WORK)[f"{YEAR} llm8b-05"]
    assert (row["promise"], row["used_as"], row["use_reason"]) == ("unknown", "descriptive", "promise_unknown")
    assert row["ratio"] is not None


def test_a_plan_states_once_what_records_do_not(ask: Ask) -> None:
    """The tokens of its fixed work: a pair whose records have none then keeps a promise."""
    plan = "dim_comparison_registrations set planned_promise = 'fixed_work', planned_tokens = 1000000"
    row = ask(f"{NO_TARGET}, useful_tokens = null, tokens = null", plan, kpi=FIXED_WORK)[f"{YEAR} llm8b-05"]
    assert row["promise"] == "fixed_work"


def test_only_a_registered_pair_decides_and_the_others_are_not_lost(ask: Ask) -> None:
    of_pair = "where pair_key = 'llm8b-05'"
    none = "dim_comparison_registrations set is_registered = false, registered_by = 'none', evidence_of_time = null"
    later = ask(none)[f"{YEAR} llm8b-05"]
    assert (later["used_as"], later["use_reason"], later["registered_by"]) == ("descriptive", "labelled_later", "none")
    assert later["ratio"] is not None
    by_plan = "is_registered = true, registered_by = 'plan', evidence_of_time = 'file_time'"
    row = ask(f"dim_comparison_registrations set {by_plan} {of_pair}")[f"{YEAR} llm8b-05"]
    assert (row["used_as"], row["use_reason"]) == ("decides", None)
    assert (row["registered_by"], row["evidence_of_time"]) == ("plan", "file_time")


def test_a_replicate_of_a_later_quarter_restates_its_pair_and_never_moves_it(ask: Ask) -> None:
    before = ask()
    later = "timestamp '2026-08-20 00:00:00'"
    after = ask(f"dim_training_runs set pair_key = 'llm8b-05', ended_at = {later} where training_run_id = '{OTHER}'")
    assert f"{SPRING} llm8b-05" in after and f"{SUMMER} llm8b-05" not in after
    old, new = before[f"{SPRING} llm8b-05"], after[f"{SPRING} llm8b-05"]
    assert old["cluster_start"] == new["cluster_start"] and old["trainium_value"] != new["trainium_value"]


@pytest.mark.parametrize(("day", "start"), [("2026-08-15 23:59:59", "2026-07-01"), ("2026-08-16 00:00:00", "2026-08-16")])
def test_a_cluster_is_half_a_quarter(ask: Ask, day: str, start: str) -> None:
    row = ask(f"dim_training_runs set ended_at = timestamp '{day}' where training_run_id = '{TPU}'")[f"{SUMMER} llm8b-05"]
    assert str(row["cluster_start"]) == start


def test_a_pair_whose_second_side_still_goes_on_is_in_no_window(ask: Ask) -> None:
    open_run = f"dim_training_runs set ended_at = null, state = 'running' where training_run_id = '{TPU}'"
    assert not {key for key in ask(open_run) if key.endswith("llm8b-05")}


def test_runs_of_another_workload_or_without_a_key_make_no_pair(ask: Ask) -> None:
    for change in ("workload_key = 'another'", "pair_key = null"):
        assert f"{YEAR} llm8b-05" not in ask(f"dim_training_runs set {change} where training_run_id = '{TPU}'")


def in_euros(rate: str) -> str:
    """The bill of the TPU runs in EUR; what it is in the reporting currency only where there is a rate."""
    return (
        f"fct_training_run_costs set billing_currency = 'EUR', reporting_currency_effective_cost = effective_cost * {rate}"
        " where training_run_id like 'llm8b-tpu%'"
    )


def test_costs_in_two_currencies_are_converted(ask: Ask) -> None:
    before = ask()[f"{YEAR} llm8b-05"]
    names = "rate_date, base_currency, quote_currency, rate, is_to_reporting_currency, source, source_name"
    rate = f"insert into marts.dim_fx_rates ({names}) values (date '2026-06-30', 'EUR', 'USD', 2, true, 'example', 'fx')"
    row = ask(rate, in_euros("2"))[f"{YEAR} llm8b-05"]
    assert row["unit"] == "USD" and row["ratio"] == pytest.approx(2 * before["ratio"], rel=1e-8)


def test_without_a_rate_the_reason_and_the_remedy_are_named(ask: Ask) -> None:
    row = ask(in_euros("null"))[f"{YEAR} llm8b-05"]
    assert (row["ratio"], row["used_as"], row["use_reason"]) == (None, "set_aside", "currency")
    assert "fx_rates" in row["remark"]


def test_the_price_setting_is_the_public_price_on_demand_or_nothing(ask: Ask) -> None:
    listed = ask("fct_training_run_costs set on_demand_list_cost = 2 * effective_cost", setting="price: list")
    paid = ask()
    assert listed[f"{YEAR} llm8b-05"]["ratio"] == pytest.approx(paid[f"{YEAR} llm8b-05"]["ratio"], rel=1e-8)
    unknown = f"fct_training_run_costs set on_demand_list_cost = null where training_run_id = '{TPU}'"
    unlisted = ask(unknown, setting="price: list")
    assert unlisted[f"{YEAR} llm8b-05"]["ratio"] is None


def test_how_a_side_was_bought_stands_beside_it(ask: Ask, tables: duckdb.DuckDBPyConnection) -> None:
    for row in ask().values():
        for family in ("trainium", "tpu"):
            bought = tables.execute(
                "select distinct purchase_option from marts.fct_purchase_costs"
                " inner join marts.dim_training_runs using (training_run_id)"
                " where workload_key = ? and pair_key = ? and accelerator_family = ? order by 1",
                [row["workload_key"], row["pair_key"], family],
            ).fetchall()
            assert row[f"{family}_purchase"] == (", ".join(name for (name,) in bought) or "unknown")
            assert row[f"{family}_software"] and row[f"{family}_region"] == row[f"{family}_region_id"]


def test_a_second_way_to_work_out_the_cost_of_a_success_agrees(tables: duckdb.DuckDBPyConnection) -> None:
    """Launches thrown into pairs at random, some of which fail or miss: in exact decimals, and by another road."""
    draw = random.Random(24)
    paired = "select training_run_id from marts.dim_training_runs where pair_key is not null order by 1"
    for (run,) in tables.execute(paired).fetchall():
        state, key = draw.choice(("succeeded", "succeeded", "failed")), draw.choice(("a", "b", "c"))
        tables.execute("update marts.dim_training_runs set state = ?, pair_key = ? where training_run_id = ?", [state, key, run])
    tables.execute("delete from marts.dim_comparison_registrations")
    tables.execute(
        """insert into marts.dim_comparison_registrations (workload_key, pair_key, registered_by, is_registered)
        select distinct workload_key, pair_key, 'none', false from marts.dim_training_runs where pair_key is not null"""
    )
    totals: dict[Any, Decimal] = defaultdict(Decimal)
    reached: dict[Any, int] = defaultdict(int)
    for run in rows(
        tables,
        """select workload_key, pair_key, accelerator_family,
            state = 'succeeded' and is_target_reached is distinct from false as ok, (
            select sum(effective_cost) from marts.fct_training_run_costs as costs
            where costs.training_run_id = runs.training_run_id and cost_component <> 'credit'
        ) as cost from marts.dim_training_runs as runs where pair_key is not null""",
    ):
        side = run["workload_key"], run["pair_key"], run["accelerator_family"]
        totals[side] += run["cost"]
        reached[side] += run["ok"]
    checked = 0
    for row in (row for row in pairs(tables) if row["kpi"] == TO_TARGET and row["setting"] == ""):
        for family in ("trainium", "tpu"):
            side = row["workload_key"], row["pair_key"], family
            assert row[f"{family}_reached"] == reached[side]
            if reached[side]:
                assert row[f"{family}_value"] == pytest.approx(float(totals[side] / reached[side]), rel=1e-8)
                checked += 1
    assert checked > 50


def test_no_order_of_rows_shows(tables: duckdb.DuckDBPyConnection) -> None:
    first = sorted(map(str, pairs(tables)))
    for table in ("dim_training_runs", "fct_training_run_costs"):
        tables.execute(f"create or replace table marts.{table} as select * from marts.{table} order by hash(training_run_id)")
    assert sorted(map(str, pairs(tables))) == first
