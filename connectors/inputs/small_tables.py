"""Tables that people write as CSV: read whole, typed, and refused whole with the row that is wrong.

Only for small files. What the rows of a table mean stays with the kinds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectors.deliveries import Converted, Delivery, Part
from connectors.errors import ExportContentError, Place
from connectors.formats.delimited import CsvFile
from connectors.formats.lazy import pa
from connectors.formats.parquet import open_parquet, write_tables
from connectors.formats.schema import Schema
from connectors.formats.typed_copies import Plan, copy_csv
from connectors.formats.values import Rows
from connectors.stores import READ_LIMIT

Row = dict[str, Any]
CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Table:
    """A form of table. `mistakes` are those of a row: the column, and what its value should be instead."""

    name: str
    schema: Schema
    key: Sequence[str]  # no two rows have the same
    mistakes: Callable[[Row], Iterator[tuple[str, str]]]
    mark: str | None = None  # the column that only this form of its kind has; None: what no other form is
    landed: Callable[[pa.Table], pa.Table] | None = None  # with the columns of another form
    ending: str | None = None  # of the names of its files, and of no others: what a file is must be known before it is read


def convert_table(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str, forms: Sequence[Table]) -> Converted:
    """Read the one CSV of a delivery as the first of the forms that it has the mark of, and write table.parquet."""
    (info,) = delivery.objects
    uri = f"{store_uri}/{info.key}"
    if info.size > READ_LIMIT:
        raise ExportContentError(f"{uri} is larger than {READ_LIMIT} bytes.", place=Place(info.key), reason="too_large")
    csv = CsvFile(files[info.key], info.key, uri)
    header = csv.header()
    table = next((form for form in forms if form.ending and info.key.endswith(form.ending)), None) or next(
        form for form in forms if form.mark is None or form.mark in header
    )
    if table.ending and not info.key.endswith(table.ending):
        raise ExportContentError(
            f"{uri} has the columns of {table.name}, and its name does not end in {table.ending}.",
            place=Place(info.key),
            reason="bad_file_name",
            remedy=f"Write the file again under a name that ends in {table.ending}. See {table.schema.remedy_page}.",
        )
    unknown = table.schema.check_names(header, uri, info.key)
    target = folder / "table.parquet"
    count = copy_csv(csv, header, table.schema, Plan({name: (name,) for name in table.schema.names if name in header}), target)
    if not count:
        return Converted(unknown_columns=unknown)
    found = open_parquet(target, info.key, uri).read()
    _check(found.to_pylist(), table, Rows(info.key, uri))
    if table.landed:
        write_tables([table.landed(found)], target)
    return Converted((Part(target, info.key),), count, unknown)


def wrong_currencies(row: Row, *names: str) -> Iterator[tuple[str, str]]:
    """The columns among these whose value is no currency."""
    return ((name, "no currency code such as USD") for name in names if not CURRENCY.fullmatch(row[name]))


def _check(found: list[Row], table: Table, rows: Rows) -> None:
    """Refuse the first row that is wrong by its first mistake, or that is there already."""
    key = [name for name in table.key if name in found[0]]
    seen: dict[tuple[Any, ...], int] = {}
    for index, row in enumerate(found):
        start, end = row.get("valid_from"), row.get("valid_to")
        if start and end and end <= start:
            raise rows.error("valid_to", index, end, "not after valid_from", "ends_before_start")
        for column, what in table.mistakes(row):
            raise rows.error(column, index, row.get(column), what, "wrong_value")
        values = tuple(row[name] for name in key)
        first = seen.setdefault(values, index)
        if first != index:
            raise rows.error(", ".join(key), index, ", ".join(map(str, values)), f"as in row {first + 1} already", "repeated_row")
