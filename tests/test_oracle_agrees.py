"""The published file against the independent oracle: every key and every amount of the demo, to the last digit."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle, Tables

pytestmark = pytest.mark.slow
DEMO_NOW = "2026-10-10T00:00:00Z"
BEFORE = datetime(2026, 8, 1, tzinfo=UTC)


def june(tables: Tables) -> Decimal:
    rows = (*tables["fct_run_cell_costs"].items(), *tables["fct_residual_costs"].items())
    return sum((row["billed_cost"] for key, row in rows if date(2026, 6, 1) in key), Decimal(0))


@pytest.fixture(scope="module")
def oracle_tables(demo_home: Path) -> Tables:
    return Oracle(demo_home / "trainledger.yaml", now=DEMO_NOW).tables()


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Path:
    [path] = demo_home.rglob("published/trainledger.duckdb")
    return path


def test_every_amount_of_the_demo_is_the_one_the_oracle_works_out_from_the_exports(
    published: Path, oracle_tables: Tables
) -> None:
    assert all(oracle_tables.values()), (
        f"an empty table compares nothing: {[name for name, rows in oracle_tables.items() if not rows]}"
    )
    found = differences(published, oracle_tables)
    assert not found, report(found)


def test_what_was_published_before_the_restatement_is_the_old_bill(before_the_restatement: Path, oracle_tables: Tables) -> None:
    config = before_the_restatement / "trainledger.yaml"
    tables = Oracle(config, as_published=BEFORE, now=BEFORE.isoformat()).tables()
    assert june(tables) != june(oracle_tables), "the demo restates June, or this test shows nothing"
    [published] = before_the_restatement.rglob("asof/*/published/trainledger.duckdb")
    found = differences(published, tables)
    assert not found, report(found)


def test_nothing_is_lost_in_any_cell_measure_or_model_version(oracle_tables: Tables) -> None:
    balanced = {key: row for key, row in oracle_tables["fct_reconciliation"].items() if key[9] == "conservation"}
    unbalanced = {key: row for key, row in balanced.items() if row["difference"] != 0}
    assert not unbalanced
