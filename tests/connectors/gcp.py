"""Small BigQuery exports with nested records, as EXPORT DATA writes them, and the real rows of the samples packed that way."""

from __future__ import annotations

import ast
import copy
import csv
import datetime as dt
import gzip
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_TEXT, _FLOAT, _TIME = pa.string(), pa.float64(), pa.timestamp("us", "UTC")
_NUMERIC = pa.decimal128(38, 9)  # BigQuery's NUMERIC
_PAIRS = pa.list_(pa.struct({"key": _TEXT, "value": _TEXT}))

# The detailed export of 2026, in Google's order, as far as a test names it.
BILLING = pa.schema(
    {
        "billing_account_id": _TEXT,
        "service": pa.struct({"id": _TEXT, "description": _TEXT}),
        "sku": pa.struct({"id": _TEXT, "description": _TEXT}),
        "usage_start_time": _TIME,
        "usage_end_time": _TIME,
        "project": pa.struct(
            {
                **{"id": _TEXT, "number": _TEXT, "name": _TEXT, "labels": _PAIRS, "ancestry_numbers": _TEXT},
                "ancestors": pa.list_(pa.struct({"resource_name": _TEXT, "display_name": _TEXT})),
            }
        ),
        "labels": _PAIRS,
        "system_labels": _PAIRS,
        "location": pa.struct({"location": _TEXT, "country": _TEXT, "region": _TEXT, "zone": _TEXT}),
        "resource": pa.struct({"name": _TEXT, "global_name": _TEXT}),
        "tags": pa.list_(pa.struct({"key": _TEXT, "value": _TEXT, "inherited": pa.bool_(), "namespace": _TEXT})),
        "price": pa.struct(
            {
                **{"effective_price": _NUMERIC, "tier_start_amount": _NUMERIC, "unit": _TEXT, "pricing_unit_quantity": _NUMERIC},
                **{"list_price": _NUMERIC, "effective_price_default": _NUMERIC, "list_price_consumption_model": _NUMERIC},
            }
        ),
        "export_time": _TIME,
        "cost": _FLOAT,
        "currency": _TEXT,
        "currency_conversion_rate": _FLOAT,
        "usage": pa.struct({"amount": _FLOAT, "unit": _TEXT, "amount_in_pricing_units": _FLOAT, "pricing_unit": _TEXT}),
        "credits": pa.list_(pa.struct({"name": _TEXT, "amount": _FLOAT, "full_name": _TEXT, "id": _TEXT, "type": _TEXT})),
        "invoice": pa.struct({"month": _TEXT, "publisher_type": _TEXT}),
        "cost_type": _TEXT,
        "adjustment_info": pa.struct({"id": _TEXT, "description": _TEXT, "mode": _TEXT, "type": _TEXT}),
        "cost_at_list": _FLOAT,
        "transaction_type": _TEXT,
        "seller_name": _TEXT,
        "subscription": pa.struct({"instance_id": _TEXT}),
        "cost_at_effective_price_default": _NUMERIC,
        "cost_at_list_consumption_model": _NUMERIC,
        "consumption_model": pa.struct({"id": _TEXT, "description": _TEXT}),
    }
)

# The standard export of 2019 as Google still ships its schema: no resource, tags or project number, and credits without a type.
_IN_2019 = {
    "project": pa.struct({"id": _TEXT, "name": _TEXT, "labels": _PAIRS, "ancestry_numbers": _TEXT}),
    "credits": pa.list_(pa.struct({"name": _TEXT, "amount": _FLOAT})),
    "invoice": pa.struct({"month": _TEXT}),
}
_AFTER_2019 = {
    *("resource", "tags", "price", "adjustment_info", "cost_at_list", "transaction_type", "seller_name", "subscription"),
    *("cost_at_effective_price_default", "cost_at_list_consumption_model", "consumption_model"),
}
BILLING_2019 = pa.schema(
    [pa.field(field.name, _IN_2019.get(field.name, field.type)) for field in BILLING if field.name not in _AFTER_2019]
)

CARBON = pa.schema(
    {
        "usage_month": pa.date32(),
        "billing_account_id": _TEXT,
        "project": pa.struct({"number": _TEXT, "id": _TEXT}),
        "service": pa.struct({"id": _TEXT, "description": _TEXT}),
        "location": pa.struct({"location": _TEXT, "region": _TEXT}),
        "carbon_footprint_kgCO2e": pa.struct(
            {
                "scope1": _FLOAT,
                "scope2": pa.struct({"location_based": _FLOAT, "market_based": _FLOAT}),
                "scope3": _FLOAT,
            }
        ),
        "carbon_footprint_total_kgCO2e": pa.struct({"after_offsets": _FLOAT, "market_based": _FLOAT, "location_based": _FLOAT}),
        "carbon_offsets_kgCO2e": _FLOAT,
        "carbon_model_version": pa.int64(),
    }
)

DAY = "2026-04-01"
START = dt.datetime(2026, 4, 1, 6, tzinfo=dt.UTC)

