"""Figure ids: what one names: which table, which row of it, which column, and what was printed.

`2026Q3/cost_by_team/USD,vision/effective_cost` is a cell of a table of a quarter's report: quarter, table, the values that name
the row (percent-encoded, joined by commas, nothing for null) and the column. A headline figure is `2026Q3/glance/effective_cost`;
of an issued report it is `2026Q3-1/glance/effective_cost`, of any published table
`fct_training_run_costs/ft-7,2026-08-01,USD,accelerator,tag/effective_cost`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from reports.errors import ReportError
from reports.model import key_text

GLANCE = "glance"
QUARTER = re.compile(r"([1-9][0-9]{3}(?:Q[1-4])?)(-[1-9][0-9]{0,5})?")  # or year of a report, and its number where it was issued
VALUE = "value"
IN_SQL = {"whole": "whole_value", "prior": "prior_value"}  # numbers of a headline figure that its query names otherwise


class FigureError(ReportError):
    """A figure id names nothing that is there."""


@dataclass(frozen=True)
class Figure:
    """One figure: of which model, of which row of it, which column, and the value that was printed."""

    id: str
    table: str
    model: str
    key: Mapping[str, str | None]  # of the row, values as text
    column: str
    sql: str = ""  # what the report prints beside it; nothing asks it
    value: str | None = None
    is_printed: bool = True  # false for a row of a published table, which no report need have
    quarter: str | None = None


def figure_id(parts: Sequence[str], key: Sequence[str | None], column: str) -> str:
    """The id of a figure: what it is in, the values of its row's key, its column."""
    return "/".join([*parts, key_text(key), column])


def parts_of(text: str) -> tuple[str | None, str, list[str], str]:
    """The quarter or issued report or None, the table, the values of the key, and the column of a figure id."""
    parts = text.split("/")
    quarter = parts.pop(0) if QUARTER.fullmatch(parts[0]) else None
    if quarter and len(parts) == 2 and parts[0] == GLANCE:
        parts.append(VALUE)
    if len(parts) != 3 or not all((parts[0], parts[2])):
        raise FigureError(
            f"{text[:200]!r} is no figure id. Write 2026Q3/<table>/<values of the row's key>/<column>, 2026Q3/glance/<figure>, or"
            " <published table>/<values of its key>/<column>."
        )
    table, key, column = parts
    return quarter, unquote(table), [unquote(value) for value in key.split(",")], unquote(column)


def read_report(file: Path) -> dict[str, Any]:
    """report.json of a rendered quarter."""
    try:
        record = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise FigureError(
            f"There is no report at {file}. Run `trainledger report quarterly --quarter {file.parent.name}`."
        ) from None
    except ValueError as error:
        raise FigureError(f"{file} is no report.json: {error}") from error
    if not isinstance(record, dict) or "sections" not in record:
        raise FigureError(f"{file} is no report.json of a quarter.")
    return record


def tables_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every table of a report that has an answer."""
    all_tables = [table for section in record["sections"] for table in section["tables"]]
    return [table for table in all_tables if not table.get("absent")]


def in_report(record: Mapping[str, Any], text: str) -> Figure:
    """The figure of a report that an id names."""
    quarter, table_id, values, column = parts_of(text)
    if table_id == GLANCE:
        for figure in record["figures"]:
            if headline_id(record, figure).rpartition("/")[2] == ",".join(values) and figure.get(column) is not None:
                return _headline(record, figure, column)
        raise FigureError(f"The report of {quarter} has no headline figure {','.join(values)!r} with a number {column!r}.")
    table = next((one for one in tables_of(record) if one["id"] == table_id), None)
    if table is None:
        raise FigureError(f"The report of {quarter} has no table {table_id!r}.")
    names = row_key(table)
    wanted = values if names else []
    rows = [row for row in table["rows"] if [value or "" for value in _key_of(record, table, row, names).values()] == wanted]
    if len(rows) != 1:
        how = f"{len(names)} values: {', '.join(names)}" if len(names) != len(values) else "another row"
        raise FigureError(f"Table {table_id} of {quarter} has no row {','.join(values)!r}; its rows are named by {how}.")
    if column not in rows[0]["values"]:
        raise FigureError(f"Table {table_id} of {quarter} has no column {column!r}.")
    return _cell(record, table, names, rows[0], column)


def row_key(table: Mapping[str, Any]) -> list[str]:
    """The columns that name a row of a table of report.json; of one that does not say so, the fewest in front that do."""
    if "key" in table:
        return list(table["key"])
    names = [column["id"] for column in table["columns"]]
    for count in range(1, len(names)):
        if len({tuple(row["values"][name] for name in names[:count]) for row in table["rows"]}) == len(table["rows"]):
            return names[:count]
    return names


def headline_id(record: Mapping[str, Any], figure: Mapping[str, Any]) -> str:
    """The id of a headline figure."""
    return f"{record['quarter']}/{GLANCE}/{figure['id'].rpartition('/')[2]}"


def _headline(record: Mapping[str, Any], figure: Mapping[str, Any], column: str = VALUE) -> Figure:
    place = headline_id(record, figure)
    key = {"quarter": record["quarter"], "figure_id": figure["id"].rpartition("/")[2].partition(",")[0], "unit": figure["unit"]}
    id = place + (f"/{column}" if column != VALUE else "")
    return Figure(
        id, GLANCE, figure["model"], key, IN_SQL.get(column, column), figure["sql"], figure[column], quarter=record["quarter"]
    )


def _key_of(
    record: Mapping[str, Any], table: Mapping[str, Any], row: Mapping[str, Any], names: Sequence[str]
) -> dict[str, str | None]:
    """What names a row: the values of its key, of columns that the report does not show as the row's own id has them."""
    in_id = row.get("id", "").removeprefix(f"{record['quarter']}/{table['id']}/").split(",")
    if len(in_id) != len(names):
        in_id = [""] * len(names)
    return {name: row["values"].get(name) or unquote(text) or None for name, text in zip(names, in_id, strict=True)}


def _cell(
    record: Mapping[str, Any], table: Mapping[str, Any], names: Sequence[str], row: Mapping[str, Any], column: str
) -> Figure:
    key = _key_of(record, table, row, names)
    place = figure_id((record["quarter"], table["id"]), list(key.values()), column)
    return Figure(place, table["id"], table["model"], key, column, table["sql"], row["values"][column], quarter=record["quarter"])


def of_published(text: str, keys: Mapping[str, Sequence[str]]) -> Figure:
    """The figure of a row of a published table. `keys`: of every published table."""
    _, table, values, column = parts_of(text)
    if table not in keys:
        raise FigureError(f"No table {table!r} is published, and a quarter is written like 2026Q3.")
    names = keys[table]
    if len(values) != max(len(names), 1):
        raise FigureError(f"Rows of {table} are named by {len(names)} values: {', '.join(names)}.")
    key = {name: value or None for name, value in zip(names, values, strict=False)}
    return Figure(text, table, table, key, column, is_printed=False)
