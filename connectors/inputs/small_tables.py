"""Tables that people write as CSV: read whole, typed, and refused whole with the row that is wrong.

Only for small files. What the rows of a table mean stays with the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from connectors.deliveries import Converted, Delivery, Part
from connectors.errors import ExportContentError, Place
from connectors.formats.delimited import CsvFile
from connectors.formats.parquet import open_parquet
from connectors.formats.schema import Schema
from connectors.formats.typed_copies import Plan, copy_csv
from connectors.formats.values import Rows
from connectors.stores import READ_LIMIT

RowCheck = Callable[[dict[str, Any], int, Rows], None]


def convert_table(
    delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, schema: Schema, check: RowCheck, key: Sequence[str]
) -> Converted:
    """Read the one CSV of a delivery, check each row with its index, and write table.parquet. No two rows have the same `key`."""
    (info,) = delivery.objects
    uri = f"{store_uri}/{info.key}"
    if info.size > READ_LIMIT:
        raise ExportContentError(f"{uri} is larger than {READ_LIMIT} bytes.", place=Place(info.key), reason="too_large")
    csv = CsvFile(files[info.key], info.key, uri)
    header = csv.header()
    unknown = schema.check_names(header, uri, info.key)
    target = folder / "table.parquet"
    count = copy_csv(csv, header, schema, Plan({name: (name,) for name in schema.names if name in header}), target)
    if not count:
        return Converted(unknown_columns=unknown)
    rows = Rows(info.key, uri)
    key = [name for name in key if name in header]
    seen: dict[tuple[Any, ...], int] = {}
    for index, row in enumerate(open_parquet(target, info.key, uri).read().to_pylist()):
        _check_window(row, index, rows)
        check(row, index, rows)
        values = tuple(row.get(name) for name in key)
        first = seen.setdefault(values, index)
        if first != index:
            raise rows.error(", ".join(key), index, ", ".join(map(str, values)), f"as in row {first + 1} already", "repeated_row")
    return Converted((Part(target, info.key),), count, unknown)


def _check_window(row: dict[str, Any], index: int, rows: Rows) -> None:
    start, end = row.get("valid_from"), row.get("valid_to")
    if start and end and end <= start:
        raise rows.error("valid_to", index, end.isoformat(), "not after valid_from", "ends_before_start")
