"""A provider's Parquet, read as it is: its size, its declared columns and the values they promise are checked first.

Arrow's own messages are never repeated, for they may hold a path of this machine: only the kind of error is named.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from connectors.errors import ExportContentError, ExportSchemaError, Place
from connectors.formats.delimited import MAX_BYTES
from connectors.formats.lazy import pa, pq
from connectors.formats.schema import Schema, has_more_digits, is_text
from connectors.formats.values import Rows, check_filled, check_numbers

Check = Callable[[Rows, Any], None]  # of a batch and the place of its rows
_BATCH = 1 << 16
_READERS_NAMES = frozenset({"_file", "file_row_number"})


def open_parquet(path: Path, key: str, uri: str) -> Any:
    """Open a Parquet file by its footer, which a file that is cut off has lost. One that would fill the memory is refused."""
    if not path.stat().st_size:
        raise ExportContentError(f"{uri} is cut off: it has no bytes.", place=Place(key), reason="truncated")
    with named_errors(key, uri):
        # times of 96 bits would else wrap around outside the years 1677 to 2262
        file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
        _ = file.schema_arrow.names  # a damaged name is only found when it is asked for
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    _must_be_all(sum(group.num_rows for group in groups), file, key, uri)
    size = sum(group.total_byte_size for group in groups)
    if size > MAX_BYTES:
        what = f"{uri} holds {size} bytes when decompressed; the limit is {MAX_BYTES}."
        raise ExportContentError(what, place=Place(key, value=str(size)), reason="too_large")
    return file


def check_parquet(
    path: Path, schema: Schema, key: str, uri: str, check: Check | None = None, reads: Sequence[str] = ()
) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """Check the declared columns and their values in one reading; return the number of rows, the unknown and all columns.

    `check` is a connector's own, and `reads` the required columns that it needs.
    """
    file = open_parquet(path, key, uri)
    metadata, names = file.metadata, tuple(file.schema_arrow.names)
    if not metadata.num_rows:
        return 0, (), names  # a chunk or month without data may have any shape
    unknown = schema.check(file.schema_arrow, uri, key)
    present = [column for column in schema if column.name in set(names)]
    numbers = [column for column in present if column.type == "Number"]
    for column in numbers:
        if has_more_digits(found := file.schema_arrow.field(column.name).type):
            raise ExportSchemaError(
                f"{uri}: column {column.name} is {found}, of more digits than are read exactly.",
                place=Place(key, column_name=column.name, value=str(found)),
                reason="wrong_type",
                remedy=f"Deliver {column.name} as decimal(38) or as text. See {schema.remedy_page}.",
            )
    # read, and not asked of the footer's statistics: where a footer contradicts itself, asking ends the process
    filled = [column for column in present if column.filled]
    wanted = dict.fromkeys([*(column.name for column in (*numbers, *filled)), *reads])
    for rows, batch in read_rows(file, list(wanted), Rows(key, uri)):
        for column in filled:
            check_filled(column, batch.column(column.name), rows)
        for column in numbers:
            check_numbers(column, batch.column(column.name), rows)
        if check:
            check(rows, batch)
    return metadata.num_rows, unknown, names


def read_rows(file: Any, names: Sequence[str], rows: Rows, size: int = _BATCH) -> Iterator[tuple[Rows, pa.RecordBatch]]:
    """Yield some columns of an open file in batches, in row order, each with the place of its rows. Their texts are UTF-8."""
    with named_errors(rows.key, rows.uri):
        for batch in file.iter_batches(size, columns=list(names)) if names else ():
            for name, values in zip(batch.schema.names, batch.columns, strict=True):
                _must_be_whole(name, values, rows)
            yield rows, batch
            rows = rows.after(batch.num_rows)
    if names:
        _must_be_all(rows.before, file, rows.key, rows.uri)


def _must_be_all(rows: int, file: Any, key: str, uri: str) -> None:
    """Refuse a file that gives fewer rows than its footer counts: a damaged column may end early without an error."""
    if rows != (counted := file.metadata.num_rows):
        what = f"{uri} is damaged: its footer counts {counted} rows, and it has {rows}."
        raise ExportContentError(what, place=Place(key), reason="truncated")


def _must_be_whole(name: str, values: pa.Array, rows: Rows) -> None:
    """Refuse an array that breaks Arrow's own rules: what reads it next may stop the process, not only fail."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        at = re.search(r"UTF8 sequence at string index (\d+)", str(error)) if is_text(values.type) else None
        row = rows.before + int(at[1]) + 1 if at else None
        raise ExportContentError(
            f"{rows.uri}{f', row {row}' if row else ''}: column {name} is damaged: its bytes are no {values.type}.",
            place=Place(rows.key, row, name),
            reason="bad_encoding" if "UTF8" in str(error) else "truncated",
        ) from error


def has_clashing_names(names: Iterable[str]) -> bool:
    """Whether SQL reads a file's columns wrongly: `Cost` beside `cost`, or a name that its reader gives to a column."""
    lower = [name.lower() for name in names]
    return len(set(lower)) < len(lower) or not _READERS_NAMES.isdisjoint(lower)


def copy_parquet(path: Path, target: Path, names: Mapping[str, str], constants: Mapping[str, str], key: str, uri: str) -> None:
    """Write a copy of some columns under other names, with constant text columns beside them, in the order of the rows."""

    def tables() -> Iterator[pa.Table]:
        for _, batch in read_rows(open_parquet(path, key, uri), list(names), Rows(key, uri)):
            table = pa.Table.from_batches([batch]).select(list(names)).rename_columns(list(names.values()))
            for name, value in constants.items():
                table = table.append_column(name, pa.repeat(pa.scalar(value), table.num_rows))
            yield table

    write_tables(tables(), target)


def write_tables(tables: Iterable[pa.Table], target: Path, **options: Any) -> int:
    """Write tables of one shape to a file and return the number of rows; without any table there is no file."""
    writer, written = None, 0
    with contextlib.ExitStack() as stack:
        for table in tables:
            writer = writer or stack.enter_context(pq.ParquetWriter(target, table.schema, compression="zstd", **options))
            writer.write_table(table)
            written += table.num_rows
    return written


@contextlib.contextmanager
def named_errors(key: str, uri: str) -> Iterator[None]:
    """Give the errors of Arrow the name of the object. Those of the machine pass: memory, and what has an errno."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno):
            raise
        what = f"{uri} is cut off or damaged: it cannot be read as Parquet ({type(error).__name__})."
        raise ExportContentError(what, place=Place(key), reason="truncated") from error
