"""A BigQuery table's schema as the Arrow schema that its rows arrive in, so that a table is checked before a row is read.

The types are those of the Storage Read API: https://docs.cloud.google.com/bigquery/docs/reference/storage#arrow_schema_details,
fields are described as in https://docs.cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema. What
columns mean is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.formats.lazy import pa
from connectors.formats.nested import Shape, check_shape

# the names of legacy SQL, which the REST API still answers, and those of GoogleSQL
_GOOGLESQL = {
    "INTEGER": "INT64",
    "FLOAT": "FLOAT64",
    "BOOLEAN": "BOOL",
    "RECORD": "STRUCT",
    "DECIMAL": "NUMERIC",
    "BIGDECIMAL": "BIGNUMERIC",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field of a record. `type` is GoogleSQL's name."""

    name: str
    type: str
    is_repeated: bool = False
    fields: tuple[Field, ...] = ()


def fields_of(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """The columns of a table by its description in the REST API, or those of a file that `bq show --schema` wrote as `fields`."""
    return tuple(
        Field(
            str(given["name"]),
            _GOOGLESQL.get(kind := str(given["type"]).upper(), kind),
            str(given.get("mode") or "").upper() == "REPEATED",
            fields_of(given),
        )
        for given in schema.get("fields") or ()
    )


def arrow_schema(fields: Sequence[Field]) -> pa.Schema:
    """The Arrow schema of a table with these columns."""
    return pa.schema([_arrow_field(field) for field in fields])


def unknown_columns(fields: Sequence[Field], shape: Shape, uri: str) -> tuple[str, ...]:
    """Check a table against what a kind declares, as its rows will be; return the paths that are not declared."""
    return check_shape(arrow_schema(fields), shape, uri, uri)


def _arrow_field(field: Field) -> pa.Field:
    found = pa.struct([_arrow_field(one) for one in field.fields]) if field.type == "STRUCT" else _scalar(field.type)
    return pa.field(field.name, pa.list_(found) if field.is_repeated else found)


def _scalar(name: str) -> pa.DataType:
    """NUMERIC has 9 decimals, BIGNUMERIC 38; what has no type of its own in Arrow (JSON, GEOGRAPHY, INTERVAL) comes as text."""
    return {
        "INT64": pa.int64(),
        "FLOAT64": pa.float64(),
        "NUMERIC": pa.decimal128(38, 9),
        "BIGNUMERIC": pa.decimal256(76, 38),
        "BOOL": pa.bool_(),
        "BYTES": pa.binary(),
        "DATE": pa.date32(),
        "DATETIME": pa.timestamp("us"),
        "TIME": pa.time64("us"),
        "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    }.get(name, pa.string())
