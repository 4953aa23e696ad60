"""Totals by month: every row counts, and months that stayed are not read again."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dagster_project.publishing.digest import TableDigest, table_digest
from dagster_project.publishing.totals import RECONCILED, write_totals

CELLS = RECONCILED.of
COLUMNS = (
    "provider_name varchar, usage_month date, measure varchar, unit_or_currency varchar, provider_model_version varchar,"
    " method varchar, provider_total decimal(38, 12), runs_total decimal(38, 12), residual_total decimal(38, 12),"
    " quarantined_total decimal(38, 12), difference decimal(38, 12)"
)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(tmp_path / "new.duckdb")) as connection:
        connection.execute(f"create schema marts; create schema ops; create table marts.{CELLS} ({COLUMNS})")
        for month in ("2026-04", "2026-05"):
            add(connection, month, "3", "1", "2", "0")
            add(connection, month, "5", "5", "0", "0")
        yield connection


def add(connection: duckdb.DuckDBPyConnection, month: str, total: str, *others: str, method: str = "conservation") -> None:
    *parts, difference = others
    connection.execute(
        f"insert into marts.{CELLS} values ('AWS', ?, 'billed_cost', 'USD', '', ?, ?, ?, ?, 0, ?)",
        [f"{month}-01", method, total, *parts, difference],
    )


def of_cells(connection: duckdb.DuckDBPyConnection) -> TableDigest:
    return table_digest(connection, "marts", CELLS)


def months(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str, str]]:
    rows = connection.execute(
        "select strftime(usage_month, '%Y-%m'), row_count, provider_total, difference from ops.reconciled_months"
    ).fetchall()
    return {month: (count, f"{total:.0f}", f"{difference:.0f}") for month, count, total, difference in rows}


def test_two_cells_that_do_not_add_up_do_not_hide_each_other(file: duckdb.DuckDBPyConnection) -> None:
    add(file, "2026-05", "1", "0", "0", "1")
    add(file, "2026-05", "1", "2", "0", "-1")
    add(file, "2026-05", "9", "0", "0", "9", method="cross_check")
    write_totals(file, of_cells(file), None)
    assert months(file) == {"2026-04": (2, "8", "0"), "2026-05": (4, "10", "2")}


def test_months_whose_cells_stayed_are_not_added_up_again(file: duckdb.DuckDBPyConnection) -> None:
    before = of_cells(file)
    write_totals(file, before, None)
    file.execute("update ops.reconciled_months set row_count = 99")
    write_totals(file, of_cells(file), before.partitions)
    assert {count for count, _, _ in months(file).values()} == {99}
    add(file, "2026-05", "1", "1", "0", "0")
    add(file, "2026-06", "1", "1", "0", "0")
    file.execute(f"delete from marts.{CELLS} where usage_month = date '2026-04-01'")
    write_totals(file, of_cells(file), before.partitions)
    assert months(file) == {"2026-05": (3, "9", "0"), "2026-06": (1, "1", "0")}
    stayed = of_cells(file)
    file.execute("update ops.reconciled_months set row_count = 99 where usage_month = date '2026-05-01'")
    add(file, "2026-06", "2", "2", "0", "0")
    write_totals(file, of_cells(file), stayed.partitions)
    assert months(file) == {"2026-05": (99, "9", "0"), "2026-06": (2, "3", "0")}
