"""Flat columns out of nested records: Parquet as BigQuery writes it, with structs, repeated key-value pairs and repeated records.

A declared column names its place by a dotted path (`service.id`), and every error names that path. What columns
mean is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from connectors.errors import ExportSchemaError, Place
from connectors.formats.lazy import pa, pc
from connectors.formats.parquet import open_parquet, read_rows
from connectors.formats.schema import Column, Schema
from connectors.formats.values import Rows, arrow_type, check_filled, check_numbers, decoded

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

    def check(self, arrow_schema: pa.Schema, uri: str, key: str) -> tuple[str, ...]:
        """Check names and types and return the unknown paths; a path below a documented one is known."""
        repeated = {pairs.path for pairs in self.pairs.values()} | set(self.records)
        source = Schema(tuple(replace(column, name=path) for path, column in self.columns.items()), remedy_page=self.remedy_page)
        leaves = list(_leaves(arrow_schema, repeated | self.documented))
        unknown = source.check(pa.schema(leaves), uri, key)
        names = {leaf.name: leaf.type for leaf in leaves}
        for path in sorted(repeated & set(names)):
            fields = self.records.get(path)
            needed = list(fields) if fields else _pair_fields(self.pairs, path)
            self._check_list(path, names[path], fields, needed, uri, key)
        known = repeated | self.documented
        return tuple(name for name in unknown if name not in known and not self._is_empty_record(name, names[name]))

    def _is_empty_record(self, name: str, found: pa.DataType) -> bool:
        """Whether a declared record is null in all rows, so that its writer could not know its fields."""
        return pa.types.is_null(found) and any(path.startswith(f"{name}.") for path in self.columns)

    def _check_list(
        self, path: str, found: pa.DataType, fields: Mapping[str, Column] | None, needed: list[str], uri: str, key: str
    ) -> None:
        if pa.types.is_null(found):
            return
        if not (pa.types.is_list(found) or pa.types.is_large_list(found)) or not pa.types.is_struct(found.value_type):
            raise _wrong_type(path, found, "no repeated record", self.remedy_page, uri, key)
        present = {field.name: field for field in found.value_type}
        if fields:
            columns = tuple(replace(column, name=f"{path}.{name}") for name, column in fields.items())
            named = [field.with_name(f"{path}.{name}") for name, field in present.items() if name in fields]
            Schema(columns, remedy_page=self.remedy_page).check(pa.schema(named), uri, key)
        elif missing := [name for name in needed if name not in present]:
            raise _wrong_type(f"{path}.{missing[0]}", found, "not there", self.remedy_page, uri, key)


@dataclass(frozen=True, slots=True)
class NestedFile:
    """One landed Parquet object with nested records, checked."""

    file: Any
    shape: Shape
    paths: tuple[str, ...]  # the declared ones it has
    unknown: tuple[str, ...]
    key: str
    uri: str

    def empty(self) -> pa.RecordBatch:
        """A batch without rows, of the types this file has."""
        return pa.RecordBatch.from_pylist([], schema=self.file.schema_arrow)

    def batches(self) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        """Yield the declared columns in row order, each batch with the place of its rows."""
        return read_rows(self.file, self.paths, Rows(self.key, self.uri), _BATCH)

    def column(self, path: str, batch: pa.RecordBatch, rows: Rows) -> pa.Array:
        """One flat column, checked. A double stays a double and a decimal a decimal; other numbers stay as written."""
        column = self.shape.columns[path]
        return flat(replace(column, name=path), value_at(batch, path), rows)


def open_nested(path: Path, shape: Shape, key: str, uri: str) -> NestedFile | None:
    """Open and check a file; None when it has no rows, for a file without rows may have any shape."""
    file = open_parquet(path, key, uri)
    if not file.metadata.num_rows:
        return None
    unknown = shape.check(file.schema_arrow, uri, key)
    declared = (*shape.columns, *dict.fromkeys(pairs.path for pairs in shape.pairs.values()), *shape.records)
    present = {leaf.name for leaf in _leaves(file.schema_arrow, declared)}
    return NestedFile(file, shape, tuple(path for path in declared if path in present), unknown, key, uri)


def value_at(batch: pa.RecordBatch, path: str) -> pa.Array:
    """The values at a dotted path; null where a record on the way is null."""
    first, *rest = path.split(".")
    values = batch.column(first)
    return pc.struct_field(values, rest) if rest else values


def flat(column: Column, values: pa.Array, rows: Rows) -> pa.Array:
    """Check an array and give it the type of a typed copy."""
    values = decoded(values)
    check_filled(column, values, rows)
    if column.type == "Number":
        check_numbers(column, values, rows)
        return values if pa.types.is_float64(values.type) or pa.types.is_decimal(values.type) else values.cast(pa.string())
    if column.type == "Timestamp" and pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp(values.type.unit))  # Arrow holds UTC; the zone is only how to show it
    return values.cast(arrow_type(column), safe=column.type != "Timestamp")


def pairs_of(batch: pa.RecordBatch, pairs: Pairs) -> tuple[pa.Array, pa.Array]:
    """A map array of repeated pairs, and the rows of the batch in which a key repeats; of these the first pair is taken."""
    lists = value_at(batch, pairs.path)
    if pa.types.is_null(lists.type):
        return _maps(batch.num_rows, pa.array([], pa.int64()), pa.array([], pa.string()), pa.array([], pa.string())), pa.array([])
    parents, elements = pc.list_parent_indices(lists), pc.list_flatten(lists)
    keys = pc.struct_field(elements, [pairs.key[-1]]).cast(pa.string())
    values = pc.struct_field(elements, [pairs.value]).cast(pa.string())
    for name in reversed(pairs.key[:-1]):
        prefix = pc.struct_field(elements, [name]).cast(pa.string())
        prefixed = pc.binary_join_element_wise(prefix, keys, "/")
        keys = pc.if_else(pc.fill_null(pc.equal(prefix, ""), True), keys, prefixed)
    named = keys.is_valid()
    parents, keys, values = parents.filter(named), keys.filter(named), values.filter(named)
    first, repeated = _first_of_each(parents, keys)
    return _maps(batch.num_rows, parents.take(first), keys.take(first), values.take(first)), repeated


def _first_of_each(parents: pa.Array, keys: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Positions of the first pair of each (row, key), in order, and the rows that had another one."""
    everything = pa.array(range(len(keys)), pa.int64())
    codes = keys.dictionary_encode()
    combined = pc.add(pc.multiply(parents.cast(pa.int64()), len(codes.dictionary)), codes.indices.cast(pa.int64()))
    if pc.count_distinct(combined).as_py() == len(combined):
        return everything, pa.array([], pa.int64())
    table = pa.table({"pair": combined, "position": everything})
    first = table.group_by("pair").aggregate([("position", "min")]).column("position_min").combine_chunks()
    first = first.take(pc.sort_indices(first))
    later = pc.invert(pc.is_in(everything, value_set=first))
    return first, parents.filter(later).cast(pa.int64())


