"""Parquet as BigQuery's EXPORT DATA leaves it: nested and repeated records, NUMERIC as decimals, times in UTC microseconds."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from demo import truth
from demo.clock import DAY
from demo.files import put
from demo.gcp.lines import Export, Row, total
from demo.organisation import UNIT

ROWS_PER_FILE = 250_000
SETTLED = 611  # seconds from the last append to a partition to its export
TEXT = pa.string()
FLOAT = pa.float64()
NUMERIC = pa.decimal128(38, 9)
TIME = pa.timestamp("us", tz="UTC")
Tree = Sequence[tuple[str, Any]]
PAIRS = pa.list_(pa.struct([("key", TEXT), ("value", TEXT)]))
TAGS = pa.list_(pa.struct([("key", TEXT), ("value", TEXT), ("inherited", pa.bool_()), ("namespace", TEXT)]))
CREDITS = pa.list_(pa.struct([("name", TEXT), ("amount", FLOAT), ("full_name", TEXT), ("id", TEXT), ("type", TEXT)]))
ANCESTORS = pa.list_(pa.struct([("resource_name", TEXT), ("display_name", TEXT)]))
COLUMNS: Tree = (
    ("billing_account_id", TEXT),
    ("service", (("id", TEXT), ("description", TEXT))),
    ("sku", (("id", TEXT), ("description", TEXT))),
    ("usage_start_time", TIME),
    ("usage_end_time", TIME),
    (
        "project",
        (("id", TEXT), ("number", TEXT), ("name", TEXT), ("labels", PAIRS), ("ancestry_numbers", TEXT), ("ancestors", ANCESTORS)),
    ),
    ("labels", PAIRS),
    ("system_labels", PAIRS),
    ("location", (("location", TEXT), ("country", TEXT), ("region", TEXT), ("zone", TEXT))),
    ("resource", (("name", TEXT), ("global_name", TEXT))),
    ("tags", TAGS),
    (
        "price",
        (
            ("effective_price", NUMERIC),
            ("tier_start_amount", NUMERIC),
            ("unit", TEXT),
            ("pricing_unit_quantity", NUMERIC),
            ("list_price", NUMERIC),
            ("effective_price_default", NUMERIC),
            ("list_price_consumption_model", NUMERIC),
        ),
    ),
    ("transaction_type", TEXT),
    ("seller_name", TEXT),
    ("export_time", TIME),
    ("cost", FLOAT),
    ("currency", TEXT),
    ("currency_conversion_rate", FLOAT),
    ("usage", (("amount", FLOAT), ("unit", TEXT), ("amount_in_pricing_units", FLOAT), ("pricing_unit", TEXT))),
    ("credits", CREDITS),
    ("invoice", (("month", TEXT), ("publisher_type", TEXT))),
    ("cost_type", TEXT),
    ("adjustment_info", (("id", TEXT), ("description", TEXT), ("mode", TEXT), ("type", TEXT))),
    ("cost_at_list", FLOAT),
    ("subscription", (("instance_id", TEXT),)),
    ("cost_at_effective_price_default", NUMERIC),
    ("cost_at_list_consumption_model", NUMERIC),
    ("consumption_model", (("id", TEXT), ("description", TEXT))),
)


def write_partitions(root: Path, export: Export, rows_per_file: int = ROWS_PER_FILE) -> dict[str, dict]:
    """One folder per day that has rows; returns what is true of each object."""
    told: dict[str, dict] = {}
    for day in sorted(export.days):
        rows = export.days[day]
        modified = max(row.own["export_time"] for row in rows) + SETTLED
        for number, first in enumerate(range(0, len(rows), rows_per_file)):
            part = rows[first : first + rows_per_file]
            key = f"_PARTITIONTIME={date_of(day)}/{number:012d}.parquet"
            put(root / key, parquet_bytes(COLUMNS, partial(_values, part), len(part)), modified)
            credits = sum(each["amount"] for row in part for each in row.own.get("credits", ()))
            told[key] = {
                "rows": len(part),
                "cost": exact(total(part, "cost")),
                "credits": exact(credits),
                "lines": truth.ranges([row.claim for row in part]),
            }
    return told


def date_of(second: int) -> str:
    return datetime.fromtimestamp(second // DAY * DAY, UTC).strftime("%Y-%m-%d")


def exact(units: int) -> str:
    return str(Decimal(units).scaleb(-10).quantize(Decimal("1e-6")))


def parquet_bytes(columns: Tree, values: Callable[[str], list[Any]], rows: int) -> bytes:
    arrays = [_array(name, kind, values, rows) for name, kind in columns]
    sink = io.BytesIO()
    table = pa.Table.from_arrays(arrays, names=[name for name, _ in columns])
    pq.write_table(table, sink, compression="snappy", store_schema=False, row_group_size=1 << 20)
    return sink.getvalue()


def _array(path: str, kind: Any, values: Callable[[str], list[Any]], rows: int) -> pa.Array:
    if not isinstance(kind, tuple):
        return _leaf(kind, values(path))
    children = [_array(f"{path}.{name}", child, values, rows) for name, child in kind]
    # a record without any value is null itself, as a charge of the whole account has no project
    empty = [not any(column) for column in zip(*(_is_filled(child) for child in children), strict=True)]
    return pa.StructArray.from_arrays(children, [name for name, _ in kind], mask=pa.array(empty, pa.bool_()))


def _is_filled(array: pa.Array) -> list[bool]:
    if pa.types.is_list(array.type):
        return (array.value_lengths().to_numpy(zero_copy_only=False) > 0).tolist()
    return array.is_valid().to_pylist()


def _leaf(kind: pa.DataType, column: list[Any]) -> pa.Array:
    if kind == FLOAT:
        column = [None if value is None else value / UNIT for value in column]
    elif kind == NUMERIC:
        column = [None if value is None else _numeric(value) for value in column]
    elif kind == TIME:
        column = [None if value is None else value * 1_000_000 for value in column]
    elif kind == CREDITS:
        column = [[{**each, "amount": each["amount"] / UNIT} for each in value] for value in column]
    elif pa.types.is_list(kind):
        column = [value or [] for value in column]
    return pa.array(column, type=kind)


@lru_cache(maxsize=1 << 16)
def _numeric(units: int) -> Decimal:
    return Decimal(units).scaleb(-10)


def _values(rows: list[Row], path: str) -> list[Any]:
    return [row.own[path] if path in row.own else row.shared.get(path) for row in rows]
