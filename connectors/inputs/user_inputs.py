"""The organisation's own figures as a CSV: what it knows better than our seeds, each with its unit, its source and its dates.

A row replaces nothing here. Which kinds of input there are, and what each of them overrides, is decided in SQL.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.formats.values import Rows
from connectors.inputs.small_tables import convert_table
from connectors.layouts.single_files import find_file_deliveries

KIND = "user_inputs"

SCHEMA = Schema(
    columns=(
        required("kind", Text, filled=True),
        required("key", Text, filled=True),
        required("value", Number, filled=True, below=1e24),
        required("unit", Text, filled=True),
        required("source", Text, filled=True),  # a figure without a source cannot be disclosed
        *optional("valid_from valid_to", Date),  # valid_to is excluded; null: no limit
    ),
    remedy_page="docs/sources/user_inputs.md",
    measures={"value": 9},
)


def _check(row: dict[str, Any], index: int, rows: Rows) -> None:
    start, end = row.get("valid_from"), row.get("valid_to")
    if start and end and end <= start:
        raise rows.error("valid_to", index, end.isoformat(), "not after valid_from", "ends_before_start")


find_deliveries = partial(find_file_deliveries, kind=KIND, endings=(".csv", ".csv.gz"))
convert = partial(convert_table, schema=SCHEMA, check=_check, key=("kind", "key", "valid_from"))
