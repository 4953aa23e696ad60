"""Pieces of SQL text that several rooms write alike, and the rows of an answer by their names. No statement of any room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

# a cell in twelve characters, as the macro charge_group_id writes it
CELL_COLUMNS = ("source_name", "provider_name", "payer_account_id", "sub_account_id", "service_code", "region_id", "usage_month")
CELL = "substr(md5(" + " || '|' || ".join(f"cast({name} as varchar)" for name in CELL_COLUMNS) + "), 1, 12)"


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str | None) -> str:
    """A text literal, or NULL."""
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def rows_by_name(cursor: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """The rows of an answer, each with its columns by name."""
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
