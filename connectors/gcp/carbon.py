"""Google's Carbon Footprint export as Parquet with nested records: a row per account, project, service, location and month (kg).

A backfill rewrites a month in place, so a month's folder is one delivery and replaces the one before. A row that is equal in
every declared column is there once (a known bug of Google's backfills repeated rows); versions are elected in SQL. Nulls stay
null: what belongs to no project has project.number '', a deleted project has no project.id, and both emitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from connectors.deliveries import Converted, Delivery, Part, Refusal, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.lazy import pa, pl, pq
from connectors.formats.nested import NestedFile, Shape, open_nested
from connectors.formats.schema import BigInt, Column, Date, Number, Schema, Text, required
from connectors.formats.values import Rows, check_month
from connectors.layouts.partition_folders import find_partition_deliveries
from connectors.stores import ObjectStore

KIND = "gcp_carbon"
PAGE = "docs/sources/gcp_carbon.md"

_MASS = 1e15  # kilograms
_COLUMNS: dict[str, Column] = {
    "usage_month": required("usage_month", Date, filled=True),
    "billing_account_id": required("billing_account_id", Text, filled=True),
    "project.number": Column("project_number", Text),
    "project.id": Column("project_id", Text),
    "service.id": Column("service_id", Text),
    "service.description": Column("service_description", Text),
    "location.location": Column("location_location", Text),
    "location.region": Column("location_region", Text),
    "carbon_footprint_kgCO2e.scope1": Column("scope1", Number, below=_MASS),
    "carbon_footprint_kgCO2e.scope2.location_based": Column("scope2_location_based", Number, below=_MASS),
    "carbon_footprint_kgCO2e.scope2.market_based": Column("scope2_market_based", Number, below=_MASS),
    "carbon_footprint_kgCO2e.scope3": Column("scope3", Number, below=_MASS),
    "carbon_footprint_total_kgCO2e.location_based": Column("total_location_based", Number, below=_MASS),
    "carbon_footprint_total_kgCO2e.market_based": Column("total_market_based", Number, below=_MASS),
    "carbon_model_version": Column("carbon_model_version", BigInt),
}
# deprecated by Google in August 2025 and always null since
_DOCUMENTED = frozenset({"carbon_footprint_total_kgCO2e.after_offsets", "carbon_offsets_kgCO2e"})
_SHAPE = Shape(_COLUMNS, {}, {}, _DOCUMENTED, PAGE)

SCHEMA = Schema(
    columns=(
        required("line_number", BigInt, filled=True),  # the row of the export, from 1
        *_COLUMNS.values(),
        Column("model_version", Text),  # carbon_model_version as text, as other providers write theirs
    ),
    documented=_DOCUMENTED,
    remedy_page=PAGE,
)


def find_deliveries(store: ObjectStore) -> Iterator[Delivery | Refusal]:
    """Yield each month. Its folder is named by the first day of its usage month."""
    return find_partition_deliveries(store, KIND, lambda day: f"{day:%Y-%m}" if day.day == 1 else None)


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Check the landed objects and write carbon-<n>.parquet for the n-th of them into `folder`."""
    copies: list[_Copy] = []
    unknown: dict[str, None] = {}
    for number, info in enumerate(delivery.objects, start=1):
        source = open_nested(files[info.key], _SHAPE, info.key, f"{store_uri}/{info.key}")
        if source is not None:
            copies.append(_copy(source, folder / f"carbon-{number}.parquet", delivery.partition))
            unknown |= dict.fromkeys(source.unknown)
    remarks = _drop_repeats(delivery, copies)
    parts = tuple(Part(copy.path, copy.key) for copy in copies if copy.rows)
    return Converted(parts, sum(copy.rows for copy in copies), tuple(unknown), remarks)


@dataclass(slots=True)
class _Copy:
    """A flat copy and, to find equal rows, two hashes of each of its rows."""

    path: Path
    key: str
    uri: str
    rows: int = 0
    hashes: list[pl.DataFrame] = field(default_factory=list)


def _copy(source: NestedFile, target: Path, partition: str) -> _Copy:
    copy = _Copy(target, source.start.key, source.start.uri)
    shape = _flat(source, source.empty(), source.start).schema
    with pq.ParquetWriter(target, shape, compression="zstd") as writer:
        for rows, nested in source.batches():
            batch = _flat(source, nested, rows)
            check_month("usage_month", batch.column("usage_month"), partition, rows)
            writer.write_batch(batch)
            copy.rows += batch.num_rows
            copy.hashes.append(_hashes(batch))
    return copy


def _flat(source: NestedFile, nested: pa.RecordBatch, rows: Rows) -> pa.RecordBatch:
    arrays = source.lines(nested, rows)
    if "carbon_model_version" in arrays:
        arrays["model_version"] = arrays["carbon_model_version"].cast(pa.string())
    names = [name for name in SCHEMA.names if name in arrays]
    return pa.record_batch([arrays[name] for name in names], names=names)


def _hashes(batch: pa.RecordBatch) -> pl.DataFrame:
    """Two hashes of each row over what Google delivered, absent columns as null: 128 bits, so that rows that differ stay two."""
    frame = pl.DataFrame(batch)
    given = [column.name for column in _COLUMNS.values()]
    columns = [pl.col(name).cast(pl.String) if name in frame.columns else pl.lit(None, pl.String).alias(name) for name in given]
    rows = frame.select(columns)
    return pl.DataFrame({"first": rows.hash_rows(seed=1), "second": rows.hash_rows(seed=2)})


def _drop_repeats(delivery: Delivery, copies: list[_Copy]) -> tuple[Refusal, ...]:
    """Keep the first of equal rows, across all files of the month, and name the files of the others."""
    if not copies:
        return ()
    hashes = pl.concat([frame for copy in copies for frame in copy.hashes])
    is_first = hashes.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    remarks: list[Refusal] = []
    start = 0
    for copy in copies:
        keep = is_first.slice(start, copy.rows)
        start += copy.rows
        dropped = copy.rows - int(keep.sum())
        if dropped:
            table = pl.read_parquet(copy.path, hive_partitioning=False)
            first = table.filter(~keep)["line_number"][0]
            table.filter(keep).write_parquet(copy.path, compression="zstd")
            copy.rows -= dropped
            remarks.append(_remark(delivery, copy, first, dropped))
    return tuple(remarks)


def _remark(delivery: Delivery, copy: _Copy, first: int, dropped: int) -> Refusal:
    remark = ExportContentError(
        f"{copy.uri}: {dropped} rows are equal to earlier ones in every column, first row {first}.",
        place=Place(copy.key, first, value=f"{dropped} rows"),
        reason="repeated_row",
        remedy="Run the transfer of this month once more: Google delivered rows twice; each is counted once.",
    )
    return refusal_of(delivery, remark)
