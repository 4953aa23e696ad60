"""Tables that are published as Parquet alone, a file for each usage month, and not in the DuckDB file: attributions of the bill.

`fct_charge_attributions` has a row for each group of bill rows, as many as the rest of the file together, and
`fct_commitment_attributions` one for what of it is of a commitment. They are views of the build, asked here for the months that
were built; every other month keeps its files. What was written is read again and added up: the parts of a cell must be what the
published marts have of it, or nothing is published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.base.failures import GateError
from dagster_project.publishing.attributed import ADDED_UP, unequal_cells
from dagster_project.publishing.digest import literal, quoted, rows_by_name
from dagster_project.publishing.last import Last, condition_of, in_order
from dagster_project.publishing.parts import Parts
from dagster_project.publishing.tables import PublishedTable

if TYPE_CHECKING:
    import duckdb

    from dagster_project.publishing.digest import TableDigest


def write_files(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[PublishedTable],
    digests: Sequence[TableDigest],
    parts: Parts,
    versions: Mapping[str, str],
) -> dict[str, dict[str, int]]:
    """Write the months that were built of something new, keep the others. Returns rows by table and month."""
    now = {digest.table: digest.partitions for digest in digests}
    rows: dict[str, dict[str, int]] = {table.name: {} for table in tables}
    for table in tables:
        source = f"build.{quoted(table.schema)}.{quoted(table.name)}"
        is_same = parts.last is not None and parts.last.has_version(table.name, versions.get(table.name))
        for month in sorted(part for part in set().union(*(now[name] for name in ADDED_UP[table.name])) if part[0].isdigit()):
            kept = _kept(parts.last, table.name, month, now) if is_same or month not in parts.built else None
            if kept is None or not parts.keep(table.name, month):
                order = in_order(connection, source, table.key)
                query = f"from {source} where {condition_of(month)} order by {order}"
                kept = _require_sums(connection, table.name, parts.write(connection, query, table.name, month), month)
            rows[table.name][month] = kept
    return rows


def _kept(last: Last | None, table: str, month: str, now: Mapping[str, Mapping[str, tuple[int, str]]]) -> int | None:
    """Rows of a month's file, if the marts that it adds up to are as they were published with it."""
    if last is None or any(now[mart].get(month) != last.parts_of(mart).get(month) for mart in ADDED_UP[table]):
        return None
    rows: int | None = last.record["files"].get(table, {}).get(month)
    return rows


def _require_sums(connection: duckdb.DuckDBPyConnection, table: str, file: Path, month: str) -> int:
    """The rows of a month's file, whose sums must be those of the marts, cell by cell."""
    unequal = unequal_cells(table, f"read_parquet({literal(str(file))})", condition_of(month))
    if found := rows_by_name(connection.execute(f"{unequal} limit 1")):
        place = ", ".join(f"{name} {value}" for name, value in found[0].items() if value and name != "cell")
        raise GateError(f"{table}: the parts of the bill do not add up to the published costs of {month}", where=place)
    (rows,) = connection.execute(f"select count(*) from read_parquet({literal(str(file))})").fetchone() or (0,)
    return int(rows)
