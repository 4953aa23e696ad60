"""`trainledger export`: a published view as a file for somebody else's system, CSV or Parquet.

What rows and columns are is dbt's (focus_1_4, activity_data, dbt/models/pages/handover) and is in the published file; here they
become a file. Exact numbers keep all their digits. In CSV a text that a spreadsheet would run as a formula gets an
apostrophe before it.
"""

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.failures import UsageError
from dagster_project.base.months import first_day, month_end, read_month
from dagster_project.commands.options import Electricity, FocusVersion, Format, Tool
from dagster_project.commands.query import open_published, write_answer
from dagster_project.publishing.digest import plain_text, quoted
from reports.page.records import FORMULA_STARTS


@dataclass(frozen=True)
class Export:
    """A published view, the column that states of which month a row is, and the key that orders its rows."""

    view: str
    month: str
    key: str
    schema: str = "marts"  # or pages, whose views are of the same file


EMISSIONS = Export("focus_emissions", "ChargePeriodStart", "x_RowId")
ACTIVITY = Export("activity_data", "period_start", "activity_id")
VERSIONS = {
    version: Export(
        f"focus_{version.replace('.', '_')}", "ChargePeriodStart", "x_RowId", "marts" if version == "1.4" else "pages"
    )
    for version in FocusVersion
}
TOOLS = {
    Tool.envizi: Export("activity_envizi", "Record Start YYYY-MM-DD", "Record Reference", "pages"),
    Tool.fusion: Export("activity_fusion", "CONSUMPTION_START_DATE", "INTERFACE_ACTIVITY_KEY", "pages"),
    Tool.sustainability_manager: Export(
        "activity_sustainability_manager", "Consumption start date", "Origin correlation ID", "pages"
    ),
}


def export_focus(
    file: Path, version: FocusVersion, first: str | None, last: str | None, target: Path | None, emissions: Path | None
) -> None:
    """Write the bill in the shape of a version of FOCUS, and what the providers emitted for it into a file of its own."""
    if emissions is not None and emissions == target:
        raise UsageError("the emissions would overwrite the costs", remedy="Give --emissions a file of its own.")
    export(file, VERSIONS[version], first, last, target)
    if emissions is not None:
        export(file, EMISSIONS, first, last, emissions)


def export_activity(
    file: Path, tool: Tool | None, electricity: Electricity | None, first: str | None, last: str | None, target: Path | None
) -> None:
    """Write activity data: all that is known, or the tonnes of one method in the columns of a tool."""
    if (tool is None) != (electricity is None):
        what = "a tool imports one total" if tool else "all methods are in the general file"
        raise UsageError(what, remedy="Give --tool and --electricity together, the method that you file, or neither.")
    export(file, TOOLS[tool] if tool else ACTIVITY, first, last, target, electricity)


def export(
    file: Path,
    what: Export,
    first: str | None,
    last: str | None,
    target: Path | None,
    electricity: Electricity | None = None,
) -> None:
    """Write the rows from the first month to the last, both included, to a .csv or .parquet file, else CSV to standard output."""
    forms = {".csv": Format.csv, ".parquet": Format.parquet}
    if target is not None and target.suffix not in forms:
        raise UsageError(f"'{target.name}' is neither CSV nor Parquet", remedy="Name the file .csv or .parquet.")
    with open_published(file) as connection:
        connection.execute("set TimeZone = 'UTC'")
        found = "from duckdb_views() where schema_name = ? and view_name = ?"
        if not connection.execute(found, [what.schema, what.view]).fetchall():
            remedy = "Run `trainledger refresh` with this version first."
            raise UsageError(f"the publication has no {what.view}", where=str(file), remedy=remedy)
        condition, days = _months(what, first, last)
        if days:
            _require_rows(connection, what, condition, days)
        columns = "*" if electricity is None else "* exclude (electricity)"
        asked = condition if electricity is None else f"{condition} and electricity = ?"
        cursor = connection.execute(
            f"select {columns} from {what.schema}.{what.view} where {asked} order by {quoted(what.key)}",
            [*days, *([electricity.value] if electricity else [])],
        )
        write_answer(cursor, Format.csv if target is None else forms[target.suffix], target, cell)


def _months(what: Export, first: str | None, last: str | None) -> tuple[str, list[date]]:
    """A condition of a row's month, half-open, and the days in it."""
    if first and last and read_month(first, "--from") > read_month(last, "--to"):
        raise UsageError(f"--to {last} is before --from {first}", remedy=f"Write --from {last} --to {first}.")
    month = quoted(what.month)
    days = {f"{month} >= ?": first_day(read_month(first, "--from"))} if first else {}
    if last:
        days[f"{month} < ?"] = month_end(read_month(last, "--to")).date()
    return " and ".join(days) or "true", [*days.values()]


def _require_rows(connection: duckdb.DuckDBPyConnection, what: Export, condition: str, days: list[date]) -> None:
    """Refuse months of which there is nothing: a file without rows looks like months without cost."""
    names = ", ".join(f"strftime({which}({quoted(what.month)}), '%Y-%m')" for which in ("min", "max"))
    query = f"select {names}, coalesce(bool_or({condition}), false) from {what.schema}.{what.view}"
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
