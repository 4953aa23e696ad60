"""Google Cloud bills: the detailed (or standard) BigQuery export as Parquet with nested records, one delivery per partition.

The export appends: a correction is a new row and equal rows are legal, so nothing is dropped here, and a partition that grew is
delivered again as a whole. Rows are not checked against the day of their partition, whose meaning Google leaves open. The
originals stay; beside each lies a flat copy with a row per export row and a row per credit. What a cost or credit means is
decided in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from connectors.deliveries import Converted, Delivery, Part, Refusal, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.lazy import pa, pc
from connectors.formats.nested import NestedFile, flat, open_nested
from connectors.formats.parquet import write_batches
from connectors.formats.values import Rows
from connectors.gcp.billing_columns import CREDIT_COLUMNS, CREDIT_KEYS, MAPS, SCHEMA, SHAPE
from connectors.layouts.partition_folders import find_partition_deliveries
from connectors.stores import ObjectStore

__all__ = ["KIND", "SCHEMA", "convert", "find_deliveries"]

KIND = "gcp_billing"


def find_deliveries(store: ObjectStore) -> Iterator[Delivery | Refusal]:
    """Yield the partition of each day. Its files are the delivery: this export has no manifest."""
    return find_partition_deliveries(store, KIND, date.isoformat)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Check the landed objects and write lines-<n>.parquet for the n-th of them into `folder`."""
    parts: list[Part] = []
    rows = 0
    unknown: dict[str, None] = {}
    remarks: list[Refusal] = []
    for number, info in enumerate(delivery.objects, start=1):
        source = open_nested(files[info.key], SHAPE, info.key, f"{store_uri}/{info.key}")
        if source is None:
            continue
        target = folder / f"lines-{number}.parquet"
        count, repeated = _flatten(source, target)
        parts.append(Part(target, info.key))
        rows += count
        unknown |= dict.fromkeys(source.unknown)
        remarks += [_remark(delivery, source, name, seen) for name, seen in repeated.items()]
    return Converted(tuple(parts), rows, tuple(unknown), tuple(remarks))


@dataclass(slots=True)
class _Repeated:
    """Keys that one row has twice: the first such row, and how many there are."""

    row: int
    count: int


def _flatten(source: NestedFile, target: Path) -> tuple[int, dict[str, _Repeated]]:
    """Write the flat copy and return its rows, and what was repeated in which map."""
    repeated: dict[str, _Repeated] = {}
    nothing = source.empty()
    lines = _lines(source, nothing, source.start, repeated)
    arrays = lines | _credits(source, nothing, source.start, lines)
    shape = pa.schema([(name, arrays[name].type) for name in SCHEMA.names if name in arrays])

    def batches() -> Iterator[pa.RecordBatch]:
        for rows, batch in source.batches():
            lines = _lines(source, batch, rows, repeated)
            yield _record_batch(lines, shape)
            if len((credit_rows := _credits(source, batch, rows, lines))["part"]):
                yield _record_batch(credit_rows, shape)

    return write_batches(batches(), shape, target), repeated


def _lines(source: NestedFile, batch: pa.RecordBatch, rows: Rows, repeated: dict[str, _Repeated]) -> dict[str, pa.Array]:
    arrays = {"part": pa.repeat(pa.scalar("line"), batch.num_rows)} | source.lines(batch, rows)
    for name, pairs in MAPS.items():
        if pairs.path in source.paths:
            arrays[name], again = source.map_of(batch, pairs)
            if len(again):
                repeated.setdefault(name, _Repeated(rows.before + again[0] + 1, 0)).count += len(again)
    return arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class _CreditRows(Rows):
    """The places of credits: an error in the third credit of row 7 names row 7."""

    parents: pa.Array

    def error(self, column: str, index: int, value: object, what: str, reason: str) -> ExportContentError:
        """Name the value of one credit."""
        return Rows(self.key, self.uri, self.before).error(column, self.parents[index].as_py(), value, what, reason)


def _credits(source: NestedFile, batch: pa.RecordBatch, rows: Rows, lines: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """A row per credit, in the order of the lines."""
    parents, elements = source.elements(batch, "credits")
    arrays = {"part": pa.repeat(pa.scalar("credit"), len(elements))}
    arrays |= {name: lines[name].take(parents) for name in ("line_number", *CREDIT_KEYS) if name in lines}
    places = _CreditRows(rows.key, rows.uri, rows.before, parents=parents)
    present = {field.name for field in elements.type}
    for field, column in CREDIT_COLUMNS.items():
        if field in present:
            values = pc.struct_field(elements, [field])
            arrays[column.name] = flat(replace(column, name=f"credits.{field}"), values, places)
    return arrays


def _record_batch(arrays: dict[str, pa.Array], shape: pa.Schema) -> pa.RecordBatch:
    length = len(arrays["part"])
    return pa.record_batch([arrays.get(field.name, pa.nulls(length, field.type)) for field in shape], schema=shape)


def _remark(delivery: Delivery, source: NestedFile, name: str, seen: _Repeated) -> Refusal:
    """Name rows that have a key twice. They are kept: of two labels team=a and team=b, a is taken."""
    remark = ExportContentError(
        f"{source.start.uri}: {name} has a key more than once in a row, {seen.count} times, first in row {seen.row}.",
        place=Place(source.start.key, seen.row, name, f"{seen.count} pairs"),
        reason="repeated_key",
        remedy="Give each key once; the rows are kept with the first value of the key.",
    )
    return refusal_of(delivery, remark)
