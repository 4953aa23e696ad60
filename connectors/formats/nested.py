"""Flat columns out of nested records: Parquet as BigQuery writes it, with structs, repeated key-value pairs and repeated records.

A declared column names its place by a dotted path (`service.id`), and every error names that path. What columns
mean is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from connectors.errors import ExportSchemaError, Place
from connectors.formats.lazy import pa, pc, pl
from connectors.formats.parquet import open_parquet, read_rows
from connectors.formats.schema import Column, Schema
from connectors.formats.values import Rows, arrow_type, check_filled, check_numbers, decoded, map_array

_BATCH = 1 << 15


@dataclass(frozen=True, slots=True)
class Pairs:
    """A repeated record that becomes a map. The key is made of its fields joined by '/', those without a value left out."""

    path: str
    key: tuple[str, ...] = ("key",)
    value: str = "value"


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a kind's flat columns lie in the provider's records."""

    columns: Mapping[str, Column]  # path -> flat column
    pairs: Mapping[str, Pairs]  # flat column -> where its pairs are
    records: Mapping[str, Mapping[str, Column]]  # path of a repeated record -> field -> flat column
    documented: frozenset[str]
    remedy_page: str

    def check(self, arrow_schema: pa.Schema, start: Rows) -> tuple[str, ...]:
        """Check names and types and return the unknown paths; a path below a documented one is known."""
        known = {*self.records, *(pairs.path for pairs in self.pairs.values()), *self.documented}
        found = list(_leaves(arrow_schema, known))
        unknown = self._check_columns(self.columns, found, start)
        leaves = {leaf.name: leaf.type for leaf in found}
        for path, columns in self.records.items():
            wanted = {f"{path}.{name}": column for name, column in columns.items()}
            if fields := self._fields(path, leaves, start):
                self._check_columns(wanted, [field for field in fields if field.name in wanted], start)
        for pairs in self.pairs.values():
            fields = self._fields(pairs.path, leaves, start)
            for path in (f"{pairs.path}.{name}" for name in (*pairs.key, pairs.value)):
                if fields and all(field.name != path for field in fields):
                    raise self._wrong_type(path, leaves[pairs.path], "not there", start)
        return tuple(name for name in unknown if name not in known and not self._is_empty_record(name, leaves[name]))

    def _check_columns(self, columns: Mapping[str, Column], found: Iterable[pa.Field], start: Rows) -> tuple[str, ...]:
        schema = Schema(tuple(replace(column, name=path) for path, column in columns.items()), remedy_page=self.remedy_page)
        return schema.check(pa.schema(list(found)), start.uri, start.key)

    def _fields(self, path: str, leaves: Mapping[str, pa.DataType], start: Rows) -> list[pa.Field]:
        """The fields of a repeated record, by their paths; none where the file lacks it or its writer saw no value."""
        if path not in leaves or pa.types.is_null(found := leaves[path]):
            return []
        if not (pa.types.is_list(found) or pa.types.is_large_list(found)) or not pa.types.is_struct(found.value_type):
            raise self._wrong_type(path, found, "no repeated record", start)
        return [field.with_name(f"{path}.{field.name}") for field in found.value_type]

    def _is_empty_record(self, name: str, found: pa.DataType) -> bool:
        """Whether a declared record is null in all rows, so that its writer could not know its fields."""
        return pa.types.is_null(found) and any(path.startswith(f"{name}.") for path in self.columns)

    def _wrong_type(self, path: str, found: pa.DataType, what: str, start: Rows) -> ExportSchemaError:
        return ExportSchemaError(
            f"{start.uri}: column {path} is {what} in {found}.",
            place=Place(start.key, column_name=path, value=str(found)),
            reason="wrong_type",
            remedy=f"Export {path} as BigQuery has it. See {self.remedy_page}.",
        )


