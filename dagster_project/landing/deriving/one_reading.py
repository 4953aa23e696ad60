"""The one reading of the rows of some deliveries: all that is summed up of them, by file and by the keys of their kind.

A bill of a million lines becomes a few hundred groups. Control totals, the keys of its rows, measures and row digests are all
asked of these groups, so that every column of a landed file is decoded once. Small deliveries of a source are read together, for
a statement costs more than their rows: a group belongs to one file, a file to one delivery, and every answer names its delivery
by its place among those that were read. What the keys mean is for deriving.controls.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from connectors.formats.schema import Schema
from dagster_project.landing.deriving.contents import Controls, MeasureTotal
from dagster_project.landing.deriving.measures import measure_columns, measure_totals, total_columns
from dagster_project.landing.deriving.typed_select import parts_select, quoted

GROUPS = "landed_groups"  # a temporary table of the connection that read them
Files = Mapping[str, Mapping[str, str]]  # path -> physical columns

# Equal for equal rows in any order and any files: their number, a sum and an exclusive or of two hashes of each.
DIGEST = "sha256(concat_ws(':', coalesce(sum(row_count), 0), coalesce(sum(hash_sum), 0), coalesce(bit_xor(hash_xor), 0)))"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a kind wants to know of its rows: `keys` are SQL of a typed row that they are grouped by, `sums` add up a group.

    `values` are named for `sums` to use. Each query of the groups has `delivery` as its first column. `controls` gets the name of
    a delivery's partition and, by the names of the queries, its rows of their answers.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    queries: Mapping[str, str] = field(default_factory=dict)
    controls: Callable[..., Controls] = lambda _: Controls()
    sums: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)

    def read(self, con: duckdb.DuckDBPyConnection, partitions: Sequence[str]) -> list[Controls]:
        """The controls of the deliveries whose groups were read, by the names of their partitions."""
        found = {name: by_delivery(con, query) for name, query in self.queries.items()}
        return [
            self.controls(partition, **{name: rows[place] for name, rows in found.items()})
            for place, partition in enumerate(partitions)
        ]


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known of every kind's rows."""

    rows: int
    rows_by_file: dict[str, int]  # of each file that has any
    digest: str
    measures: list[MeasureTotal]


def read_once(
    con: duckdb.DuckDBPyConnection, schema: Schema, deliveries: Sequence[Files], asked: Asked, measures: Mapping[str, int]
) -> None:
    """Read every row of the Parquet files of some deliveries and leave GROUPS."""
    files = [item for one in deliveries for item in one.items()]
    places = [(path, place) for place, one in enumerate(deliveries) for path in one]
    group_up(con, parts_select(schema, files, hashed=True), places, schema, asked, measures)


def group_up(
    con: duckdb.DuckDBPyConnection,
    rows: str,
    places: Sequence[tuple[str, int]],
    schema: Schema,
    asked: Asked,
    measures: Mapping[str, int],
) -> None:
    """Leave GROUPS of a SELECT of typed rows with `_file` and `_hash`; `places` name the delivery of each file."""
    named = {**asked.keys, **asked.sums, **measure_columns(schema, measures)}
    con.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {GROUPS} AS
        SELECT * FROM (
            SELECT _file, {"".join(f"{expression} AS {quoted(name)}, " for name, expression in named.items())}
                count(*) AS row_count,
                sum(CAST(_hash AS HUGEINT)) AS hash_sum,
                bit_xor(hash(_hash)) AS hash_xor
            FROM (SELECT *{"".join(f", {value} AS {quoted(name)}" for name, value in asked.values.items())} FROM ({rows}))
            GROUP BY ALL
        )
        JOIN (SELECT unnest(CAST($files AS VARCHAR[])) AS _file, unnest(CAST($places AS INTEGER[])) AS delivery) USING (_file)
        """,
        {"files": [path for path, _ in places], "places": [place for _, place in places]},
    )


def by_delivery(con: duckdb.DuckDBPyConnection, query: str) -> defaultdict[int, list[tuple[Any, ...]]]:
    """The rows of a query of GROUPS whose first column is `delivery`, each without it, by the place of their delivery."""
    found = defaultdict(list)
    for place, *row in con.execute(query).fetchall():
        found[place].append(tuple(row))
    return found


def sums(con: duckdb.DuckDBPyConnection, schema: Schema, measures: Mapping[str, int], deliveries: int = 1) -> list[Sums]:
    """What the groups of each of so many deliveries add up to, asked at once; a delivery without rows adds up to nothing."""
    totals = "".join(f", {expression}" for expression in total_columns(measures))
    found = by_delivery(
        con,
        f"""
        SELECT delivery, grouping(_file), _file, CAST(coalesce(sum(row_count), 0) AS BIGINT), {DIGEST}{totals}
        FROM (SELECT CAST(unnest(range({deliveries})) AS INTEGER) AS delivery) LEFT JOIN {GROUPS} USING (delivery)
        GROUP BY GROUPING SETS ((delivery), (delivery, _file))
        """,
    )
    return [_sums_of(found[place], schema, measures) for place in range(deliveries)]


def _sums_of(found: list[tuple[Any, ...]], schema: Schema, measures: Mapping[str, int]) -> Sums:
    [(rows, digest, *values)] = [row for is_all, _, *row in found if is_all]
    by_file = {file: count for is_all, file, count, *_ in found if not is_all}
    return Sums(rows, by_file, digest, measure_totals(schema, measures, values))
