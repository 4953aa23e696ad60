"""The Parquet of published views, for Athena, Spark, polars and BI tools, which read files and ask no view.

A view is asked once: by the build, else of the new published file. One with the column usage_month is a file for each month, as
a table is; every other one is a single file. Where no table that it reads, or that a view behind it reads, has other rows than
those published last, its files stay. *Example:* a delivery changes June's costs: run_summary is written again, whole; a refresh
that only moves a gate writes none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dagster_project.publishing.digest import MONTH, WHOLE, quoted
from dagster_project.publishing.last import condition_of, in_order, part_of
from dagster_project.publishing.parts import Parts
from dagster_project.publishing.tables import PublishedTable

if TYPE_CHECKING:
    import duckdb

    from dagster_project.publishing.digest import TableDigest

READ = re.compile(r'\bmarts\."?(\w+)"?')
ASKED = "asked_view"  # the rows of one view while its files are written
SHOWN = "shown"  # a database in memory, where a build that read a view left its rows


def write_view_files(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[PublishedTable],
    digests: Sequence[TableDigest],
    statements: Mapping[str, str],
    parts: Parts,
) -> dict[str, dict[str, int]]:
    """Write or keep the files of every view. Returns rows by view and part."""
    last = parts.last
    changed = {digest.table for digest in digests if last is None or digest.partitions != last.parts_of(digest.table)}
    rows: dict[str, dict[str, int]] = {}
    for view in (table for table in tables if table.is_view):
        is_same = last is not None and not changed & tables_behind(view.name, statements)
        kept = last.record["files"].get(view.name) if last and is_same else None
        if kept and all(parts.keep(view.name, part) for part in kept):
            rows[view.name] = kept
        else:
            rows[view.name] = _write(connection, view, parts)
    return rows


def tables_behind(view: str, statements: Mapping[str, str]) -> set[str]:
    """The tables that a view reads, itself or by way of other views."""
    read = set(READ.findall(statements[view])) - {view}
    return read.union(*(tables_behind(name, statements) for name in read if name in statements))


def _write(connection: duckdb.DuckDBPyConnection, view: PublishedTable, parts: Parts) -> dict[str, int]:
    is_read = "select 1 from duckdb_tables() where database_name = ? and table_name = ?"
    rows_of = f"{SHOWN}.main" if connection.execute(is_read, [SHOWN, view.name]).fetchall() else "marts"
    connection.execute(f"create or replace temp table {ASKED} as from {rows_of}.{quoted(view.name)}")
    order = in_order(connection, ASKED, view.key)  # of the rows that are there: even its columns a view takes long to name
    has_months = order.startswith(quoted(MONTH))
    month = MONTH if has_months else "null"
    counted = connection.execute(f"select {month}, count(*) from {ASKED} group by 1 order by 1").fetchall()
    rows = {part_of(month) if has_months else WHOLE: count for month, count in counted} or {WHOLE: 0}
    for part in rows:
        parts.write(connection, f"from {ASKED} where {condition_of(part)} order by {order}", view.name, part)
    connection.execute(f"drop table {ASKED}")
    return rows
