"""Tiny exports of Google Cloud and of telemetry, written by hand for a test, beside those of builders.py."""

import json
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.connectors.prices import PRICING

from .builders import Exports

BILLING_ACCOUNT = "0A0A0A-1B1B1B-2C2C2C"
PROJECT = "401000000001"
COMPUTE = {"id": "6F81-5844-456A", "description": "Compute Engine"}
TPU = "tpu-a"
GLOBAL_NAME = f"//tpu.googleapis.com/projects/{PROJECT}/locations/us-east5-b/nodes/{TPU}"

_PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
_USAGE = pa.struct(
    [("amount", pa.float64()), ("unit", pa.string()), ("amount_in_pricing_units", pa.float64()), ("pricing_unit", pa.string())]
)
_TEXTS = {
    "service": ("id", "description"),
    "sku": ("id", "description"),
    "location": ("location", "region", "zone"),
    "resource": ("name", "global_name"),
    "subscription": ("instance_id",),
    "adjustment_info": ("type",),
    "invoice": ("month",),
    "consumption_model": ("id", "description"),
}
_ANCESTORS = pa.list_(pa.struct([("resource_name", pa.string()), ("display_name", pa.string())]))
_PROJECT = pa.struct(
    {
        **{"id": pa.string(), "number": pa.string(), "labels": _PAIRS},
        **{"ancestry_numbers": pa.string(), "ancestors": _ANCESTORS},
    }
)
_BILL = pa.schema(
    [(name, pa.struct([(field, pa.string()) for field in fields])) for name, fields in _TEXTS.items()]
    + [(name, pa.string()) for name in ("billing_account_id", "currency", "cost_type")]
    + [(name, pa.timestamp("us", tz="UTC")) for name in ("usage_start_time", "usage_end_time")]
    + [(name, _PAIRS) for name in ("labels", "system_labels")]
    + [("usage", _USAGE), ("project", _PROJECT), ("currency_conversion_rate", pa.float64())]
    + [("price", pa.struct([("effective_price", pa.decimal128(38, 9)), ("unit", pa.string())]))]
    + [("credits", pa.list_(pa.struct([("type", pa.string()), ("amount", pa.float64())])))]
    + [("cost", pa.float64()), ("cost_at_list", pa.float64()), ("cost_at_effective_price_default", pa.decimal128(38, 9))]
)
_MASS = pa.float64()
_BY_METHOD = pa.struct([("location_based", _MASS), ("market_based", _MASS)])
_CARBON = pa.schema(
    [
        ("usage_month", pa.date32()),
        ("billing_account_id", pa.string()),
        ("project", pa.struct([("number", pa.string()), ("id", pa.string())])),
        ("service", pa.struct([("id", pa.string())])),
        ("location", pa.struct([("location", pa.string()), ("region", pa.string())])),
        ("carbon_footprint_kgCO2e", pa.struct([("scope1", _MASS), ("scope2", _BY_METHOD), ("scope3", _MASS)])),
        ("carbon_footprint_total_kgCO2e", _BY_METHOD),
        ("carbon_model_version", pa.int64()),
    ]
)


def tpu_hour(start: str, cost: float, wording: str = "TpuV6e running in Columbus", **columns: object) -> dict:
    """A bill row of one hour of four chips that costs `cost`, by list as well, unless columns say otherwise."""
    at = datetime.fromisoformat(f"{start}+00:00")
    row = {
        "billing_account_id": BILLING_ACCOUNT,
        "service": COMPUTE,
        "sku": {"id": wording[:9], "description": wording},
        "usage_start_time": at,
        "usage_end_time": at + timedelta(hours=1),
        "project": {"number": PROJECT},
        "location": {"location": "us-east5-b", "region": "us-east5", "zone": "us-east5-b"},
        "resource": {"name": TPU, "global_name": GLOBAL_NAME},
        "cost": cost,
        "cost_at_list": cost,
        "currency": "USD",
        "cost_type": "regular",
        "usage": {"amount": 14_400.0, "unit": "seconds", "amount_in_pricing_units": 4.0},
    }
    return row | columns


def credits_of(**amounts: float) -> list[dict]:
    return [{"type": kind, "amount": amount} for kind, amount in amounts.items()]


def labels_of(**values: str) -> list[dict]:
    return [{"key": key, "value": value} for key, value in values.items()]


