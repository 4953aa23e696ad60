"""Tables that people write as CSV: read whole, typed, and refused whole with the row that is wrong.

Only for small files. What the rows of a table mean stays with the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from connectors.deliveries import Converted, Delivery, Part
from connectors.errors import ExportContentError, Place
from connectors.formats.delimited import CsvFile
from connectors.formats.lazy import pa, pq
from connectors.formats.schema import Column, Schema
from connectors.formats.values import Rows, check_filled, typed
from connectors.stores import READ_LIMIT

RowCheck = Callable[[dict[str, Any], int, Rows], None]


def convert_table(
    delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, schema: Schema, check: RowCheck
) -> Converted:
    """Read the one CSV of a delivery, check each row with its index, and write table.parquet into `folder`."""
    (info,) = delivery.objects
    uri = f"{store_uri}/{info.key}"
    if info.size > READ_LIMIT:
        raise ExportContentError(f"{uri} is larger than {READ_LIMIT} bytes.", place=Place(info.key), reason="too_large")
    csv = CsvFile(files[info.key], info.key, uri)
    header = csv.header()
    unknown = schema.check_names(header, uri, info.key)
    columns = [column for column in schema if column.name in header]
    batches, rows = [], Rows(info.key, uri)
    for batch in csv.batches(header, [column.name for column in columns]):
        arrays = [_typed(column, batch.column(column.name), rows) for column in columns]
        batches.append(pa.record_batch(arrays, names=[column.name for column in columns]))
        rows = rows.after(batch.num_rows)
    if not batches:
        return Converted((), 0, unknown)
    table = pa.Table.from_batches(batches)
    everything = Rows(info.key, uri)
    for index, row in enumerate(table.to_pylist()):
        check(row, index, everything)
    target = folder / "table.parquet"
    pq.write_table(table, target, compression="zstd")
    return Converted((Part(target, info.key),), table.num_rows, unknown)


def unique_by(names: Sequence[str]) -> RowCheck:
    """A check that refuses a second row with the same key."""
    seen: dict[tuple[Any, ...], int] = {}

    def check(row: dict[str, Any], index: int, rows: Rows) -> None:
        key = tuple(row.get(name) for name in names)
        first = seen.setdefault(key, index)
        if first != index:
            shown = ", ".join(str(value) for value in key)
            raise rows.error(", ".join(names), index, shown, f"as in row {first + 1} already", "repeated_row")

    return check


def _typed(column: Column, values: pa.Array, rows: Rows) -> pa.Array:
    if column.type != "Date":
        return typed(column, values, rows)
    check_filled(column, values, rows)
    return pa.array([_date(column, text, index, rows) for index, text in enumerate(values.to_pylist())], pa.date32())


def _date(column: Column, text: str | None, index: int, rows: Rows) -> date | None:
    if text is None:
        return None
    try:
        if len(text) != 10:
            raise ValueError(text)
        return date.fromisoformat(text)
    except ValueError:
        raise rows.error(column.name, index, text, "no date of the form 2026-04-01", "wrong_type") from None
