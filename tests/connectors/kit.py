"""Small exports in the layouts of AWS, written to a folder: what the connector tests read."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from connectors.deliveries import Converted, Delivery, Refusal
from connectors.registry import connector_for
from connectors.stores import ObjectStore
from connectors.stores.opening import open_store

MONTH = dt.datetime(2026, 4, 1)

# One usage hour of a Trainium instance, in the physical types of a real CUR 2.0 Parquet file.
LINE: dict[str, Any] = {
    "identity_line_item_id": "line-1",
    "identity_time_interval": "2026-04-01T00:00:00Z/2026-04-01T01:00:00Z",
    "bill_payer_account_id": "000000000017",
    "bill_billing_period_start_date": MONTH,
    "line_item_usage_account_id": "012345678901",
    "line_item_line_item_type": "Usage",
    "line_item_usage_start_date": MONTH,
    "line_item_usage_end_date": MONTH + dt.timedelta(hours=1),
    "line_item_product_code": "AmazonEC2",
    "line_item_usage_type": "BoxUsage:trn1.32xlarge",
    "line_item_resource_id": "i-0123456789abcdef0",
    "line_item_usage_amount": 1.0,
    "line_item_currency_code": "USD",
    "line_item_unblended_cost": 21.5,
    "pricing_public_on_demand_cost": 21.5,
    "product": {"region": "us-east-1"},
    "resource_tags": {"user_training_run_id": "run-a"},
}

CARBON: dict[str, Any] = {
    "payer_account_id": "000000000017",
    "usage_account_id": "012345678901",
    "usage_period_start": MONTH,
    "usage_period_end": dt.datetime(2026, 5, 1),
    "model_version": "v3.0.0",
    "product_code": "AmazonEC2",
    "region_code": "us-east-1",
    "total_lbm_emissions_value": 1.284,
    "total_lbm_emissions_unit": "MTCO2e",
}


def table(*rows: Mapping[str, Any], types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """Rows as a table: dictionaries become maps, everything else the type Arrow sees unless `types` has another."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        is_map = any(isinstance(value, dict) for value in values)
        type_ = pa.map_(pa.string(), pa.string()) if is_map else (types or {}).get(name)
        columns[name] = pa.array([list(v.items()) if isinstance(v, dict) else v for v in values], type_)
    return pa.table(columns)


def write_parquet(path: Path, data: pa.Table, **options: Any) -> Path:
    """Write a provider's Parquet: snappy, with the old 96-bit times that AWS still writes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(data, path, **{"compression": "snappy", "use_deprecated_int96_timestamps": True, **options})
    return path


def write_bytes(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def write_csv(path: Path, text: str) -> Path:
    """Write CSV text, compressed as the file's name ends."""
    content = text.encode()
    return write_bytes(path, gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content)


def write_manifest(path: Path, files: Iterable[Any], **more: Any) -> Path:
    return write_bytes(path, json.dumps({"executionId": "execution-1", "dataFiles": list(files), **more}).encode())


def store_of(folder: Path) -> ObjectStore:
    return open_store(folder.name, base=folder.parent)


def found(kind: str, folder: Path) -> list[Delivery | Refusal]:
    return list(connector_for(kind).find_deliveries(store_of(folder)))


def only_delivery(kind: str, folder: Path) -> Delivery:
    (one,) = found(kind, folder)
    assert isinstance(one, Delivery), one
    return one


def only_refusal(kind: str, folder: Path) -> Refusal:
    (one,) = found(kind, folder)
    assert isinstance(one, Refusal), one
    return one


def converted(kind: str, folder: Path, landing: Path) -> Converted:
    """Find the one delivery of a location, fetch its objects and convert them."""
    store = store_of(folder)
    delivery = only_delivery(kind, folder)
    landing.mkdir(exist_ok=True)
    files = {info.key: landing / info.key.replace("/", "~") for info in delivery.objects}
    for info in delivery.objects:
        store.fetch(info, files[info.key])
    return connector_for(kind).convert(delivery, files, landing, store.uri)


def rows_of(result: Converted) -> list[dict[str, Any]]:
    """All rows of all parts in order; maps as dictionaries."""
    rows: list[dict[str, Any]] = []
    for part in result.parts:
        read = pq.ParquetFile(part.path, coerce_int96_timestamp_unit="us").read()
        maps = [field.name for field in read.schema if pa.types.is_map(field.type)]
        rows += [{**row, **{name: dict(row[name] or ()) for name in maps}} for row in read.to_pylist()]
    return rows
