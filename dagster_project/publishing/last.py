"""What of the last publication may stay: its record, and which parts of a table are in its file row for row.

A part is what is written, hashed and kept as a whole: a usage month of a table, or a table without months. A table of the
version that was published stays, if the published file has the bytes it was given. Of another, that a part is the same is
asked of the rows on both sides, not of what a build believes to have left alone. *Example:* April turned final and only the
word `status` of its costs changed, in a build that built no month: its costs are written, its energy stays.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project.base import durable
from dagster_project.base.dbt_project import files_hash
from dagster_project.publishing.digest import MONTH, NO_MONTH, WHOLE, quoted

if TYPE_CHECKING:
    from datetime import date

    import duckdb

    from dagster_project.publishing.tables import PublishedTable

Columns = Sequence[tuple[str, str]]  # names and types
Column = tuple[str, str, bool]  # and whether it may be null
Catalog = dict[tuple[str, str, str], list[Column]]  # by database ('' is the new file), schema and table
Contents = dict[str, tuple[int, int, int]]  # of each part its rows and two sums of hashes


@dataclass(frozen=True, slots=True)
class Last:
    """The publication that readers have now: its DuckDB file, and what PUBLICATION.json states of it."""

    file: Path
    record: Mapping[str, Any]
    is_intact: bool  # the file has the bytes that were published

    def parts_of(self, table: str) -> dict[str, tuple[int, str]]:
        """Rows and digest of each part of a table."""
        return {name: (rows, digest) for name, (rows, digest) in self.record["parts"][table].items()}

    def has_version(self, table: str, version: str | None) -> bool:
        """Whether the file has the rows of this version of a table, by the record of what it was made of."""
        return self.is_intact and version is not None and self.record["versions"].get(table) == version


@cache
def publisher() -> str:
    """sha256 over the code of this package and the engine's version: what either wrote otherwise is not kept."""
    import duckdb

    here = Path(__file__).resolve().parent
    return files_hash(here, sorted(here.glob("*.*")), duckdb.__version__)


def last_publication(
    file: Path, record: Path, code_version: str, tables: Collection[str], absent: Collection[str]
) -> Last | None:
    """The publication in a folder, if the present code made it, whole, of the same tables and without the same views."""
    if not (file.is_file() and record.is_file()):
        return None
    recorded = json.loads(record.read_bytes())
    ours = {"publisher": publisher(), "code_version": code_version}
    if any(recorded.get(name) != value for name, value in ours.items()) or set(recorded["tables"]) != set(tables):
        return None
    if set(recorded["absent"]) != set(absent):
        return None
    is_intact = durable.sha256_of(file) == recorded["sha256"]
    return Last(file, recorded, is_intact) if is_intact or recorded["build_id"] == _build_of(file) else None


def _build_of(file: Path) -> str | None:
    """The build that a published file names; a publication killed between its renames leaves a file and another's record."""
    import duckdb

    try:
        with duckdb.connect(str(file), read_only=True) as connection:
            found = connection.execute("select build_id from ops.builds").fetchall()
    except duckdb.Error:
        return None
    return found[0][0] if len(found) == 1 else None


def part_of(month: date | None) -> str:
    """The name of a month's part."""
    return f"{month:%Y-%m}" if month else NO_MONTH


def condition_of(part: str) -> str:
    """The rows of a part as SQL."""
    if part == WHOLE:
        return "true"
    return f"{MONTH} is null" if part == NO_MONTH else f"{MONTH} = date '{part}-01'"


def in_order(connection: duckdb.DuckDBPyConnection, relation: str, key: Sequence[str]) -> str:
    """Month, key, then every other column, for `order by`: whatever the key leaves open must not depend on threads."""
    columns = [name for name, *_ in connection.execute(f"describe {relation}").fetchall()]
    names = dict.fromkeys([*(name for name in columns if name == MONTH), *key, *columns])
    return ", ".join(f"{quoted(name)} asc nulls last" for name in names)


