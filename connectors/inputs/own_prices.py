"""The organisation's own prices as a CSV: what an hour of an accelerator costs it, in each way that a provider sells one.

A second form of user_inputs, told by its column `price_per_hour`; its rows are landed as figures of kind `price`. An hour is of
what the provider bills by the hour: an instance on AWS, a chip on Google Cloud. What is priced with it is decided in SQL.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from connectors.formats.lazy import pa
from connectors.formats.parquet import open_parquet, write_tables
from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.formats.values import Rows

COLUMN = "price_per_hour"
KEY = ("accelerator_type", "region_id", "purchase_option", "currency", "valid_from")
SCHEMA = Schema(
    columns=(
        *(required(name, Text, filled=True) for name in ("provider_name", "accelerator_type", "purchase_option", "currency")),
        required(COLUMN, Number, filled=True, below=1e8),
        required("source", Text, filled=True),  # a price without a source cannot be disclosed
        *optional("region_id", Text),  # null: in every region without a price of its own
        *optional("valid_from valid_to source_date", Date),  # valid_to is excluded; null: no limit
    ),
    remedy_page="docs/sources/user_inputs.md",
)
OPTIONS = {
    "AWS": ("on_demand", "spot", "commitment_1y", "commitment_3y", "capacity_block"),
    "Google Cloud": ("on_demand", "spot", "commitment_1y", "commitment_3y", "calendar", "flex_start"),
}
_FIGURE = {"accelerator_type": "key", COLUMN: "value", "currency": "unit", "purchase_option": "basis"}  # as a figure's columns


def check(row: dict[str, Any], index: int, rows: Rows) -> None:
    """Refuse a row that is no price, by its column."""
    options = OPTIONS.get(row["provider_name"])
    if options is None:
        raise rows.error("provider_name", index, row["provider_name"], f"where it is {' or '.join(OPTIONS)}", "wrong_value")
    if row["purchase_option"] not in options:
        words = f"where {row['provider_name']} sells {', '.join(options)}"
        raise rows.error("purchase_option", index, row["purchase_option"], words, "wrong_value")
    if not re.fullmatch("[A-Z]{3}", row["currency"], re.ASCII):
        raise rows.error("currency", index, row["currency"], "no currency code such as USD", "wrong_value")
    if not float(row[COLUMN]) > 0:
        raise rows.error(COLUMN, index, row[COLUMN], "where a price is above 0", "wrong_value")


def write_as_figures(path: Path, key: str, uri: str) -> None:
    """Give a converted table of prices the columns of figures, in place."""
    table = open_parquet(path, key, uri).read()
    kinds = pa.repeat(pa.scalar("price"), table.num_rows)
    named = table.rename_columns([_FIGURE.get(name, name) for name in table.column_names])
    write_tables([named.append_column("kind", kinds)], path)
