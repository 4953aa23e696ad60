"""Tables of these tests as BigQuery's REST API describes them, made from the Arrow schema of their Parquet export."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_NAMES = {
    "string": "STRING",
    "double": "FLOAT",
    "int64": "INTEGER",
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
    "timestamp[us, tz=UTC]": "TIMESTAMP",
    "decimal128(38, 9)": "NUMERIC",
}


def fields_like(schema: pa.Schema) -> list[dict[str, Any]]:
    """The columns of a table."""
    return [_field(field) for field in schema]


def described(schema: pa.Schema, **more: Any) -> dict[str, Any]:
    """What `tables.get` answers, as far as it is read."""
    return {"schema": {"fields": fields_like(schema)}, **more}


def _field(field: pa.Field) -> dict[str, Any]:
    found, mode = field.type, "NULLABLE"
    if pa.types.is_list(found):
        found, mode = found.value_type, "REPEATED"
    if pa.types.is_struct(found):
        return {"name": field.name, "type": "RECORD", "mode": mode, "fields": [_field(one) for one in found]}
    return {"name": field.name, "type": _NAMES[str(found)], "mode": mode}
