"""Flat copies of Google's nested rows. A row without a billing account is of the only one that its delivery names, as on AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from connectors.deliveries import Converted, Delivery, Part, Refusal, refusal_of
from connectors.errors import ExportContentError, Place
from connectors.formats.json_records import open_rows
from connectors.formats.lazy import pa
from connectors.formats.nested import NestedFile, Shape
from connectors.formats.parquet import named_errors, write_tables
from connectors.layouts.payers import with_only_payer
from connectors.layouts.shards import orphan_shards


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

    def opened() -> Iterator[tuple[int, NestedFile]]:
        for number, info in enumerate(delivery.objects, start=1):
            source = open_rows(files[info.key], shape, info.key, f"{store_uri}/{info.key}", folder=folder)
            if source is not None:
                yield number, source

    def converted(account: str | None) -> list[Converted]:
        done = []
        for number, source in opened():
            source.constants = {path: account} if account else {}
            key, target = source.start.key, folder / f"{name}-{number}.parquet"
            with named_errors(key, source.start.uri):
                rows = write_tables(tables(source), target)
            remarks = tuple(_remark(delivery, source, *repeat) for repeat in source.repeats.items())
            done.append(Converted((Part(target, key),), rows, source.unknown, remarks))
        return done

    def accounts() -> set[str]:
        columns = (batch.column(path) for _, source in opened() for _, batch in source.batches())
        return {account for values in columns for account in values.unique().to_pylist() if account}

    orphans = Converted(refusals=orphan_shards(delivery, store_uri))
    return [*with_only_payer(converted, accounts, path), orphans]


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
