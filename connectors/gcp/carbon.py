"""Google's Carbon Footprint export as Parquet or JSON lines, nested: a row per account, project, service, location, month (kg).

A backfill rewrites a month in place, so a month's folder is one delivery and replaces the one before. A row that is equal in
every declared column is there once (a known bug of Google's backfills repeated rows); versions are elected in SQL. Nulls stay
null: what belongs to no project has project.number '', a deleted project has no project.id, and both emitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from connectors.deliveries import Converted, Delivery, merged, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.lazy import pa, pl
from connectors.formats.nested import NestedFile, Shape, at
from connectors.formats.schema import BigInt, Column, Date, Number, Schema, Text, required
from connectors.formats.values import check_month
from connectors.gcp.accounts import convert_objects
from connectors.layouts.partition_folders import find_partition_deliveries

KIND = "gcp_carbon"
PAGE = "docs/sources/gcp_carbon.md"

_MASSES = """
carbon_footprint_kgCO2e.scope1=scope1
carbon_footprint_kgCO2e.scope2.location_based=scope2_location_based
carbon_footprint_kgCO2e.scope2.market_based=scope2_market_based
carbon_footprint_kgCO2e.scope3=scope3
carbon_footprint_total_kgCO2e.location_based=total_location_based
carbon_footprint_total_kgCO2e.market_based=total_market_based
"""
_COLUMNS: dict[str, Column] = {
    **at("usage_month", Date, required=True, filled=True),
    **at("billing_account_id", Text, required=True, filled=True),
    **at("project.number project.id service.id service.description location.location location.region", Text),
    **at(_MASSES, Number, below=1e15),  # kilograms
    **at("carbon_model_version", BigInt),
}
# deprecated by Google in August 2025 and always null since
_DOCUMENTED = frozenset({"carbon_footprint_total_kgCO2e.after_offsets", "carbon_offsets_kgCO2e"})
SHAPE = Shape(_COLUMNS, _DOCUMENTED, PAGE)

SCHEMA = Schema(
    columns=(
        required("line_number", BigInt, filled=True),  # the row of the export, from 1
        *_COLUMNS.values(),
        Column("model_version", Text),  # carbon_model_version as text, as other providers write theirs
    ),
    documented=_DOCUMENTED,
    remedy_page=PAGE,
    measures={column.name: 9 for column in _COLUMNS.values() if column.type == Number},  # kilograms
)


# a month's folder is named by its first day
find_deliveries = partial(find_partition_deliveries, kind=KIND, partition_of=lambda day: f"{day:%Y-%m}" if day.day == 1 else None)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Check the landed objects and write carbon-<n>.parquet for the n-th of them into `folder`.

    Rows without a billing account get the only one that the delivery names; where it names several, it is refused.
    """
    tables = partial(_flat_tables, partition=delivery.partition)
    copies = convert_objects(delivery, files, folder, store_uri, SHAPE, "carbon", tables)
    return merged(_without_repeats(delivery, copies, store_uri) if any(copy.rows for copy in copies) else copies)


def _flat_tables(source: NestedFile, partition: str) -> Iterator[pa.Table]:
    for rows, batch in source.batches():
        arrays = source.lines(batch, rows)
        check_month("usage_month", arrays["usage_month"], partition, rows)
        if "carbon_model_version" in arrays:
            arrays["model_version"] = arrays["carbon_model_version"].cast(pa.string())
        yield pa.table({name: arrays[name] for name in SCHEMA.names if name in arrays})


def _without_repeats(delivery: Delivery, copies: list[Converted], store_uri: str) -> Iterator[Converted]:
    """Keep the first of equal rows, across all files of the month, and name the files of the others."""
    hashes = pl.concat([_hashes(part.path) for copy in copies for part in copy.parts])
    is_first = hashes.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    start = 0
    for copy in copies:
        keep = is_first.slice(start, copy.rows)
        start += copy.rows
        kept = int(keep.sum())
        if kept < copy.rows:
            (part,) = copy.parts
            table = pl.read_parquet(part.path, hive_partitioning=False)
            first = table.filter(~keep)["line_number"][0]
            table.filter(keep).write_parquet(part.path, compression="zstd")
            key, dropped = part.source_object, f"{copy.rows - kept} rows"
            remark = ExportContentError(
                f"{store_uri}/{key}: {dropped} are equal to earlier ones in every column, first row {first}.",
                place=Place(key, first, value=dropped),
                reason="repeated_row",
                remedy="Run the transfer of this month once more: Google delivered rows twice; each is counted once.",
            )
            copy = replace(copy, parts=copy.parts if kept else (), rows=kept, refusals=(refusal_of(delivery, remark),))
        yield copy


def _hashes(path: Path) -> pl.DataFrame:
    """Two hashes of each row over what Google delivered, absent columns as null: 128 bits, so that rows that differ stay two."""
    frame = pl.read_parquet(path, hive_partitioning=False)
    given = [column.name for column in _COLUMNS.values()]
    columns = [pl.col(name).cast(pl.String) if name in frame.columns else pl.lit(None, pl.String).alias(name) for name in given]
    rows = frame.select(columns)
    return pl.DataFrame({"first": rows.hash_rows(seed=1), "second": rows.hash_rows(seed=2)})
