"""The published file against the independent oracle: every key and every amount of the demo, to the last digit.

A column of the contract that the oracle does not work out is in tests/oracle/left_out.yml, with what checks it instead.
"""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from dagster_project.publishing.contract import SECTIONS
from tests.contract import flat, in_force, read
from tests.oracle.compare import KEYS, differences, report
from tests.oracle.oracle import Oracle, Tables
from tests.shared import SHARED

pytestmark = pytest.mark.slow
DEMO_NOW = "2026-10-10T00:00:00Z"
BEFORE = datetime(2026, 8, 1, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = yaml.safe_load((ROOT / "tests" / "oracle" / "left_out.yml").read_text(encoding="utf-8"))
WORKED_OUT_IN_PART = {"reason"}  # of invoices alone


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


@pytest.mark.nightly
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


def columns_of_the_contract() -> dict[str, set[str]]:
    """The columns of each table as the contract is in force."""
    if SHARED is None:
        pytest.skip("the public contract (../shared/contract.yml) is not beside this checkout")
    base, more = read(SHARED)
    tables = in_force(base, more, SECTIONS)["tables"]
    return {name: {column.split()[0] for column in flat(table.get("columns", []))} for name, table in tables.items()}


def test_every_column_of_the_contract_is_worked_out_or_left_out_with_a_reason(oracle_tables: Tables) -> None:
    contract = columns_of_the_contract()
    assert contract.keys() == KEYS.keys() | LEFT_OUT["tables"].keys()
    assert not KEYS.keys() & LEFT_OUT["tables"].keys()
    for name, rows in oracle_tables.items():
        worked_out = {*KEYS[name], *(column for row in rows.values() for column in row)}
        left_out = set(LEFT_OUT["columns"].get(name, ()))
        assert contract[name] - worked_out == left_out - WORKED_OUT_IN_PART, name
        assert not left_out & worked_out - WORKED_OUT_IN_PART, name


def test_what_the_oracle_leaves_out_is_checked_by_files_that_exist() -> None:
    reasons = [*LEFT_OUT["tables"].values(), *(text for of_table in LEFT_OUT["columns"].values() for text in of_table.values())]
    named = {word.rstrip(",;") for reason in reasons for word in reason.split() if word.startswith(("tests/", "dbt/"))}
    assert named
    assert not sorted(path for path in named if not (ROOT / path).exists())