def contents(connection: duckdb.DuckDBPyConnection, relation: str, columns: Columns, by_day: str | None = None) -> Contents:
    """Of each part its rows and two sums over the rows' hashes, in which no order counts; a table without months or rows is one.

    A part is a month, or a day where the column `by_day` has it.
    Two sums of 64 bits each, of hashes that take the columns from either end: a fortieth of what sha256 of the sorted rows takes.
    """
    names = [quoted(name) for name, _ in columns]
    has_months = any(name == MONTH for name, _ in columns)
    found = connection.execute(
        f"select {by_day or (MONTH if has_months else 'null')}, count(*), sum(cast(hash({', '.join(names)}) as hugeint)),"
        f" sum(cast(hash(1, {', '.join(reversed(names))}) as hugeint)) from {relation} group by 1 order by 1"
    ).fetchall()
    name_of = str if by_day else part_of if has_months else lambda _: WHOLE
    sums = {name_of(part): (rows, one, other) for part, rows, one, other in found}
    return sums or {WHOLE: (0, 0, 0)}


def reached(
    connection: duckdb.DuckDBPyConnection, relation: str, columns: Columns, ends: Sequence[str], by_day: str | None = None
) -> dict[str, Contents]:
    """The same of each part by the days of its month that its rows reach, from the first to the second of two microseconds."""
    names = [quoted(name) for name, _ in columns]
    first_us, last_us = f"epoch_us({MONTH})", f"epoch_us({MONTH} + interval 1 month) - 1"
    # what lies outside the month is of its first day or of its last
    first, last = (f"cast(make_timestamp(least(greatest({end}, {first_us}), {last_us})) as date)" for end in ends)
    days = f"if({first} = {last}, [{first}], cast(generate_series({first}, {last}, interval 1 day) as date[]))"
    found = connection.execute(
        f"select part, reached_day, count(*), sum(one), sum(other) from (select {by_day or MONTH} as part,"
        f" unnest({days}) as reached_day, cast(hash({', '.join(names)}) as hugeint) as one,"
        f" cast(hash(1, {', '.join(reversed(names))}) as hugeint) as other from {relation}) as hashed group by all order by all"
    ).fetchall()
    name_of = str if by_day else part_of
    sums: dict[str, Contents] = {}
    for part, day, rows, one, other in found:
        sums.setdefault(name_of(part), {})[str(day)] = (rows, one, other)
    return sums


def has_other_rows(connection: duckdb.DuckDBPyConnection, new: str, old: str, condition: str) -> bool:
    """Whether a part of a relation has a row that the part of another, of as many rows, has not, or has less often."""
    rows = f"(from {new} where {condition}) except all (from {old} where {condition})"
    return bool(connection.execute(f"select 1 from ({rows}) limit 1").fetchall())


def catalog_of(connection: duckdb.DuckDBPyConnection) -> Catalog:
    """Every table of every attached file, asked once: whoever asks DuckDB for one waits until it has laid out all of them."""
    rows = connection.execute(
        "select if(database_name = current_database(), '', database_name), schema_name, table_name, column_name, data_type,"
        " is_nullable from duckdb_columns() order by column_index"
    ).fetchall()
    found: Catalog = {}
    for database, schema, table, *column in rows:
        found.setdefault((database, schema, table), []).append(tuple(column))
    return found


def versions_of(connection: duckdb.DuckDBPyConnection, catalog: Catalog, tables: Sequence[PublishedTable]) -> dict[str, str]:
    """The version of each table's rows that the build keeps; one that dbt or Spark wrote has none."""
    if ("build", "ops", "node_states") not in catalog:
        return {}
    nodes = {f"{table.schema}.{table.name}": table.name for table in tables}
    found = connection.execute("select node, version from build.ops.node_states order by node").fetchall()
    return {nodes[node]: version for node, version in found if node in nodes}


def definition(columns: Sequence[Column]) -> str:
    """Columns, types and NOT NULL of a table as they stand in its `create table`."""
    return ", ".join(f"{quoted(name)} {kind}{'' if nullable else ' not null'}" for name, kind, nullable in columns)


def declared_key(columns: Sequence[Column], key: Sequence[str]) -> str:
    """The key as a constraint, if no column of it may be null and the table is not kept by month: see ADR 0001."""
    required = {name for name, _, nullable in columns if not nullable}
    if not key or not required.issuperset(key) or any(name == MONTH for name, *_ in columns):
        return ""
    return f", primary key ({', '.join(map(quoted, key))})"