def _maps(rows: int, parents: pa.Array, keys: pa.Array, values: pa.Array) -> pa.Array:
    counted = pc.value_counts(parents.cast(pa.int64()))
    counts = dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))
    offsets = pc.cumulative_sum(pa.array([0, *(counts.get(row, 0) for row in range(rows))], pa.int32()))
    return pa.MapArray.from_arrays(offsets, keys, values)


def _leaves(fields: Any, stop: Collection[str], prefix: str = "") -> Iterator[pa.Field]:
    """The fields of a schema with their paths as names; structs are walked through, `stop` paths are not."""
    for field in fields:
        path = prefix + field.name
        if pa.types.is_struct(field.type) and path not in stop:
            yield from _leaves(field.type, stop, f"{path}.")
        else:
            yield field.with_name(path)


def _pair_fields(pairs: Mapping[str, Pairs], path: str) -> list[str]:
    found = next(one for one in pairs.values() if one.path == path)
    return [*found.key, found.value]


def _wrong_type(path: str, found: pa.DataType, what: str, page: str, uri: str, key: str) -> ExportSchemaError:
    return ExportSchemaError(
        f"{uri}: column {path} is {what} in {found}.",
        place=Place(key, column_name=path, value=str(found)),
        reason="wrong_type",
        remedy=f"Export {path} as BigQuery has it. See {page}.",
    )
