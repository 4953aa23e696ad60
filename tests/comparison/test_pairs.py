"""Which runs make a pair, in which window: the published SELECT on the demo's tables, with the records of a few runs changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import duckdb
import pytest

pytestmark = pytest.mark.slow
Ask = Callable[..., dict[str, Any]]
YEAR, LATER = "2025-10-01", "2026-07-01"  # the four quarters to September 2026, and the third quarter alone


@pytest.fixture
def ask(demo_home: Path) -> Iterator[Ask]:
    """Pairs of the cost per run by window and pair, once `changes` to dim_training_runs have been made."""
    file = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"attach '{file}' as published (read_only)")
        connection.execute("create schema marts")
        for (table,) in connection.execute(
            "select table_name from duckdb_tables() where database_name = 'published' and schema_name = 'marts'"
        ).fetchall():
            connection.execute(f'create view marts."{table}" as from published.marts."{table}"')
        query = "select statement from published.ops.report_statements where model = 'rpt_comparison_pairs'"
        [statement] = connection.execute(query).fetchone() or [""]

        def answer(*changes: str) -> dict[str, Any]:
            connection.execute("create table runs as from published.marts.dim_training_runs")
            for change in changes:
                connection.execute(f"update runs set {change}")
            connection.execute("create or replace view marts.dim_training_runs as from runs")
            rows = connection.execute(
                f"""select cast(window_start as varchar), pair_key, trainium_run_count, tpu_run_count, trainium_value, tpu_value,
                    ratio, trainium_region_id from ({statement}) where kpi = 'cost_per_run_to_target' and setting = ''"""
            ).fetchall()
            return {f"{window} {pair}": rest for window, pair, *rest in rows}

        yield answer


def test_replicates_of_one_side_are_averaged_first_and_the_pair_counts_once(ask: Ask) -> None:
    together = ask("pair_key = 'llm8b-04' where training_run_id = 'llm8b-cpt-05'")[f"{YEAR} llm8b-04"]
    assert together[:2] == [2, 1]
    assert together[2] == pytest.approx(sqrt(6741.824801846 * 6359.7149654432))
    assert together[4] == pytest.approx(together[3] / together[2])


def test_a_replicate_without_the_figure_leaves_no_pair(ask: Ask) -> None:
    """A run that nobody billed has no cost: half of the replicates is not the side."""
    assert f"{YEAR} llm8b-04" not in ask(
        "pair_key = 'llm8b-04' where training_run_id = 'llm8b-cpt-05'",
        "training_run_id = 'never-billed' where training_run_id = 'llm8b-cpt-05'",
    )


def test_a_pair_counts_in_the_window_in_which_its_last_run_ended(ask: Ask) -> None:
    pairs = ask("ended_at = timestamp '2026-07-01 00:00:00' where training_run_id = 'llm8b-tpu-05'")
    assert f"{LATER} llm8b-05" in pairs and f"{YEAR} llm8b-05" in pairs
    assert "2026-04-01 llm8b-05" not in pairs and "2026-04-01 llm8b-04" in pairs


@pytest.mark.parametrize(
    "change", ["state = 'failed'", "is_target_reached = false", "workload_key = 'another'", "pair_key = null", "ended_at = null"]
)
def test_a_run_that_did_not_reach_its_target_or_is_no_twin_makes_no_pair(ask: Ask, change: str) -> None:
    assert f"{YEAR} llm8b-05" not in ask(f"{change} where training_run_id = 'llm8b-tpu-05'")


def test_runs_without_a_target_on_record_are_compared(ask: Ask) -> None:
    assert f"{YEAR} llm8b-05" in ask("is_target_reached = null where training_run_id = 'llm8b-tpu-05'")
