"""Bytes of a data file to rows: dictionaries by CUR 2.0 column name, values as the file holds them.

Parquet, CSV (plain, gzip, zip), legacy headers and JSON text in map columns. No rule of the ledger lives here.
"""

import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .numerals import OracleError

MAPS = ("product", "resource_tags", "tags", "cost_category", "Tags", "x_CostCategories")
SPREAD = ("resource_tags", "cost_category")  # each entry may be a column of its own
# Product attributes that CUR 2.0 keeps as columns; every other product attribute of a legacy bill goes into the map.
PRODUCT_COLUMNS = {
    "product_comment", "product_fee_code", "product_fee_description", "product_from_location", "product_from_location_type",
    "product_from_region_code", "product_instance_family", "product_instance_type", "product_instancesku", "product_location",
    "product_location_type", "product_operation", "product_pricing_unit", "product_product_family", "product_region_code",
    "product_servicecode", "product_sku", "product_to_location", "product_to_location_type", "product_to_region_code",
    "product_usagetype",
}  # fmt: skip


def snake(name: str) -> str:
    """AWS's column rule: underscore before a capital, lower case, others to underscores, none doubled or at the ends."""
    spaced = re.sub(r"([A-Z])", r"_\1", name)
    return re.sub(r"_+", "_", re.sub(r"[^a-z0-9]", "_", spaced.lower())).strip("_")


def rows_of(path: Path, columns: set[str]) -> Iterator[dict[str, object]]:
    """The rows of one file with the wanted columns; absent ones are missing keys."""
    if path.name.endswith(".parquet"):
        yield from _parquet_rows(path, columns)
    else:
        yield from _csv_rows(path, columns)


def _parquet_rows(path: Path, columns: set[str]) -> Iterator[dict[str, object]]:
    file = pq.ParquetFile(path)
    present = [name for name in file.schema_arrow.names if name in columns or _place(name)[1]]
    for batch in file.iter_batches(columns=present):
        values = []
        for name in batch.schema.names:
            column = batch.column(name)
            if pa.types.is_timestamp(column.type):
                column = column.cast(pa.timestamp("us"))
            elif pa.types.is_float32(column.type):
                raise OracleError(f"{path}: {name} is a float32")
            cells = column.to_pylist()
            if name in MAPS:
                cells = [dict(cell or ()) for cell in cells]
            values.append(cells)
        names = batch.schema.names
        if not names:
            yield from ({} for _ in range(batch.num_rows))
        for row in zip(*values, strict=True):
            yield _gathered(dict(zip(names, row, strict=True)))


def _gathered(row: dict[str, object]) -> dict[str, object]:
    """Entries that are columns of their own, in their map."""
    for name in [name for name in row if _place(name)[1]]:
        column, key = _place(name)
        if value := row.pop(name):
            row[column] = (row.get(column) or {}) | {key: value}
    return row


def _csv_rows(path: Path, columns: set[str]) -> Iterator[dict[str, object]]:
    with ExitStack() as open_files:
        reader = csv.reader(_text(path, open_files))
        header = next(reader, None)
        if header is None:
            return
        places = [_place(name) for name in header]
        for record in reader:
            if record:
                yield _placed(places, record, columns)


def _text(path: Path, open_files: ExitStack) -> io.TextIOBase:
    if path.name.endswith(".gz"):
        return open_files.enter_context(gzip.open(path, "rt", encoding="utf-8-sig", newline=""))
    if path.name.endswith(".zip"):
        archive = open_files.enter_context(zipfile.ZipFile(path))
        [member] = [name for name in archive.namelist() if name.endswith(".csv")]
        return io.TextIOWrapper(open_files.enter_context(archive.open(member)), encoding="utf-8-sig", newline="")
    return open_files.enter_context(path.open(encoding="utf-8-sig", newline=""))


def _place(header: str) -> tuple[str, str | None]:
    """Column and, for a value that belongs into a map, its key there."""
    category, slash, name = header.partition("/")
    if not slash:
        spread = next((column for column in SPREAD if header.startswith(f"{column}_")), None)
        return (spread, header[len(spread) + 1 :]) if spread else (header, None)
    if category == "resourceTags":
        return "resource_tags", snake(name)
    if category == "costCategory":
        return "cost_category", snake(name)
    column = snake(category) + "_" + snake(name)
    if category == "product" and column not in PRODUCT_COLUMNS:
        return "product", snake(name)
    return column, None


def _placed(places: list[tuple[str, str | None]], record: list[str], columns: set[str]) -> dict[str, object]:
    row: dict[str, object] = {}
    for (column, key), value in zip(places, record, strict=True):
        if column not in columns or value == "":
            continue
        if key is not None:
            row.setdefault(column, {}).setdefault(key, value)  # names that snake alike are merged, the first value stays
        elif column in MAPS:
            row[column] = json.loads(value) | row.get(column, {})
        else:
            row.setdefault(column, value)
    return row
