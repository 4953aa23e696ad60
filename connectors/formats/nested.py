"""Flat columns out of nested records: Parquet as BigQuery writes it, with structs, repeated key-value pairs and repeated records.

A declared column names its place by a dotted path (`service.id`), and every error names that path. What columns
mean is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from connectors.errors import ExportSchemaError, Place
from connectors.formats.lazy import pa, pc, pl
from connectors.formats.parquet import named_errors, open_parquet, read_rows
from connectors.formats.schema import Column, Schema, has_more_digits, is_text
from connectors.formats.values import Rows, arrow_type, check_filled, check_numbers, check_years, decoded, map_array

_BATCH = 1 << 15


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a kind's flat columns lie in the provider's records. What lies below a `documented` path is known too."""

    columns: Mapping[str, Column]  # path -> flat column
    documented: frozenset[str]
    remedy_page: str
    # repeated pairs -> their map column, the fields of the key, joined by '/' where they have a value, and that of the value
    maps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    records: Mapping[str, Mapping[str, Column]] = field(default_factory=dict)  # repeated records -> field -> flat column
    decimals: frozenset[str] = frozenset()  # paths of numbers that are NUMERIC at the provider, which JSON does not tell
    texts: frozenset[str] = frozenset()  # paths of repeated texts, which the kind itself makes columns of

    def is_known(self, path: str) -> bool:
        """Whether a path, or a record that it lies in, is declared or documented."""
        known = {*self.columns, *self.maps, *self.records, *self.texts, *self.documented}
        return any(f"{path}.".startswith(f"{one}.") for one in known)


def at(paths: str, type_: str, **more: Any) -> dict[str, Column]:
    """Declare columns, one path per word, with what `more` a column is. A column is named as its path, service.id is service_id,
    or as is written behind the path: SubAccountId=sub_account_id.
    """
    words = (word.partition("=") for word in paths.split())
    return {path: Column(name or path.replace(".", "_"), type_, **more) for path, _, name in words}


# shapes with schemas of files whose names and types were found to be sound, and what follows from both
_SOUND: dict[tuple[int, Any], tuple[Shape, Any, tuple[str, ...], tuple[str, ...]]] = {}
MOST_SOUND = 256


