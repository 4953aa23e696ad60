"""JSON lines as BigQuery's EXPORT DATA writes them, as the same nested rows that its Parquet holds.

JSON has fewer types than a table: INT64 is text in it, and NUMERIC is taken to be (FLOAT64 is a number), times are texts such as
`2026-04-01 00:00:00.5 UTC`, and a value that is null is left out. So a row is read as it is declared, into a Parquet file that
stays only until its typed copy is written, and from there on as every other. Equal rows give equal copies, whichever way they
came. Google's page, https://docs.cloud.google.com/bigquery/docs/exporting-data (read 2026-11-22), speaks of INT64 only: decimals
are taken as text and as number. A file that is cut off at the end of a line looks whole: in Parquet it is seen.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from connectors.errors import ExportContentError, Place
from connectors.formats.lazy import pa, pajson
from connectors.formats.nested import NestedFile, Shape, flattened, open_nested
from connectors.formats.parquet import write_tables
from connectors.formats.schema import Column, Schema, is_text
from connectors.formats.text_lines import Stream, TextFile
from connectors.formats.values import Rows, typed

_ENDINGS = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
_BLOCK = 4 << 20  # no row of an export comes near it
_HEAD = 1 << 20  # what is looked at for undeclared names
# the beginning of a line; only `null` can follow. Behind `,`, `[` or `:` it is a value of the row before: Arrow reads that, or
# refuses what is before it
_NULL = re.compile(rb"\n(?<![,\[:]\n)(?<![,\[:]\r\n)(?:\xef\xbb\xbf)?[ \t\r]*n")
_CHANGED = re.compile(r"Column\(/?(.*?)\) changed from (\w+) to (\w+) in row (\d+)")
_NUMERIC, _WHOLE = 9, 0  # decimals


def open_rows(path: Path, shape: Shape, key: str, uri: str, *, folder: Path) -> NestedFile | None:
    """Open a file of nested rows, JSON lines by its name and else Parquet; None when it has no rows.

    JSON lines become Parquet in `folder`. It has no name any more when this returns, and is gone when it was read.
    """
    if not key.lower().endswith(_ENDINGS):
        return open_nested(path, shape, key, uri)
    chunks = _without_nulls(TextFile(path, key, uri).chunks(), Rows(key, uri))
    head = _head_of(chunks)
    if not head.strip():
        return None
    given = _beginning_of(head)
    unknown = _unknown(given.names, shape, Rows(key, uri))
    target, seen = folder / f".{path.name}.rows", set[str]()
    try:
        if not write_tables(_tables(chain([head], chunks), shape, given, Rows(key, uri), seen), target):
            return None
        source = open_nested(target, shape, key, uri)
    finally:
        target.unlink(missing_ok=True)  # it stays readable for as long as it is open
    if source:
        source.unknown = unknown
        # what is null in all rows was left out of them: as in an export of a table without the column
        source.paths = tuple(one for one in source.paths if one not in shape.columns or one in seen or shape.columns[one].filled)
    return source


def _tables(chunks: Iterable[bytes], shape: Shape, given: pa.Schema, rows: Rows, seen: set[str]) -> Iterator[pa.Table]:
    """The declared columns by their dotted paths, each with its type; `seen` takes the paths that have a value anywhere."""
    for batch in _batches(chunks, _schema_of(shape, given), rows):
        table = flattened(pa.Table.from_batches([batch])).combine_chunks()
        arrays = {}
        for name in table.column_names:
            [values] = table.column(name).chunks or [pa.array([], table.column(name).type)]
            if values.null_count < len(values):
                seen.add(name)
            arrays[name] = _as_declared(shape.columns[name], name, values, rows) if name in shape.columns else values
        yield pa.table(arrays)
        rows = rows.after(table.num_rows)


def _batches(chunks: Iterable[bytes], schema: pa.Schema, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The rows as they are declared, block by block."""
    options = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    before = 0
    try:
        reader = pajson.open_json(Stream(chunks), pajson.ReadOptions(use_threads=False, block_size=_BLOCK), options)
        for batch in reader:
            yield batch
            before += batch.num_rows
    except pa.ArrowInvalid as error:
        raise _named(error, rows.after(before)) from error