# One hour of eight v5e chips on demand with a promotion, in the physical types of the export.
LINE: dict[str, Any] = {
    "billing_account_id": "0123AB-4567CD-89EF01",
    "service": {"id": "6F81-5844-456A", "description": "Compute Engine"},
    "sku": {"id": "04C3-5B71-D137", "description": "TpuV5e running in Americas"},
    "usage_start_time": START,
    "usage_end_time": START + dt.timedelta(hours=1),
    "project": {
        **{"id": "research", "number": "000123456789", "name": "Research", "ancestry_numbers": "/1/2/"},
        "labels": [{"key": "cost-centre", "value": "4711"}],
        "ancestors": [
            {"resource_name": "projects/000123456789", "display_name": "Research"},
            {"resource_name": "folders/2", "display_name": "Models"},
            {"resource_name": "organizations/1", "display_name": "example.org"},
        ],
    },
    "labels": [{"key": "training_run_id", "value": "run-a"}],
    "system_labels": [{"key": "compute.googleapis.com/machine_spec", "value": "ct5lp-hightpu-8t"}],
    "location": {"location": "us-west4", "country": "US", "region": "us-west4", "zone": "us-west4-a"},
    "resource": {"name": "node-1", "global_name": "//tpu.googleapis.com/projects/research/locations/us-west4-a/nodes/node-1"},
    "tags": [{"key": "env", "value": "prod", "inherited": True, "namespace": "example.org"}],
    "price": {
        **{"effective_price": Decimal("1.200000001"), "tier_start_amount": Decimal("0"), "unit": "hour"},
        **{"pricing_unit_quantity": Decimal("1"), "list_price": Decimal("1.35")},
        **{"effective_price_default": Decimal("1.25"), "list_price_consumption_model": Decimal("1.3")},
    },
    "export_time": START + dt.timedelta(hours=5),
    "cost": 9.6,
    "currency": "USD",
    "currency_conversion_rate": 1.0,
    "usage": {"amount": 28800.0, "unit": "seconds", "amount_in_pricing_units": 8.0, "pricing_unit": "hour"},
    "credits": [{"name": "Promotion", "amount": -1.5, "full_name": "Promotion", "id": "P-1", "type": "PROMOTION"}],
    "invoice": {"month": "202604", "publisher_type": "GOOGLE"},
    "cost_type": "regular",
    "cost_at_list": 9.6,
    "transaction_type": "GOOGLE",
}

EMISSION: dict[str, Any] = {
    "usage_month": dt.date(2026, 4, 1),
    "billing_account_id": "0123AB-4567CD-89EF01",
    "project": {"number": "000123456789", "id": "research"},
    "service": {"id": "6F81-5844-456A", "description": "Compute Engine"},
    "location": {"location": "us-west4-a", "region": "us-west4"},
    "carbon_footprint_kgCO2e": {"scope1": 0.125, "scope2": {"location_based": 40.5, "market_based": 0.0}, "scope3": 7.25},
    "carbon_footprint_total_kgCO2e": {"after_offsets": None, "market_based": 7.375, "location_based": 47.875},
    "carbon_model_version": 14,
}


def line(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(LINE), **changes}


def write_partition(
    location: Path, day: str, *rows: Mapping[str, Any], schema: pa.Schema = BILLING, name: str = "part-000000000000"
) -> Path:
    """Write rows as one file of a partition's folder."""
    path = location / f"_PARTITIONTIME={day}" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), path, compression="snappy")
    return path


def as_exported(value: Any) -> Any:
    """A value as EXPORT DATA writes it into JSON: whole numbers and NUMERIC as text, nulls left out."""
    if isinstance(value, Mapping):
        return {name: as_exported(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [as_exported(one) for one in value]
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}{f'.{value.microsecond:06d}'.rstrip('0').rstrip('.')} UTC"
    if isinstance(value, dt.date | Decimal) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    return value


def write_lines(location: Path, day: str, *rows: Mapping[str, Any], name: str = "part-000000000000.json") -> Path:
    """Write rows as one file of JSON lines in a partition's folder."""
    text = "".join(json.dumps(as_exported(row)) + "\n" for row in rows).encode()
    path = location / f"_PARTITIONTIME={day}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)
    return path


def koku_rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The real rows of koku's sample, each with the day of its partition; dotted headers become records again."""
    with file.open(newline="") as source:
        for row in csv.DictReader(source):
            day = row.pop("partition_date")[:10]
            nested: dict[str, Any] = {}
            for header, text in row.items():
                record, _, field = header.rpartition(".")
                target = nested.setdefault(record, {}) if record else nested
                target[field] = _koku_value(header, text)
            yield day, nested


def cud_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of Google's commitment fixture: JSON objects one behind the other, with numbers as text."""
    text, decoder, position, rows = file.read_text(), json.JSONDecoder(), 0, []
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        row, position = decoder.raw_decode(text, position)
        for name in ("usage_start_time", "usage_end_time", "export_time"):
            row[name] = dt.datetime.fromisoformat(row[name].replace(" UTC", "+00:00"))
        row["cost"], row["currency_conversion_rate"] = float(row["cost"]), float(row["currency_conversion_rate"])
        for name in ("amount", "amount_in_pricing_units"):
            row["usage"][name] = float(row["usage"][name])
        for credit in row.get("credits") or ():
            credit["amount"] = float(credit["amount"])
        rows.append(row)
    return rows


def _koku_value(header: str, text: str) -> Any:
    if header in {"labels", "system_labels", "project.labels", "credits"}:
        return ast.literal_eval(text)  # written by Python: single quotes and None
    if text == "":
        return None
    if header.endswith("_time"):
        return dt.datetime.fromisoformat(text)
    if header in {"cost", "currency_conversion_rate", "usage.amount", "usage.amount_in_pricing_units"}:
        return float(text)
    return text
