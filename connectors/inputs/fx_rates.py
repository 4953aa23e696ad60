"""Exchange rates as a CSV that the user keeps: one unit of the base currency is `rate` units of the quote currency on that day.

Rates are taken as written; which rate converts what, and that currencies without one stay apart, is decided in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.inputs.small_tables import Row, Table, convert_table, wrong_currencies
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


def _mistakes(row: Row) -> Iterator[tuple[str, str]]:
    yield from wrong_currencies(row, "base_currency", "quote_currency")
    if not float(row["rate"]) > 0:
        yield "rate", "where a rate must be above 0"


FORMS = (Table("rates", SCHEMA, ("rate_date", "base_currency", "quote_currency"), _mistakes),)
find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(".csv", ".csv.gz"))
convert = partial(convert_table, forms=FORMS)
