"""Rows of the provider that are kept beside groups which an engine made of them (`keep: raw`): they must give the same groups.

Worked out a second time, by DuckDB and of bytes that the engine only copied: how many rows there are, the exact sum of each
measure, and both for each set of the columns that groups are made by. Asked when a delivery is landed and by `verify --landing`.
No model reads these rows; what an engine states of its own rows is for landing.answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.errors import Place, SourceUnreadableError
from dagster_project.base.sql import literal, quoted
from dagster_project.landing.answers import LINE_COUNT, answer_of, measures_of, require_sums
from dagster_project.landing.deriving.exact_sql import DIGITS, double_to_decimal, string_to_decimal
from dagster_project.landing.records import Generation, LandedObject

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from dagster_project.landing.bucket import BucketLanding
    from dagster_project.landing.store import LocalLanding

# of groups a rule asks only whether there is any, and so they have no sum of it
OF_ROWS_ALONE = {"usage_amount": ("usage.amount", 9)}
LIST = ".list.element."  # between a repeated record and its field, as a path of Parquet has it
REMEDY = "Try again; if it stays, leave `keep` out of this source, and report it."
_CONFIG: dict[str, Any] = {"memory_limit": "1GB", "temp_directory": ""}  # a few thousand groups


Measures = Mapping[str, tuple[str, int]]  # by the name of a sum its column and its decimals


@dataclass(frozen=True, slots=True)
class Doubt:
    """A landed delivery whose groups are not what its query states of the rows, or not what the kept rows give."""

    source: str
    partition: str
    generation: str  # its folder below the landing
    what: str

    def __str__(self) -> str:
        return f"{self.source} {self.partition}: {self.generation}: {self.what}"


def keys_of(kind: str) -> tuple[tuple[str, ...], str]:
    """The columns by which groups of a kind are compared with rows, and one whose day is."""
    if kind == "gcp_billing":
        from connectors.gcp.grouped_sql import KEYS

        return tuple(KEYS), "usage_start_time"
    from connectors.aws.grouped_sql import KEYS as OF_AWS

    return tuple(name for name in OF_AWS if not name.endswith("_date")), "line_item_usage_start_date"


def require_groups(kind: str, objects: Sequence[LandedObject], folder: Path, uri: str) -> None:
    """SourceUnreadableError where the rows that were fetched beside groups give other ones."""
    if found := difference(kind, {landed.file: folder / landed.file for landed in objects}, objects):
        raise SourceUnreadableError(f"{uri}: {found}.", place=Place(uri), reason="broken_stream", remedy=REMEDY)


def doubts(store: LocalLanding | BucketLanding, generation: Generation) -> Iterator[Doubt]:
    """What of a landed answer does not follow from the rest of its delivery, whatever its hashes are."""
    with ExitStack() as opened:
        paths = {one.file: opened.enter_context(store.opened(generation, one)) for one in generation.objects}
        query, data = generation.query, [one for one in generation.objects if one.role == "data"]
        assert query is not None
        found = None
        try:
            for one in data:
                require_sums(str(generation.kind), paths[one.file], paths[query.file].read_bytes(), one.key, one.key)
        except SourceUnreadableError as error:
            found = error.message.rstrip(".")
        found = found or (difference(str(generation.kind), paths, generation.objects) if generation.raw else None)
        if found:
            yield Doubt(generation.source, generation.partition, generation.path, found)


def difference(kind: str, paths: Mapping[str, Path], objects: Sequence[LandedObject]) -> str | None:
    """Where the kept rows give other groups than those beside them, or other sums than are stated of them; None: nowhere."""
    import duckdb
    import pyarrow.parquet as pq

    of = {role: [paths[one.file] for one in objects if one.role == role] for role in ("data", "raw", "query")}
    stated = answer_of(of["query"][0])
    schema = pq.read_schema(of["raw"][0])
    answer = pq.read_schema(of["data"][0])
    known = {**OF_ROWS_ALONE, **measures_of(kind)}
    measures = {name: known[name] for name in stated.sums if name in known and _type_at(schema, known[name][0])}
    names, day = keys_of(kind)
    keys = [name for name in names if _type_at(schema, name) and _type_at(answer, name)]
    with duckdb.connect(":memory:", config=_CONFIG) as connection:
        connection.execute("set TimeZone = 'UTC'")
        of_rows = _rows_sql(of["raw"], schema, keys, day, measures)
        connection.execute(f"create temp table of_rows as {of_rows}")
        if wrong := _other_sums(connection, measures, stated.sums, stated.row_count):
            return wrong
        shared = {name: column for name, column in measures.items() if name not in OF_ROWS_ALONE}
        flat = _flat(pq.ParquetFile(of["data"][0]).read(), keys, day, shared)
        return _other_groups(connection, flat, keys, day, shared)


def _other_sums(
    connection: duckdb.DuckDBPyConnection, measures: Measures, stated: Mapping[str, Any], row_count: int
) -> str | None:
    columns = ", ".join(f"sum({quoted(name)})" for name in (LINE_COUNT, *measures))
    found = connection.execute(f"select {columns} from of_rows").fetchone() or ()
    for name, value in zip((LINE_COUNT, *measures), found, strict=True):
        wanted = row_count if name == LINE_COUNT else stated.get(name)
        if Decimal(value or 0) != Decimal(wanted or 0):
            return f"the rows kept beside its groups have {value} of {name}, and {wanted} is stated of the rows they were made of"
    return None


def _other_groups(
    connection: duckdb.DuckDBPyConnection, flat: pa.Table, keys: Sequence[str], day: str, measures: Measures
) -> str | None:
    connection.register("flat", flat)
    named = [*(quoted(key) for key in keys), quoted(day)]
    sums = [f"cast(sum({quoted(LINE_COUNT)}) as hugeint) as {quoted(LINE_COUNT)}"]
    sums += [f"coalesce(sum({quoted(name)}), 0) as {quoted(name)}" for name in measures]
    grouped = f"select {', '.join([*named, *sums])} from flat group by all"
    columns = ", ".join([*named, *map(quoted, (LINE_COUNT, *measures))])
    differing = f"""with of_groups as ({grouped}),
        wrong as (
            select 'rows' as side, * from (select {columns} from of_rows except select {columns} from of_groups)
            union all
            select 'groups', * from (select {columns} from of_groups except select {columns} from of_rows)
        )
        from wrong order by all limit 1"""
    cursor = connection.execute(differing)
    names = [column[0] for column in cursor.description]
    if (first := cursor.fetchone()) is None:
        return None
    place = ", ".join(f"{name} {value}" for name, value in zip(names[1:], first[1:], strict=True) if value is not None)
    return f"the rows kept beside its groups give other ones; of its {first[0]} alone: {place}"


def _type_at(schema: pa.Schema, path: str) -> pa.DataType | None:
    """The type of the column at a path of Parquet, of a repeated record that of its field; None where there is none."""
    import pyarrow as pa

    name, _, inner = path.partition(LIST if LIST in path else ".")
    if name not in schema.names:
        return None
    kind = schema.field(name).type
    kind = kind.value_type if pa.types.is_list(kind) else kind
    if not inner:
        return kind
    return kind.field(inner).type if pa.types.is_struct(kind) and kind.get_field_index(inner) >= 0 else None


def _rows_sql(paths: Sequence[Path], schema: pa.Schema, keys: Sequence[str], day: str, measures: Measures) -> str:
    """Number and exact sums of the kept rows, by the columns that groups are made by."""
    named = [f"{_dotted(key)} as {quoted(key)}" for key in keys]
    named.append(f"cast({quoted(day)} as date) as {quoted(day)}")
    figures = [f"cast(count(*) as hugeint) as {quoted(LINE_COUNT)}"]
    for name, (column, scale) in measures.items():
        kind = _type_at(schema, column)
        if LIST in column:
            repeated, _, inner = column.partition(LIST)
            each = _figure(f"one.{quoted(inner)}", kind, scale)
            value = f"list_sum(list_transform({quoted(repeated)}, lambda one: {each}))"
        else:
            value = _figure(_dotted(column), kind, scale)
        figures.append(f"coalesce(cast(sum({value}) as decimal(38,{scale})), 0) as {quoted(name)}")
    files = ", ".join(literal(str(path)) for path in paths)
    rows = f"read_parquet([{files}], hive_partitioning = false, union_by_name = true)"
    return f"select {', '.join([*named, *figures])} from {rows} group by all"


def _dotted(path: str) -> str:
    return ".".join(map(quoted, path.split(".")))


def _figure(x: str, kind: pa.DataType | None, scale: int) -> str:
    """The exact figure of a row's amount; null where it is too large for one."""
    import pyarrow as pa

    most = f"abs(cast({x} as double)) < 1e{DIGITS - scale}"
    exact = double_to_decimal(x, scale) if pa.types.is_floating(kind) else string_to_decimal(f"cast({x} as varchar)", scale)
    return f"case when {most} then {exact} end"


