"""Files whose bytes and times depend on nothing but their content: Parquet as Spark writes it, csv.gz, JSON, plain text."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dagster_project.demo.clock import iso_milli
from dagster_project.demo.organisation import UNIT

# the kinds of columns, by the provider's names
TEXT, NUMBER, TIME, TEXT_MAP, NUMBER_MAP = "string", "double", "timestamp", "map<string,string>", "map<string,double>"
ARROW = {
    TEXT: pa.string(),
    NUMBER: pa.float64(),
    TIME: pa.timestamp("ns"),
    TEXT_MAP: pa.map_(pa.string(), pa.string()),
    NUMBER_MAP: pa.map_(pa.string(), pa.float64()),
}
# one type list for all writers; numbers arrive as whole 1e-10 units, times as epoch seconds
Columns = Sequence[tuple[str, str]]


def put(path: Path, content: bytes | str, modified: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (modified, modified))


def put_json(path: Path, document: object, modified: int) -> None:
    put(path, json.dumps(document, indent=1) + "\n", modified)


def parquet_bytes(columns: Columns, values: dict[str, list[Any]]) -> bytes:
    """One snappy row group with int96 times and without an Arrow schema inside, as the provider's writer leaves it."""
    arrays = [_arrow(kind, values[name]) for name, kind in columns]
    table = pa.Table.from_arrays(arrays, names=[name for name, _ in columns])
    sink = io.BytesIO()
    pq.write_table(
        table, sink, compression="snappy", use_deprecated_int96_timestamps=True, store_schema=False, row_group_size=1 << 24
    )
    return sink.getvalue()


def _arrow(kind: str, column: list[Any]) -> pa.Array:
    if kind in (TEXT_MAP, NUMBER_MAP):  # a missing map is an empty one, never null
        column = [list((value or {}).items()) for value in column]
    elif kind == NUMBER:
        column = [None if value is None else value / UNIT for value in column]
    elif kind == TIME:
        column = [None if value is None else value * 1_000_000_000 for value in column]
    return pa.array(column, type=ARROW[kind])


def csv_gz_bytes(columns: Columns, values: dict[str, list[Any]]) -> bytes:
    """Quoted where needed, '' for null, maps as JSON text, small numbers with an exponent, no time in the gzip header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    writer.writerows(zip(*(_texts(kind, values[name]) for name, kind in columns), strict=True))
    sink = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=sink, compresslevel=6, mtime=0) as packed:
        packed.write(text.getvalue().encode())
    return sink.getvalue()


def _texts(kind: str, column: list[Any]) -> list[str]:
    if kind in (TEXT_MAP, NUMBER_MAP):
        known: dict[int, str] = {}
        return [known.setdefault(id(value), json.dumps(value or {}, separators=(",", ":"))) for value in column]
    show = {NUMBER: number_text, TIME: iso_milli}.get(kind, str)
    return ["" if value is None else show(value) for value in column]


@lru_cache(maxsize=1 << 16)
def number_text(units: int) -> str:
    """The exact decimal as Java prints a double: plain from 0.001 to ten million, else like 1.81E-8."""
    sign, size = ("-" if units < 0 else ""), abs(units)
    if size == 0 or UNIT // 1_000 <= size < UNIT * 10_000_000:
        return f"{sign}{size // UNIT}.{f'{size % UNIT:010d}'.rstrip('0') or '0'}"
    digits = str(size)
    return f"{sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}E{len(digits) - 11}"