@dataclass(frozen=True, slots=True)
class NestedFile:
    """One landed Parquet object with nested records, checked."""

    file: Any
    shape: Shape
    paths: tuple[str, ...]  # the declared ones it has
    unknown: tuple[str, ...]
    start: Rows

    def empty(self) -> pa.RecordBatch:
        """A batch without rows, of the types this file has."""
        return pa.RecordBatch.from_pylist([], schema=self.file.schema_arrow)

    def batches(self) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        """Yield the declared columns in row order, each batch with the place of its rows."""
        return read_rows(self.file, self.paths, self.start, _BATCH)

    def lines(self, batch: pa.RecordBatch, rows: Rows) -> dict[str, pa.Array]:
        """`line_number`, from 1, and the flat columns this file has, checked."""
        first = rows.before + 1
        arrays = {"line_number": pa.array(range(first, first + batch.num_rows), pa.int64())}
        for path, column in self.shape.columns.items():
            if path in self.paths:
                arrays[column.name] = flat(replace(column, name=path), value_at(batch, path), rows)
        return arrays

    def elements(self, batch: pa.RecordBatch, path: str) -> tuple[pa.Array, pa.Array]:
        """The elements of a repeated record that are not null, and before them the row of the batch each belongs to."""
        if path not in self.paths or pa.types.is_null((lists := value_at(batch, path)).type):
            return pa.array([], pa.int64()), pa.array([], pa.struct([]))
        elements = pc.list_flatten(lists)
        return pc.list_parent_indices(lists).filter(elements.is_valid()), elements.filter(elements.is_valid())

    def map_of(self, batch: pa.RecordBatch, pairs: Pairs) -> tuple[pa.Array, pl.Series]:
        """A map array of repeated pairs, and the rows of the batch in which a key repeats; of these the first pair is taken."""
        rows, elements = self.elements(batch, pairs.path)
        if not len(elements):
            return pa.array([[]] * batch.num_rows, pa.map_(pa.string(), pa.string())), pl.Series()
        texts = {name: pc.struct_field(elements, [name]).cast(pa.string()) for name in (*pairs.key, pairs.value)}
        found = pl.DataFrame(pa.table({"row": rows.cast(pa.int64())} | texts))
        *prefixes, last = map(pl.col, pairs.key)
        given = (pl.when(prefix != "").then(prefix) for prefix in prefixes)
        key = pl.concat_str([*given, last], separator="/", ignore_nulls=True)
        found = found.filter(last.is_not_null()).select("row", pl.col(pairs.value).alias("value"), key.alias("key"))
        is_first = found.select(pl.struct("row", "key").is_first_distinct()).to_series()
        return map_array(found.filter(is_first), batch.num_rows), found.filter(~is_first)["row"]


def open_nested(path: Path, shape: Shape, key: str, uri: str) -> NestedFile | None:
    """Open and check a file; None when it has no rows, for a file without rows may have any shape."""
    file = open_parquet(path, key, uri)
    if not file.metadata.num_rows:
        return None
    unknown = shape.check(file.schema_arrow, Rows(key, uri))
    declared = (*shape.columns, *(pairs.path for pairs in shape.pairs.values()), *shape.records)
    present = {leaf.name for leaf in _leaves(file.schema_arrow, declared)}
    return NestedFile(file, shape, tuple(path for path in declared if path in present), unknown, Rows(key, uri))


def value_at(batch: pa.RecordBatch, path: str) -> pa.Array:
    """The values at a dotted path; null where a record on the way is null."""
    first, *rest = path.split(".")
    values = batch.column(first)
    return pc.struct_field(values, rest) if rest else values


def flat(column: Column, values: pa.Array, rows: Rows) -> pa.Array:
    """Check an array and give it the type of a typed copy. A double or decimal stays one; other numbers stay as written."""
    values = decoded(values)
    check_filled(column, values, rows)
    if column.type == "Number":
        check_numbers(column, values, rows)
        return values if pa.types.is_float64(values.type) or pa.types.is_decimal(values.type) else values.cast(pa.string())
    if column.type == "Timestamp" and pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp(values.type.unit))  # Arrow holds UTC; the zone is only how to show it
    return values.cast(arrow_type(column), safe=column.type != "Timestamp")


def _leaves(fields: Any, stop: Collection[str], prefix: str = "") -> Iterator[pa.Field]:
    """The fields of a schema with their paths as names; structs are walked through, `stop` paths are not."""
    for field in fields:
        path = prefix + field.name
        if pa.types.is_struct(field.type) and path not in stop:
            yield from _leaves(field.type, stop, f"{path}.")
        else:
            yield field.with_name(path)
