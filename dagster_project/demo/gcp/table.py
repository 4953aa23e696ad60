"""The bill as one table of BigQuery: its columns and its rows as `bq load` takes them, which is how EXPORT DATA writes them.

Beside the Parquet of each partition it is the same rows, for whoever wants to read the demo from BigQuery. No source of the demo
reads it.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from dagster_project.demo.clock import NOW, iso_micro
from dagster_project.demo.files import put, put_json

FOLDER = "gcp-billing-table"
ROWS, SCHEMA = "rows.jsonl.gz", "schema.json"
TIMES = ("usage_start_time", "usage_end_time", "export_time")
_TYPES = {
    pa.string(): "STRING",
    pa.float64(): "FLOAT",
    pa.bool_(): "BOOLEAN",
    pa.decimal128(38, 9): "NUMERIC",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP",
}


class Table:
    """Takes the rows of one partition after the other."""

    def __init__(self) -> None:
        self._packed = io.BytesIO()
        self._lines = gzip.GzipFile(filename="", mode="wb", fileobj=self._packed, compresslevel=3, mtime=0)

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Nulls are left out, NUMERIC is text."""
        for row in rows:
            known = {name: value for name, value in row.items() if value is not None}
            known |= {name: _time(row[name]) for name in TIMES}
            self._lines.write(json.dumps(known, default=_numeric, separators=(",", ":")).encode() + b"\n")

    def write(self, exports: Path, columns: pa.Schema) -> None:
        self._lines.close()
        put(exports / FOLDER / ROWS, self._packed.getvalue(), NOW)
        put_json(exports / FOLDER / SCHEMA, [_column(field) for field in columns], NOW)


@lru_cache(maxsize=1 << 16)
def _time(micros: int) -> str:
    return f"{iso_micro(micros)[:-1].replace('T', ' ')} UTC"


@lru_cache(maxsize=1 << 16)
def _numeric(value: Decimal) -> str:
    """At most nine decimals, as NUMERIC has."""
    whole, _, decimals = f"{value:f}".partition(".")
    return f"{whole}.{decimals}".rstrip("0").rstrip(".") if decimals else whole


def _column(field: pa.Field) -> dict[str, Any]:
    found, mode = field.type, "NULLABLE"
    if pa.types.is_list(found):
        found, mode = found.value_type, "REPEATED"
    if pa.types.is_struct(found):
        return {"name": field.name, "type": "RECORD", "mode": mode, "fields": [_column(one) for one in found]}
    return {"name": field.name, "type": _TYPES[found], "mode": mode}
