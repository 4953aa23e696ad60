"""Flat copies of Google's nested rows. A row without a billing account is of the only one that its delivery names, as on AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from connectors.deliveries import Converted, Delivery, Part, Refusal, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.json_records import open_rows
from connectors.formats.lazy import pa
from connectors.formats.nested import NestedFile, Shape
from connectors.formats.parquet import named_errors, write_tables
from connectors.layouts.payers import with_only_payer
from connectors.layouts.shards import orphan_shards
from connectors.stores import ObjectInfo


def convert_objects(
    delivery: Delivery,
    files: dict[str, Path],
    folder: Path,
    store_uri: str,
    shape: Shape,
    name: str,
    tables: Callable[[NestedFile], Iterable[pa.Table]],
) -> list[Converted]:
    """Write <name>-<n>.parquet with the `tables` of the n-th object of a delivery, for each object that has rows.

    What is remarked about the delivery's files comes last.
    """
    path = next(path for path, column in shape.columns.items() if column.name == "billing_account_id")

    def opened(info: ObjectInfo) -> NestedFile | None:
        return open_rows(files[info.key], shape, info.key, f"{store_uri}/{info.key}", folder=folder)

    def convert(info: ObjectInfo, account: str | None) -> Converted:
        source = opened(info)
        if source is None:
            return Converted()
        source.constants = {path: account} if account else {}
        target = folder / f"{name}-{delivery.objects.index(info) + 1}.parquet"
        with named_errors(info.key, source.start.uri):
            rows = write_tables(tables(source), target, write_statistics=False)
        remarks = tuple(_remark(delivery, source, *repeat) for repeat in source.repeats.items())
        return Converted((Part(target, info.key),), rows, source.unknown, remarks)

    def accounts(info: ObjectInfo) -> Iterable[pa.Array]:
        source = opened(info)
        return (batch.column(path) for _, batch in source.batches()) if source else ()

    orphans = Converted(refusals=orphan_shards(delivery, store_uri))
    return [*with_only_payer(delivery.objects, convert, accounts, path), orphans]


def _remark(delivery: Delivery, source: NestedFile, path: str, repeat: tuple[int, int]) -> Refusal:
    """Name rows that have a key twice. They are kept: of two labels team=a and team=b, a is taken."""
    first, count = repeat
    remark = ExportContentError(
        f"{source.start.uri}: {path} has a key more than once in a row, {count} times, first in row {first}.",
        place=Place(source.start.key, first, path, f"{count} pairs"),
        reason="repeated_key",
        remedy="Give each key once; the rows are kept with the first value of the key.",
    )
    return refusal_of(delivery, remark)
