"""Parquet beside its original: a typed copy of a CSV object, and the checks of a Parquet object that is read as it is.

Row order is kept, so a row number means the same data row in the original and in what is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.errors import ExportContentError, Place
from connectors.formats.delimited import MAX_BYTES, CsvFile
from connectors.formats.schema import Column, Schema
from connectors.formats.values import Rows, arrow_type, check_filled, check_numbers, typed

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Plan:
    """Where each declared column comes from in a CSV file: the first named column with a value wins."""

    columns: Mapping[str, Sequence[str]]
    maps: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)  # map column -> entry -> CSV columns
    constants: Mapping[str, str] = field(default_factory=dict)  # declared text columns that only the folder's name gives
    unknown: tuple[str, ...] = ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """The CSV columns that are read at all."""
        sources = [*self.columns.values(), *(source for entries in self.maps.values() for source in entries.values())]
        return tuple(dict.fromkeys(name for names in sources for name in names))


def copy_csv(csv: CsvFile, header: Sequence[str], schema: Schema, plan: Plan, target: Path) -> int:
    """Write the typed copy of a CSV object and return its rows. A file without rows leaves no copy."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [column for column in schema if column.name in {*plan.columns, *plan.maps, *plan.constants}]
    shape = pa.schema([(column.name, arrow_type(column)) for column in columns])
    rows = Rows(csv.key, csv.uri)
    writer = None
    try:
        for batch in csv.batches(header, plan.wanted):
            if writer is None:
                writer = pq.ParquetWriter(target, shape, compression="zstd")
            arrays = [_array(column, batch, plan, rows) for column in columns]
            writer.write_batch(pa.record_batch(arrays, schema=shape))
            rows = rows.after(batch.num_rows)
    finally:
        if writer is not None:
            writer.close()
    return rows.before


def copy_parquet(path: Path, target: Path, names: Mapping[str, str], constants: Mapping[str, str], key: str, uri: str) -> None:
    """Write a copy of some columns under other names, with constant text columns beside them. For small files only."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = open_parquet(path, key, uri).read(columns=list(names))
    except (pa.ArrowException, OSError) as error:
        raise _damaged(key, uri, error) from error
    table = table.select(list(names)).rename_columns(list(names.values()))
    for name, value in constants.items():
        table = table.append_column(name, pa.repeat(pa.scalar(value), table.num_rows))
    pq.write_table(table, target, compression="zstd")


def check_parquet(path: Path, schema: Schema, key: str, uri: str) -> tuple[int, tuple[str, ...]]:
    """Check a provider's Parquet: footer, declared columns and the numbers. Return its rows and unknown columns."""
    with_footer = open_parquet(path, key, uri)
    metadata = with_footer.metadata
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if size > MAX_BYTES:
        raise ExportContentError(
            f"{uri} holds {size} bytes when decompressed; the limit is {MAX_BYTES}.",
            place=Place(key, value=str(size)),
            reason="too_large",
        )
    if not metadata.num_rows:
        return 0, ()  # a chunk or month without data may have any shape
    arrow_schema = with_footer.schema_arrow
    unknown = schema.check(arrow_schema, uri, key)
    present = set(arrow_schema.names)
    numbers = [column for column in schema if column.type == "Number" and column.name in present]
    doubtful = [column for column in schema if column.filled and column.name in present and _may_lack(metadata, column.name)]
    for rows, batch in read_rows(path, [column.name for column in {*numbers, *doubtful}], key, uri):
        for column in doubtful:
            check_filled(column, batch.column(column.name), rows)
        for column in numbers:
            check_numbers(column, batch.column(column.name), rows)
    return metadata.num_rows, unknown


def read_rows(path: Path, names: Sequence[str], key: str, uri: str) -> Iterator[tuple[Rows, pa.RecordBatch]]:
    """Yield some columns of a Parquet file in row order, with where the rows stand."""
    import pyarrow as pa

    rows = Rows(key, uri)
    try:
        for batch in open_parquet(path, key, uri).iter_batches(_BATCH, columns=list(names)) if names else ():
            yield rows, batch
            rows = rows.after(batch.num_rows)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(key, uri, error) from error


def open_parquet(path: Path, key: str, uri: str) -> Any:
    """Open a Parquet file by its footer; one that is cut off has none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # int96 times would else wrap around outside 1677 to 2262
        return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    except (pa.ArrowException, OSError) as error:
        raise _damaged(key, uri, error) from error


def _damaged(key: str, uri: str, error: Exception) -> ExportContentError:
    # Arrow's texts may repeat the local path, so only the kind of error is told
    what = f"{uri} is cut off or damaged: it cannot be read as Parquet ({type(error).__name__})."
    return ExportContentError(what, place=Place(key), reason="truncated")


def _may_lack(metadata: Any, name: str) -> bool:
    """Whether the footer cannot exclude a null or an empty text in a column."""
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        chunks = [row_group.column(i) for i in range(row_group.num_columns)]
        for chunk in chunks:
            if chunk.path_in_schema == name:
                statistics = chunk.statistics
                if statistics is None or not statistics.has_null_count or statistics.null_count:
                    return True
                if chunk.physical_type == "BYTE_ARRAY" and not (statistics.has_min_max and statistics.min):
                    return True  # the empty text is the smallest there is
    return False


def _array(column: Column, batch: pa.RecordBatch, plan: Plan, rows: Rows) -> pa.Array:
    import pyarrow as pa

    if column.name in plan.maps:
        return _map_array(batch, plan.maps[column.name])
    if column.name in plan.constants:
        return pa.repeat(pa.scalar(plan.constants[column.name]), batch.num_rows)
    return typed(column, _first_value(batch, plan.columns[column.name]), rows)


def _first_value(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Array:
    import pyarrow.compute as pc

    arrays = [batch.column(name) for name in names]
    return arrays[0] if len(arrays) == 1 else pc.coalesce(*arrays)


def _map_array(batch: pa.RecordBatch, entries: Mapping[str, Sequence[str]]) -> pa.Array:
    """Fold columns into one map column: an entry for each that has a value in the row, in the order of the columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    row_numbers = pa.array(range(batch.num_rows), pa.int32())
    counts = pa.array([0] * batch.num_rows, pa.int32())
    where, keys, items = [], [], []
    for key, names in entries.items():
        values = _first_value(batch, names)
        filled = values.is_valid()
        count = len(values) - values.null_count
        if count:
            counts = pc.add(counts, filled.cast(pa.int32()))
            where.append(row_numbers.filter(filled))
            keys.append(pa.array([key] * count, pa.string()))
            items.append(values.filter(filled))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(counts)])
    if not where:
        return pa.MapArray.from_arrays(offsets, pa.array([], pa.string()), pa.array([], pa.string()))
    # sorting by row is stable, so entries keep the order of their columns
    order = pc.sort_indices(pa.concat_arrays(where))
    return pa.MapArray.from_arrays(offsets, pa.concat_arrays(keys).take(order), pa.concat_arrays(items).take(order))
