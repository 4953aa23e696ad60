"""The billing account of Google's rows: a row without one is of the only one that its delivery names, as on AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from connectors.deliveries import Converted, Delivery
from connectors.formats.json_records import open_rows
from connectors.formats.nested import NestedFile, Shape
from connectors.layouts.payers import with_only_payer

Make = Callable[[int, str, NestedFile], Converted]


def convert_objects(
    delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, shape: Shape, make: Make
) -> list[Converted]:
    """What `make` gives for each object that has rows, by its number in the delivery and its key."""
    path = next(path for path, column in shape.columns.items() if column.name == "billing_account_id")

    def opened() -> Iterator[tuple[int, str, NestedFile]]:
        for number, info in enumerate(delivery.objects, start=1):
            source = open_rows(files[info.key], shape, info.key, f"{store_uri}/{info.key}", folder=folder)
            if source is not None:
                yield number, info.key, source

    def converted(account: str | None) -> list[Converted]:
        def one(number: int, key: str, source: NestedFile) -> Converted:
            source.constants = {path: account} if account else {}
            return make(number, key, source)

        return [one(*each) for each in opened()]

    def accounts() -> set[str]:
        columns = (batch.column(path) for _, _, source in opened() for _, batch in source.batches())
        return {account for values in columns for account in values.unique().to_pylist() if account}

    return with_only_payer(converted, accounts, path)
