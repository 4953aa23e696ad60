"""Tables of these tests as BigQuery's REST API describes them, made from the Arrow schema of their Parquet export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
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
    "decimal256(76, 38)": "BIGNUMERIC",
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


def cells_of(fields: Iterable[pa.Field], row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row as `tabledata.list` answers it."""
    return [{"v": _cell(field.type, row.get(field.name))} for field in fields]


def _cell(found: pa.DataType, value: Any) -> Any:
    if pa.types.is_list(found):
        return [{"v": _cell(found.value_type, one)} for one in value or ()]
    if pa.types.is_struct(found) and value is not None:
        return {"f": cells_of(found, value)}
    if isinstance(value, datetime):
        return str(int(value.replace(tzinfo=value.tzinfo or UTC).timestamp() * 1e6))
    return value.isoformat() if isinstance(value, date) else None if value is None else str(value)
