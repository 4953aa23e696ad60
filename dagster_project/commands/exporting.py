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
from dagster_project.commands.options import Format
from dagster_project.commands.query import open_published, write_answer
from dagster_project.publishing.digest import plain_text
from reports.page.records import FORMULA_STARTS


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
    forms = {".csv": Format.csv, ".parquet": Format.parquet}
    if target is not None and target.suffix not in forms:
        raise UsageError(f"'{target.name}' is neither CSV nor Parquet", remedy="Name the file .csv or .parquet.")
    with open_published(file) as connection:
        connection.execute("set TimeZone = 'UTC'")
        if not connection.execute("from duckdb_views() where schema_name = 'marts' and view_name = ?", [what.view]).fetchall():
            remedy = "Run `trainledger refresh` with this version first."
            raise UsageError(f"the publication has no {what.view}", where=str(file), remedy=remedy)
        condition, days = _months(what, first, last)
        if days:
            _require_rows(connection, what, condition, days)
        cursor = connection.execute(f"select * from marts.{what.view} where {condition} order by {what.key}", days)
        write_answer(cursor, Format.csv if target is None else forms[target.suffix], target, cell)


def _months(what: Export, first: str | None, last: str | None) -> tuple[str, list[date]]:
    """A condition of a row's month, half-open, and the days in it."""
    if first and last and read_month(first, "--from") > read_month(last, "--to"):
        raise UsageError(f"--to {last} is before --from {first}", remedy=f"Write --from {last} --to {first}.")
    days = {f"{what.month} >= ?": first_day(read_month(first, "--from"))} if first else {}
    if last:
        days[f"{what.month} < ?"] = month_end(read_month(last, "--to")).date()
    return " and ".join(days) or "true", [*days.values()]


def _require_rows(connection: duckdb.DuckDBPyConnection, what: Export, condition: str, days: list[date]) -> None:
    """Refuse months of which there is nothing: a file without rows looks like months without cost."""
    names = ", ".join(f"strftime({which}({what.month}), '%Y-%m')" for which in ("min", "max"))
    query = f"select {names}, coalesce(bool_or({condition}), false) from marts.{what.view}"
    [(earliest, latest, is_there)] = connection.execute(query, days).fetchall()
    if not is_there:
        there = f"It has {earliest} to {latest}." if earliest else "It has none of any month."
        raise UsageError(f"{what.view} has no row of these months", remedy=f"{there} Give other months, or none for all.")


def cell(value: Any) -> str:
    """A value as text: every digit, instants with their Z, and no text that a spreadsheet would run."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    text = plain_text(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text
