"""The organisation's own prices as a CSV: what an hour of an accelerator costs it, in each way that a provider sells one.

A second form of user_inputs, told by its column `price_per_hour`; its rows are landed as figures of kind `price`. An hour is of
what the provider bills by the hour: an instance on AWS, a chip on Google Cloud. What is priced with it is decided in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator

from connectors.formats.lazy import pa
from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.inputs.small_tables import Row, Table, wrong_currencies

_COLUMN = "price_per_hour"
_KEY = ("accelerator_type", "region_id", "purchase_option", "currency", "valid_from")
_SCHEMA = Schema(
    columns=(
        *(required(name, Text, filled=True) for name in ("provider_name", "accelerator_type", "purchase_option", "currency")),
        required(_COLUMN, Number, filled=True, below=1e8),
        required("source", Text, filled=True),  # a price without a source cannot be disclosed
        *optional("region_id", Text),  # null: in every region without a price of its own
        *optional("valid_from valid_to source_date", Date),  # valid_to is excluded; null: no limit
    ),
    remedy_page="docs/sources/user_inputs.md",
)
_OPTIONS = {
    "AWS": ("on_demand", "spot", "commitment_1y", "commitment_3y", "capacity_block"),
    "Google Cloud": ("on_demand", "spot", "commitment_1y", "commitment_3y", "calendar", "flex_start"),
}
_FIGURE = {"accelerator_type": "key", _COLUMN: "value", "currency": "unit", "purchase_option": "basis"}  # as a figure's columns


def _mistakes(row: Row) -> Iterator[tuple[str, str]]:
    provider = row["provider_name"]
    if provider not in _OPTIONS:
        yield "provider_name", f"where it is {' or '.join(_OPTIONS)}"
    elif row["purchase_option"] not in _OPTIONS[provider]:
        yield "purchase_option", f"where {provider} sells {', '.join(_OPTIONS[provider])}"
    yield from wrong_currencies(row, "currency")
    if not float(row[_COLUMN]) > 0:
        yield _COLUMN, "where a price is above 0"


def _as_figures(prices: pa.Table) -> pa.Table:
    named = prices.rename_columns([_FIGURE.get(name, name) for name in prices.column_names])
    return named.append_column("kind", pa.repeat(pa.scalar("price"), prices.num_rows))


PRICES = Table("prices", _SCHEMA, _KEY, _mistakes, mark=_COLUMN, landed=_as_figures)
