"""A BigQuery table's schema as the Arrow schema that its rows arrive in, so that a table is checked before a row is read.

The types are those of the Storage Read API: https://docs.cloud.google.com/bigquery/docs/reference/storage#arrow_schema_details,
fields are described as in https://docs.cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema. What
columns mean is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from connectors.formats.lazy import pa

Time = Literal["DATE", "TIMESTAMP", "DATETIME"]


def arrow_schema(description: Mapping[str, Any]) -> pa.Schema:
    """The Arrow schema of a table by its description in the REST API, or of a file of `bq show --schema` as `fields`.

    Types have the names of GoogleSQL, and those of legacy SQL, which the REST API still answers.
    """
    return pa.schema([_arrow_field(given) for given in description.get("fields") or ()])


def time_of(found: pa.DataType) -> Time | None:
    """The name of a type of times or days; None for any other."""
    if pa.types.is_timestamp(found):
        return "TIMESTAMP" if found.tz else "DATETIME"
    return "DATE" if pa.types.is_date(found) else None


def _arrow_field(given: Mapping[str, Any]) -> pa.Field:
    kind = str(given["type"]).upper()
    found = pa.struct(list(arrow_schema(given))) if kind in {"STRUCT", "RECORD"} else _scalar(kind)
    is_repeated = str(given.get("mode") or "").upper() == "REPEATED"
    return pa.field(str(given["name"]), pa.list_(found) if is_repeated else found)


def _scalar(name: str) -> pa.DataType:
    """NUMERIC has 9 decimals, BIGNUMERIC 38; what has no type of its own in Arrow (JSON, GEOGRAPHY, INTERVAL) comes as text."""
    return {
        **dict.fromkeys(("INT64", "INTEGER"), pa.int64()),
        **dict.fromkeys(("FLOAT64", "FLOAT"), pa.float64()),
        **dict.fromkeys(("NUMERIC", "DECIMAL"), pa.decimal128(38, 9)),
        **dict.fromkeys(("BIGNUMERIC", "BIGDECIMAL"), pa.decimal256(76, 38)),
        **dict.fromkeys(("BOOL", "BOOLEAN"), pa.bool_()),
        "BYTES": pa.binary(),
        "DATE": pa.date32(),
        "DATETIME": pa.timestamp("us"),
        "TIME": pa.time64("us"),
        "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    }.get(name, pa.string())
