"""Google Cloud bills: the detailed (or standard) BigQuery export as Parquet or JSON lines, nested, one delivery per partition.

The export appends: a correction is a new row and equal rows are legal, so nothing is dropped here, and a partition that grew is
delivered again as a whole. Rows are not checked against the day of their partition, whose meaning Google leaves open. The
originals stay; beside each lies a flat copy with a row per export row and a row per credit. What a cost or credit means is
decided in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from connectors.deliveries import Converted, Delivery, merged
from connectors.formats.lazy import pa, pc
from connectors.formats.nested import NestedFile, Shape, flat
from connectors.formats.schema import Schema
from connectors.formats.values import Rows
from connectors.gcp.accounts import convert_objects
from connectors.gcp.billing_columns import CREDIT_KEYS, SCHEMA, SHAPE
from connectors.layouts.partition_folders import find_partition_deliveries

KIND = "gcp_billing"

# the partition of each day; its files are the delivery, as this export has no manifest
find_deliveries = partial(find_partition_deliveries, kind=KIND, partition_of=date.isoformat)

Added = Callable[[dict[str, "pa.Array"]], dict[str, "pa.Array"]]  # columns that follow from the lines of a batch


def convert(
    delivery: Delivery,
    files: dict[str, Path],
    folder: Path,
    store_uri: str,
    shape: Shape = SHAPE,
    schema: Schema = SCHEMA,
    added: Added = lambda lines: {},
) -> Converted:
    """Check the landed objects and write lines-<n>.parquet for the n-th of them into `folder`.

    Rows without a billing account get the only one that the delivery names; where it names several, it is refused.
    """
    tables = partial(_flat_tables, schema=schema, added=added)
    return merged(convert_objects(delivery, files, folder, store_uri, shape, "lines", tables))


def _flat_tables(source: NestedFile, schema: Schema, added: Added) -> Iterator[pa.Table]:
    """The lines of each batch and, behind them in the order of the lines, its credits."""
    for rows, batch in source.batches():
        lines = source.lines(batch, rows)
        lines |= added(lines)
        parts = _part("line", lines), _part("credit", _credits(source, batch, rows, lines))
        both = pa.concat_tables(parts, promote_options="default")
        yield both.select([name for name in schema.names if name in both.column_names])


def _credits(source: NestedFile, batch: pa.RecordBatch, rows: Rows, lines: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns of a batch's credits, with what they repeat of their lines."""
    [(path, columns)] = source.shape.records.items()
    parents, elements = source.elements(batch, path)
    credits = {name: lines[name].take(parents) for name in ("line_number", *CREDIT_KEYS) if name in lines}
    places = replace(rows, parents=parents)  # an error in the third credit of row 7 names row 7
    for field in elements.type:
        if column := columns.get(field.name):
            credits[column.name] = flat(column, f"{path}.{field.name}", pc.struct_field(elements, [field.name]), places)
    return credits


def _part(name: str, arrays: dict[str, pa.Array]) -> pa.Table:
    return pa.table(arrays).append_column("part", pa.repeat(pa.scalar(name), len(arrays["line_number"])))
