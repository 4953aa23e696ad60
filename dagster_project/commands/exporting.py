"""`trainledger export`: a published view as a file for somebody else's system, CSV or Parquet.

What the rows are is dbt's (focus_1_4, activity_data) and is in the published file; here they become a file. Exact numbers
keep all their digits. In CSV a text that a spreadsheet would run as a formula gets an apostrophe before it.
"""

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.failures import UsageError
from dagster_project.base.months import first_day, month_end, read_month
from dagster_project.commands.query import open_published, text_of, write_csv, write_parquet
from dagster_project.publishing.digest import plain_text

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Export:
    """A published view, the column that states of which month a row is, and the key that orders its rows."""

    view: str
    month: str
    key: str


FOCUS = Export("focus_1_4", "ChargePeriodStart", "x_RowId")
ACTIVITY = Export("activity_data", "period_start", "activity_id")


def export(file: Path, what: Export, first: str | None, last: str | None, target: Path | None) -> None:
    """Write the rows from the first month to the last, both included, to a .csv or .parquet file, else CSV to standard output."""
    if target is not None and target.suffix not in (".csv", ".parquet"):
        raise UsageError(f"'{target.name}' is neither CSV nor Parquet", remedy="Name the file .csv or .parquet.")
    with open_published(file) as connection:
        connection.execute("set TimeZone = 'UTC'")
        if not connection.execute("from duckdb_views() where schema_name = 'marts' and view_name = ?", [what.view]).fetchall():
            remedy = "Run `trainledger refresh` with this version first."
            raise UsageError(f"the publication has no {what.view}", where=str(file), remedy=remedy)
        if bounds := _bounds(first, last):
            _require_rows(connection, what, bounds)
        condition = " and ".join(f"{what.month} {comparison} ?" for comparison, _ in bounds) or "true"
        query = f"select * from marts.{what.view} where {condition} order by {what.key}"
        cursor = connection.execute(query, [day for _, day in bounds])
        if target is not None and target.suffix == ".parquet":
            write_parquet(cursor, target)
        else:
            with text_of(target) as out:
                write_csv(cursor, out, cell)


def _bounds(first: str | None, last: str | None) -> list[tuple[str, date]]:
    """Comparisons with a row's month, half-open."""
    if first and last and read_month(first, "--from") > read_month(last, "--to"):
        raise UsageError(f"--to {last} is before --from {first}", remedy=f"Write --from {last} --to {first}.")
    bounds = []
    if first:
        bounds.append((">=", first_day(read_month(first, "--from"))))
    if last:
        bounds.append(("<", month_end(read_month(last, "--to")).date()))
    return bounds


def _require_rows(connection: duckdb.DuckDBPyConnection, what: Export, bounds: list[tuple[str, date]]) -> None:
    """Refuse months of which there is nothing: a file without rows looks like months without cost."""
    inside = " and ".join(f"{what.month} {comparison} ?" for comparison, _ in bounds)
    names = ", ".join(f"strftime({which}({what.month}), '%Y-%m')" for which in ("min", "max"))
    query = f"select {names}, coalesce(bool_or({inside}), false) from marts.{what.view}"
    [(earliest, latest, is_there)] = connection.execute(query, [day for _, day in bounds]).fetchall()
    if not is_there:
        there = f"It has {earliest} to {latest}." if earliest else "It has none of any month."
        raise UsageError(f"{what.view} has no row of these months", remedy=f"{there} Give other months, or none for all.")


def cell(value: Any) -> str:
    """A value as text: every digit, instants with their Z, and no text that a spreadsheet would run."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    text = plain_text(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text
