"""Google Cloud bills: the detailed (or standard) BigQuery export as Parquet or JSON lines, nested, one delivery per partition.

The export appends: a correction is a new row and equal rows are legal, so nothing is dropped here, and a partition that grew is
delivered again as a whole. Rows are not checked against the day of their partition, whose meaning Google leaves open. The
originals stay; beside each lies a flat copy with a row per export row and a row per credit. What a cost or credit means is
decided in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

from connectors.deliveries import Converted, Delivery, Part, Refusal, merged, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.lazy import pa, pc
from connectors.formats.nested import NestedFile, Shape, flat
from connectors.formats.parquet import named_errors, write_tables
from connectors.formats.schema import Schema
from connectors.formats.values import Rows
from connectors.gcp.accounts import convert_objects
from connectors.gcp.billing_columns import CREDIT_KEYS, MAPS, SCHEMA, SHAPE, flat_name
from connectors.layouts.partition_folders import find_partition_deliveries
from connectors.layouts.shards import orphan_shards

__all__ = ["KIND", "SCHEMA", "Bill", "convert", "find_deliveries"]

KIND = "gcp_billing"

# the partition of each day; its files are the delivery, as this export has no manifest
find_deliveries = partial(find_partition_deliveries, kind=KIND, partition_of=date.isoformat)


@dataclass(frozen=True, slots=True)
class Bill:
    """How an export of the bill becomes a flat copy: where its credits lie, and which columns a credit repeats of its line."""

    shape: Shape
    schema: Schema
    credits: str
    credit_keys: tuple[str, ...]
    maps: Mapping[str, str]  # path -> column
    added: Callable[[dict[str, pa.Array]], dict[str, pa.Array]] = lambda lines: {}  # columns that follow from those of a batch


BILL = Bill(SHAPE, SCHEMA, "credits", CREDIT_KEYS, {name: flat_name(name) for name in MAPS})


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, bill: Bill = BILL) -> Converted:
    """Check the landed objects and write lines-<n>.parquet for the n-th of them into `folder`.

    Rows without a billing account get the only one that the delivery names; where it names several, it is refused.
    """

    def lines(number: int, key: str, source: NestedFile) -> Converted:
        return _convert_object(bill, delivery, key, source, folder / f"lines-{number}.parquet")

    done = merged(convert_objects(delivery, files, folder, store_uri, bill.shape, lines))
    return replace(done, refusals=(*done.refusals, *orphan_shards(delivery, store_uri)))


def _convert_object(bill: Bill, delivery: Delivery, key: str, source: NestedFile, target: Path) -> Converted:
    repeats: dict[str, tuple[int, int]] = {}
    with named_errors(key, source.start.uri):
        rows = write_tables((_flat_table(bill, source, batch, rows, repeats) for rows, batch in source.batches()), target)
    remarks = tuple(_remark(delivery, source, name, *repeat) for name, repeat in repeats.items())
    return Converted((Part(target, key),), rows, source.unknown, remarks)


def _flat_table(
    bill: Bill, source: NestedFile, batch: pa.RecordBatch, rows: Rows, repeats: dict[str, tuple[int, int]]
) -> pa.Table:
    """The lines of a batch and, behind them in the order of the lines, its credits. `repeats`: by map, first row and count."""
    lines = source.lines(batch, rows)
    lines |= bill.added(lines)
    for name, map_column in bill.maps.items():
        if name in source.paths:
            lines[map_column], again = source.map_of(batch, name)
            if len(again):
                first, count = repeats.get(name, (rows.before + again[0] + 1, 0))
                repeats[name] = first, count + len(again)
    parents, elements = source.elements(batch, bill.credits)
    credits = {name: lines[name].take(parents) for name in ("line_number", *bill.credit_keys) if name in lines}
    places = replace(rows, parents=parents)  # an error in the third credit of row 7 names row 7
    for field in elements.type:
        if column := bill.shape.records[bill.credits].get(field.name):
            values = pc.struct_field(elements, [field.name])
            credits[column.name] = flat(column, f"{bill.credits}.{field.name}", values, places)
    tables = [
        pa.table(arrays).append_column("part", pa.repeat(pa.scalar(part), len(arrays["line_number"])))
        for part, arrays in (("line", lines), ("credit", credits))
    ]
    both = pa.concat_tables(tables, promote_options="default")
    return both.select([name for name in bill.schema.names if name in both.column_names])


def _remark(delivery: Delivery, source: NestedFile, name: str, first: int, count: int) -> Refusal:
    """Name rows that have a key twice. They are kept: of two labels team=a and team=b, a is taken."""
    remark = ExportContentError(
        f"{source.start.uri}: {name} has a key more than once in a row, {count} times, first in row {first}.",
        place=Place(source.start.key, first, name, f"{count} pairs"),
        reason="repeated_key",
        remedy="Give each key once; the rows are kept with the first value of the key.",
    )
    return refusal_of(delivery, remark)