def _named(error: pa.ArrowInvalid, rows: Rows) -> ExportContentError:
    """Say what of Arrow's message is about the file, and never the message."""
    text = str(error)
    if match := _CHANGED.search(text):
        path, wanted, given, row = match[1].replace("/", "."), match[2], match[3], int(match[4])
        return rows.error(path or "the row", row, None if given == "null" else given, f"no {wanted}", "wrong_type")
    what, reason = "has a line that is no JSON object", "bad_json"
    if "decimal" in text:
        what, reason = "has a number with more decimals than NUMERIC has, or a text that is none", "wrong_type"
    elif "straddl" in text:
        what, reason = f"has a line longer than {_BLOCK} bytes", "too_large"
    elif "specified twice" in text:
        what, reason = "has a line that gives a field twice", "bad_json"
    return _in_or_after(rows, what, reason)


def _in_or_after(rows: Rows, what: str, reason: str) -> ExportContentError:
    first = rows.before + 1
    return ExportContentError(f"{rows.uri} {what}, in row {first} or after it.", place=Place(rows.key, first), reason=reason)


def _without_nulls(chunks: Iterable[bytes], rows: Rows) -> Iterator[bytes]:
    """The same text, refused where a row is `null`: Arrow takes it for one, and as the first it ends the process."""
    before = b"\n"  # the line end that a line begins behind and what is before it, while nothing but blanks has followed it
    for chunk in chunks:
        text = before + chunk
        if _NULL.search(text):
            raise _in_or_after(rows, "has a line that is no JSON object", "bad_json")
        end = text.rfind(b"\n")
        line = text[end + 1 :]
        before = line[-2:] if end < 0 or line.strip() else text[max(0, end - 2) : end + 1]
        yield chunk


def _schema_of(shape: Shape, given: pa.Schema) -> pa.Schema:
    """What is read of each row: the declared paths as records in records; of repeated records the declared fields.

    A number that the file's beginning has as text is NUMERIC: `cost` is FLOAT64 in one account's table and NUMERIC in another's.
    """
    decimals = {*shape.decimals, *(field.name for field in given if is_text(field.type))}
    types = {path: _json_type(column, is_decimal=path in decimals) for path, column in shape.columns.items()}
    for path, (_, *pair) in shape.maps.items():
        types[path] = pa.list_(pa.struct({name: pa.string() for name in pair}))
    types |= {path: pa.list_(pa.string()) for path in shape.texts}
    for path, columns in shape.records.items():
        fields = {name: _json_type(one, is_decimal=f"{path}.{name}" in shape.decimals) for name, one in columns.items()}
        types[path] = pa.list_(pa.struct(fields))
    return pa.schema(_records_of(types))


def _records_of(types: dict[str, pa.DataType]) -> list[pa.Field]:
    """Dotted paths as records in records."""
    below: dict[str, dict[str, pa.DataType]] = {}
    for path, type_ in types.items():
        name, _, rest = path.partition(".")
        below.setdefault(name, {})[rest] = type_
    return [pa.field(name, one[""] if "" in one else pa.struct(_records_of(one))) for name, one in below.items()]


def _json_type(column: Column, *, is_decimal: bool) -> pa.DataType:
    """The type a value is read as: a decimal is taken as number and as text, and so is a whole number."""
    if column.type == "Number":
        return pa.decimal128(38, _NUMERIC) if is_decimal else pa.float64()
    return {"BigInt": pa.decimal128(18, _WHOLE), "Boolean": pa.bool_()}.get(column.type, pa.string())


def _as_declared(column: Column, path: str, values: pa.Array, rows: Rows) -> pa.Array:
    """Times and days from their texts, whole numbers from decimals; an error names path and row."""
    if column.type in {"Timestamp", "Date"}:
        return typed(replace(column, name=path), values, rows)
    if column.type == "BigInt":
        return values.cast(pa.int64())
    return values


def _beginning_of(head: bytes) -> pa.Schema:
    """The paths that a file's beginning has, with the types of JSON."""
    whole = head[: head.rfind(b"\n") + 1] or head  # the last line may go on
    try:
        return flattened(pajson.read_json(io.BytesIO(whole)).slice(0, 0)).schema
    except pa.ArrowInvalid:
        return pa.schema([])  # what is wrong with it is found when it is read


def _unknown(given: list[str], shape: Shape, rows: Rows) -> tuple[str, ...]:
    """The paths that are not declared. A file that lacks what every row has is of another kind."""
    if not given:
        return ()
    filled = tuple(replace(column, name=path) for path, column in shape.columns.items() if column.filled)
    Schema(filled, documented=frozenset(given), remedy_page=shape.remedy_page).check_names(given, rows.uri, rows.key)
    return tuple(name for name in given if not shape.is_known(name))


def _head_of(chunks: Iterator[bytes]) -> bytes:
    """The beginning of a text, to the end of a line where there is one."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= _HEAD and b"\n" in head and head.strip():  # blank lines may come first
            break
    return head
