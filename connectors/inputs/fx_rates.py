"""Exchange rates as a CSV that the user keeps: one unit of the base currency is `rate` units of the quote currency on that day.

Rates are taken as written; which rate converts what, and that currencies without one stay apart, is decided in SQL.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.formats.values import Rows
from connectors.inputs.small_tables import convert_table
from connectors.layouts.single_files import find_file_deliveries

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
    measures={"rate": 12},
)

_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


def _check(row: dict[str, Any], index: int, rows: Rows) -> None:
    for name in ("base_currency", "quote_currency"):
        if not _CURRENCY.fullmatch(row[name]):
            raise rows.error(name, index, row[name], "no currency code such as USD", "wrong_value")
    if not float(row["rate"]) > 0:
        raise rows.error("rate", index, row["rate"], "where a rate must be above 0", "wrong_value")


find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(".csv", ".csv.gz"))
convert = partial(convert_table, schema=SCHEMA, check=_check, key=("rate_date", "base_currency", "quote_currency"))