def tpu_run(run_id: str, *nodes: tuple[str, str, str | None, int | None], kind: str = "v6e") -> dict:
    held = [
        {"resource_id": resource, "accelerator_type": kind, "chips": chips, "started_at": start, "ended_at": end}
        for resource, start, end, chips in nodes
    ]
    return {"training_run_id": run_id, "provider_name": "Google Cloud", "attempts": [{"attempt_id": "1", "nodes": held}]}


def kilograms(location_based: float | None, **columns: object) -> dict:
    """A carbon row of Compute Engine in us-east5 in April 2026: 1 kg of scope 1, 2 of scope 3, the rest scope 2."""
    scope_2 = None if location_based is None else location_based - 3
    row = {
        "usage_month": date(2026, 4, 1),
        "billing_account_id": BILLING_ACCOUNT,
        "project": {"number": PROJECT, "id": "p"},
        "service": {"id": COMPUTE["id"]},
        "location": {"location": "us-east5", "region": "us-east5"},
        "carbon_footprint_kgCO2e": {"scope1": 1.0, "scope2": {"location_based": scope_2, "market_based": None}, "scope3": 2.0},
        "carbon_footprint_total_kgCO2e": {"location_based": location_based, "market_based": None},
        "carbon_model_version": 17,
    }
    return row | columns


def neuron_document(cores: dict[int, float] | None, devices: int = 16, period: float = 3600.0, error: str = "") -> dict:
    """One runtime that uses the given cores of devices with two cores each, or no runtime at all."""
    used = {str(core): {"neuroncore_utilization": percent} for core, percent in (cores or {}).items()}
    counters = {"period": period, "neuroncores_in_use": used, "error": error}
    runtime = {"pid": 1, "neuron_runtime_tag": "1", "error": "", "report": {"neuroncore_counters": counters}}
    return {
        "neuron_runtime_data": [] if cores is None else [runtime],
        "system_data": {"vcpu_usage": {"period": period, "error": ""}},
        "neuron_hardware_info": {"neuron_device_count": devices, "neuroncore_per_device_count": 2, "error": ""},
    }


def gauge(metric: str, host: str, chip: int, points: dict[str, float], run: str | None = None) -> dict:
    stated = [{"interval": {"startTime": at, "endTime": at}, "value": {"doubleValue": value}} for at, value in points.items()]
    series = {
        "metric": {"type": f"tpu.googleapis.com/accelerator/{metric}", "labels": {"accelerator_id": f"{host}-{chip}"}},
        "resource": {"type": "tpu.googleapis.com/GceTpuWorker", "labels": {}},
        "unit": "%",
        "points": stated[::-1],  # the newest first
    }
    return series | ({"metadata": {"userLabels": {"training_run_id": run}}} if run else {})


class GoogleExports(Exports):
    def google_bill(self, rows: list[dict], day: str = "2026-04-10", name: str = "gcp", *, is_numeric: bool = False) -> None:
        """A partition of the bill. `is_numeric`: costs are NUMERIC, as in some accounts' tables, and not FLOAT."""
        schema = _BILL
        for column in ("cost", "cost_at_list") if is_numeric else ():
            schema = schema.set(schema.get_field_index(column), pa.field(column, pa.decimal128(38, 9)))
        self._partition(self._source(name, "gcp_billing") / f"_PARTITIONTIME={day}", rows, schema)

    def google_carbon(self, rows: list[dict], month: str = "2026-04") -> None:
        self._partition(self._source("gcp-carbon", "gcp_carbon") / f"_PARTITIONTIME={month}-01", rows, _CARBON)

    def google_prices(self, rows: list[dict], day: str) -> None:
        """A day's price list: rows of tests/connectors/prices.py."""
        self._partition(self._source("price-list", "gcp_prices") / f"_PARTITIONTIME={day}", rows, PRICING)

    def neuron(self, host: str, documents: list[tuple[str, dict]], run: str = "", name: str = "n") -> None:
        """Documents with the time they arrived."""
        lines = [{"collected_at": at, "host": {"resource_id": host}, "document": document} for at, document in documents]
        folder = self._source("neuron", "neuron_monitor") / (f"run={run}" if run else "any")
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    def tpu(self, *series: dict, name: str = "answer") -> None:
        folder = self._source("tpu", "tpu_monitoring")
        (folder / f"{name}.json").write_text(json.dumps({"timeSeries": list(series)}), encoding="utf-8")

    @staticmethod
    def _partition(folder: Path, rows: list[dict], schema: pa.Schema) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / "part-000000000000.parquet")
