"""Exchange rates as a CSV that the user keeps: one unit of the base currency is `rate` units of the quote currency on that day.

Rates are taken as written; which rate converts what, and that currencies without one stay apart, is decided in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from connectors.deliveries import Converted, Delivery
from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.formats.values import Rows
from connectors.inputs.small_tables import convert_table
from connectors.layouts.single_files import find_file_deliveries
from connectors.stores import ObjectStore

KIND = "fx_rates"

SCHEMA = Schema(
    columns=(
        required("rate_date", Date, filled=True),
        required("base_currency", Text, filled=True),
        required("quote_currency", Text, filled=True),
        required("rate", Number, filled=True, below=1e12),
        *optional("source", Text),
    ),
    remedy_page="docs/sources/fx_rates.md",
)

_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


def find_deliveries(store: ObjectStore) -> Iterator[Delivery]:
    """Yield a delivery for each CSV; a location may be one single file."""
    return find_file_deliveries(store, KIND, (".csv", ".csv.gz"))


def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
    """Check the rates and write table.parquet into `folder`."""
    key = ("rate_date", "base_currency", "quote_currency")
    return convert_table(delivery, files, folder, store_uri, SCHEMA, _check, key)


def _check(row: dict[str, Any], index: int, rows: Rows) -> None:
    for name in ("base_currency", "quote_currency"):
        if not _CURRENCY.fullmatch(row[name]):
            raise rows.error(name, index, row[name], "no currency code such as USD", "wrong_value")
    if not float(row["rate"]) > 0:
        raise rows.error("rate", index, row["rate"], "where a rate must be above 0", "wrong_value")