def _flat(answer: pa.Table, keys: Sequence[str], day: str, measures: Measures) -> pa.Table:
    """The rows of an answer in plain types: figures of at most 38 digits, and elements of a list as rows of their own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    days = pc.cast(pc.floor_temporal(answer.column(day), unit="day"), pa.date32())
    names = {key: _column(answer, key) for key in keys} | {day: days}
    plain = {name: _small(_column(answer, one), scale) for name, (one, scale) in measures.items() if LIST not in one}
    tables = [pa.table(names | {LINE_COUNT: answer.column(LINE_COUNT)} | plain)]
    for name, (column, scale) in measures.items():
        repeated, is_list, inner = column.partition(LIST)
        if is_list:
            values = answer.column(repeated).combine_chunks()
            place, elements = pc.list_parent_indices(values), pc.list_flatten(values)
            of_elements = {key: pc.take(value, place) for key, value in names.items()}
            tables.append(pa.table(of_elements | {name: _small(pc.struct_field(elements, [inner]), scale)}))
    return pa.concat_tables(tables, promote_options="default")


def _column(table: pa.Table, path: str) -> Any:
    import pyarrow.compute as pc

    name, _, inner = path.partition(".")
    return pc.struct_field(table.column(name), [inner]) if inner else table.column(name)


def _small(values: Any, scale: int) -> Any:
    """Figures of a scale; what is less than one of its units is a sign and no figure."""
    import pyarrow as pa
    import pyarrow.compute as pc

    least = pa.scalar(Decimal(1).scaleb(-scale), values.type)
    figures = pc.if_else(pc.greater_equal(pc.abs(values), least), values, pa.scalar(None, values.type))
    return pc.cast(figures, pa.decimal128(38, scale), safe=False)