class NestedFile:
    """One Parquet object with nested records. Opening it checks names and types; `unknown` are undeclared paths."""

    def __init__(self, file: Any, schema: pa.Schema, shape: Shape, start: Rows) -> None:
        self._file, self.shape, self.start = file, shape, start
        self.constants: dict[str, str] = {}  # path -> the text that all rows get there, whatever they have
        self.repeats: dict[str, tuple[int, int]] = {}  # of maps that were read: path -> first row with a key twice, and how many
        if (id(shape), schema) in _SOUND:  # a month of days is written alike
            _, self._given, self.unknown, self.paths = _SOUND[id(shape), schema]
            return
        self._given = given = flattened(schema.empty_table()).schema
        unknown = self._check(shape.columns, given)
        for path, columns in shape.records.items():
            wanted = {f"{path}.{name}": column for name, column in columns.items()}
            if fields := self._fields(path):
                self._check(wanted, pa.schema([field for field in fields if field.name in wanted]))
        for path, (_, *parts) in shape.maps.items():
            fields = self._fields(path)
            for name in (f"{path}.{part}" for part in parts):
                if fields and all(field.name != name for field in fields):
                    raise self._wrong_type(name, given.field(path).type, "not there")
        for path in shape.texts.intersection(given.names):
            if not (pa.types.is_null(found := given.field(path).type) or (is_list(found) and is_text(found.value_type))):
                raise self._wrong_type(path, found, "no repeated text")
        self.unknown = tuple(name for name in unknown if not self._is_known(name, given.field(name).type))
        declared = (*shape.columns, *shape.maps, *shape.records, *sorted(shape.texts))
        self.paths = tuple(path for path in declared if path in given.names)
        if len(_SOUND) < MOST_SOUND:
            _SOUND[id(shape), schema] = shape, given, self.unknown, self.paths

    def batches(self) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        """Yield the declared columns by their paths, in row order, each batch with the place of its rows."""
        for rows, batch in read_rows(self._file, self.paths, self.start, _BATCH):
            yield rows, flattened(pa.Table.from_batches([batch])).to_batches()[0]

    def lines(self, batch: pa.RecordBatch, rows: Rows) -> dict[str, pa.Array]:
        """`line_number`, from 1, and the flat columns and maps this file has, checked."""
        first = rows.before + 1
        declared = {path: column for path, column in self.shape.columns.items() if path in self.paths}
        given = {path: pa.repeat(pa.scalar(text), batch.num_rows) for path, text in self.constants.items()}
        lines: dict[str, pa.Array] = {"line_number": pa.array(range(first, first + batch.num_rows), pa.int64())}
        for path, column in declared.items():
            lines[column.name] = flat(column, path, given.get(path, batch.column(path)), rows)
        for path, (name, *_) in self.shape.maps.items():
            if path in self.paths:
                lines[name] = self._map_of(batch, path, rows.before)
        return lines

    def elements(self, batch: pa.RecordBatch, path: str) -> tuple[pa.Array, pa.Array]:
        """The elements of a repeated record that are not null, and before them the row of the batch each belongs to."""
        if path not in self.paths or pa.types.is_null((lists := batch.column(path)).type):
            return pa.array([], pa.int64()), pa.array([], pa.struct([]))
        elements = pc.list_flatten(lists)
        return pc.list_parent_indices(lists).filter(elements.is_valid()), elements.filter(elements.is_valid())

    def _map_of(self, batch: pa.RecordBatch, path: str, before: int) -> pa.Array:
        """A map array of repeated pairs. Where a key repeats in a row, its first pair is taken."""
        rows, elements = self.elements(batch, path)
        if not len(elements):
            return pa.array([[]] * batch.num_rows, pa.map_(pa.string(), pa.string()))
        _, *names, value = self.shape.maps[path]
        texts = {name: pc.struct_field(elements, [name]).cast(pa.string()) for name in (*names, value)}
        pairs = pl.DataFrame(pa.table({"row": rows.cast(pa.int64())} | texts))
        *prefixes, last = map(pl.col, names)
        given = (pl.when(prefix != "").then(prefix) for prefix in prefixes)
        key = pl.concat_str([*given, last], separator="/", ignore_nulls=True)
        found = (
            pairs.lazy()  # one pass: exports of a day are many small files
            .filter(last.is_not_null())
            .select("row", pl.col(value).alias("value"), key.alias("key"))
            .with_columns(pl.struct("row", "key").is_first_distinct().alias("is_first"))
            .collect()
        )
        again = found.filter(~pl.col("is_first"))["row"]
        if len(again):
            first, count = self.repeats.get(path, (before + again[0] + 1, 0))
            self.repeats[path] = first, count + len(again)
        return map_array(found.filter("is_first"), batch.num_rows)

    def _check(self, columns: Mapping[str, Column], given: pa.Schema) -> tuple[str, ...]:
        named = tuple(replace(column, name=path) for path, column in columns.items())
        return Schema(named, remedy_page=self.shape.remedy_page).check(given, self.start.uri, self.start.key)

    def _fields(self, path: str) -> list[pa.Field]:
        """The fields of a repeated record, by their paths; none where the file lacks it or its writer saw no value."""
        if path not in self._given.names or pa.types.is_null(found := self._given.field(path).type):
            return []
        if not is_list(found) or not pa.types.is_struct(found.value_type):
            raise self._wrong_type(path, found, "no repeated record")
        return [field.with_name(f"{path}.{field.name}") for field in found.value_type]

    def _is_known(self, name: str, found: pa.DataType) -> bool:
        """A record that is null in all rows is known by the columns declared below it: its writer could not know its fields."""
        is_empty_record = pa.types.is_null(found) and any(path.startswith(f"{name}.") for path in self.shape.columns)
        return is_empty_record or self.shape.is_known(name)

    def _wrong_type(self, path: str, found: pa.DataType, what: str) -> ExportSchemaError:
        return ExportSchemaError(
            f"{self.start.uri}: column {path} is {what} in {found}.",
            place=Place(self.start.key, column_name=path, value=str(found)),
            reason="wrong_type",
            remedy=f"Export {path} as BigQuery has it. See {self.shape.remedy_page}.",
        )


def is_list(found: pa.DataType) -> bool:
    """Whether values of a type are lists."""
    return bool(pa.types.is_list(found) or pa.types.is_large_list(found))


def open_nested(path: Path, shape: Shape, key: str, uri: str) -> NestedFile | None:
    """Open and check a file; None when it has no rows, for a file without rows may have any shape."""
    file = open_parquet(path, key, uri)
    with named_errors(key, uri):
        return NestedFile(file, file.schema_arrow, shape, Rows(key, uri)) if file.metadata.num_rows else None


def check_shape(schema: pa.Schema, shape: Shape, key: str, uri: str) -> tuple[str, ...]:
    """Check the names and types that rows will have, before there are any; return the undeclared paths."""
    return NestedFile(None, schema, shape, Rows(key, uri)).unknown


def flat(column: Column, path: str, values: pa.Array, rows: Rows) -> pa.Array:
    """Check the values at a path and give them the type of a typed copy. A double or decimal stays one, else numbers are text."""
    values, column = decoded(values), replace(column, name=path)
    check_filled(column, values, rows)
    if column.type == "Number":
        check_numbers(column, values, rows)
        is_exact = pa.types.is_decimal(values.type) and not has_more_digits(values.type)  # BIGNUMERIC becomes text
        return values if pa.types.is_float64(values.type) or is_exact else values.cast(pa.string())
    if column.type == "Timestamp" and pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp(values.type.unit))  # Arrow holds UTC; the zone is only how to show it
    if column.type == "Timestamp":
        check_years(path, values, rows)
    return values.cast(arrow_type(column), safe=column.type != "Timestamp")


def flattened(table: pa.Table) -> pa.Table:
    """Records become columns named by their dotted paths, null where a record on the way is null; repeated ones stay."""
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table
