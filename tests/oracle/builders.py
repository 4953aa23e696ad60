"""Tiny exports in the providers' own layouts, written by hand for a test: bills, carbon, run records, trainledger.yaml."""

import csv
import gzip
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

PAYER = "000011112222"
ACCOUNT = "000011113333"
NODE = "i-0aaa"
TEN = "2026-04-10T10:00:00"
HELD = ("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z")  # the hour of TEN

_HOUR = {
    "identity_line_item_id": "line",
    "bill_payer_account_id": PAYER,
    "line_item_usage_account_id": ACCOUNT,
    "line_item_line_item_type": "Usage",
    "line_item_product_code": "AmazonEC2",
    "line_item_usage_type": "USE2-BoxUsage:trn1.32xlarge",
    "line_item_currency_code": "USD",
    "line_item_usage_amount": 1.0,
    "pricing_unit": "Hrs",
    "product_region_code": "us-east-2",
    "line_item_resource_id": NODE,
}
BLOCK_FEE = {
    **_HOUR,
    "line_item_line_item_type": "Fee",
    "line_item_usage_type": "USE2-CapacityBlockFee:trn2.48xlarge",
    "line_item_usage_start_date": datetime(2026, 4, 1),  # noqa: DTZ001 - the export's timestamps have no zone
    "line_item_usage_end_date": datetime(2026, 4, 1, 1),  # noqa: DTZ001
    "line_item_resource_id": None,
}
_DOUBLES = ("amount", "cost", "commitment", "fee", "to_date")


def hour(start: str, cost: float, **columns: object) -> dict:
    """A bill row of one hour of a trn1.32xlarge that costs `cost`, by list as well, unless columns say otherwise."""
    at = datetime.fromisoformat(start).replace(tzinfo=None)
    row = _HOUR | {
        "line_item_usage_start_date": at,
        "line_item_usage_end_date": at + timedelta(hours=1),
        "line_item_unblended_cost": cost,
        "pricing_public_on_demand_cost": cost,
    }
    return row | columns


def run(run_id: str, *nodes: tuple[str, str, str, int | None], **fields: object) -> dict:
    """A run record whose nodes are (resource, start, end, chips)."""
    held = [
        {"resource_id": resource, "accelerator_type": "trn1.32xlarge", "chips": chips, "started_at": start, "ended_at": end}
        for resource, start, end, chips in nodes
    ]
    return {"training_run_id": run_id, "provider_name": "AWS", "attempts": [{"attempt_id": "1", "nodes": held}]} | fields


def carbon(location_based: float | None, market_based: float | None = 0.0, **columns: object) -> dict:
    """A carbon row in tonnes for EC2 of the account in us-east-2 in April 2026."""
    row = {
        "payer_account_id": PAYER,
        "usage_account_id": ACCOUNT,
        "product_code": "AmazonEC2",
        "region_code": "us-east-2",
        "location": "US East (Ohio)",
        "usage_period_start": datetime(2026, 4, 1),  # noqa: DTZ001 - the export's timestamps have no zone
        "model_version": "v3.0.1",
        "total_lbm_emissions_value": location_based,
        "total_mbm_emissions_value": market_based,
    }
    return row | columns


class Exports:
    """A folder of exports and the configuration that names them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources: list[dict] = []
        self.settings: dict = {}

    def _source(self, name: str, kind: str) -> Path:
        location = self.folder / "exports" / name
        if not any(source["name"] == name for source in self.sources):
            self.sources.append({"name": name, "kind": kind, "location": f"exports/{name}"})
        location.mkdir(parents=True, exist_ok=True)
        return location

    def bill(self, rows: list[dict], period: str = "2026-04", name: str = "cur", execution: str = "") -> None:
        """CUR 2.0 as Parquet; with an execution folder as CREATE_NEW, else as OVERWRITE."""
        location, partition = self._source(name, "aws_cur"), f"BILLING_PERIOD={period}"
        key = "/".join(part for part in ("data", partition, execution, f"{name}-00001.snappy.parquet") if part)
        _write_parquet(location / key, _billed_in(period, rows))
        self._manifest(location / "metadata" / partition / execution, f"bucket/prefix/{name}/{key}")

    def csv_bill(self, rows: list[dict], period: str = "2026-04", name: str = "cur-csv") -> None:
        location, partition = self._source(name, "aws_cur"), f"BILLING_PERIOD={period}"
        key = f"data/{partition}/{name}-00001.csv.gz"
        _write_csv(location / key, _billed_in(period, rows))
        self._manifest(location / "metadata" / partition, f"s3://bucket/prefix/{name}/{key}")

    def legacy_bill(self, rows: list[dict], period: str = "20260401-20260501", name: str = "legacy") -> None:
        location = self._source(name, "aws_cur")
        key = f"{period}/20260503T125721Z/{name}-00001.csv.gz"
        _write_csv(location / key, rows)
        self._manifest(location / period / "20260503T125721Z", f"/{name}/{key}", "reportKeys")

    def carbon(self, rows: list[dict], version: str = "v3.0.1", period: str = "2026-04") -> None:
        location, partition = self._source("carbon", "aws_carbon"), f"model_version={version}/usage_period={period}"
        key = f"data/{partition}/carbon-00001.snappy.parquet"
        _write_parquet(location / key, rows)
        self._manifest(location / "metadata" / partition, f"prefix/carbon/{key}")

    def water(self, *results: dict, payer: str = PAYER, name: str = "water") -> None:
        """A saved answer about years, as the interface gives it: tests/aws_apis.py has a group of one."""
        path = self._source("water", "aws_water") / f"payer={payer}" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"Results": list(results)}), encoding="utf-8")

    def runs(self, *records: dict) -> None:
        location = self._source("runs", "training_runs")
        for number, record in enumerate(records, start=len(list(location.iterdir()))):
            is_job = any(name in record for name in ("TrainingJobArn", "jobSpec", "jobs", "ClusterArn"))
            (location / f"record-{number}{'.json' if is_job else '.run.json'}").write_text(json.dumps(record), encoding="utf-8")

    def own_figures(self, *figures: dict, name: str = "own") -> None:
        """A file of user_inputs; what a figure does not say is empty."""
        self._own_table(name, "meter 7", ("kind", "key", "value", "unit"), figures)

    def own_prices(self, *prices: dict, name: str = "prices") -> None:
        """A table of prices among user_inputs; without a region, days or an option on demand, at any time and everywhere."""
        columns = ("provider_name", "accelerator_type", "region_id", "purchase_option", "currency", "price_per_hour")
        usual = {"purchase_option": "on_demand", "currency": "USD"}
        self._own_table(name, "price list", columns, [usual | price for price in prices])

    def _own_table(self, name: str, source: str, columns: Iterable[str], rows: Iterable[dict]) -> None:
        columns = dict.fromkeys((*columns, "source", *(column for row in rows for column in row)))
        with (self._source("own", "user_inputs") / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(columns), restval="")
            writer.writeheader()
            writer.writerows({"source": source} | row for row in rows)

    def metrics(self, metric: str, *series: tuple[dict[str, str], Iterable[tuple[int, object]]], day: str) -> None:
        """An answer of a server of metrics about a day, as it is landed: seconds since 1970 and values."""
        path = self._source("metrics", "prometheus") / f"{day}/{metric}.jsonl"
        path.parent.mkdir(exist_ok=True)
        how = "last" if metric.endswith("CONSUMPTION") else "avg"
        result = [{"metric": labels, "values": [[at, str(value)] for at, value in points]} for labels, points in series]
        answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        line = {"query": f"{how}_over_time({metric}[59999ms])", "start": 0, "end": 0, "step": 60, "answer": answer}
        path.write_text(json.dumps(line) + "\n", encoding="utf-8")

    def config(self) -> Path:
        path = self.folder / "trainledger.yaml"
        settings = {"organisation": {"name": "Test", "reporting_currency": "USD"}, "home": "./home", "sources": self.sources}
        settings |= self.settings
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")
        return path

    @staticmethod
    def _manifest(folder: Path, key: str, name: str = "dataFiles") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "export-Manifest.json").write_text(json.dumps({name: [key]}), encoding="utf-8")


def _billed_in(period: str, rows: list[dict]) -> list[dict]:
    return [row | {"bill_billing_period_start_date": datetime.fromisoformat(f"{period}-01")} for row in rows]


def _columns(rows: list[dict]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _write_parquet(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for name in _columns(rows):
        values = [row.get(name) for row in rows]
        if name in ("product", "resource_tags", "tags", "cost_category"):
            arrays[name] = pa.array([list((value or {}).items()) for value in values], pa.map_(pa.string(), pa.string()))
        elif name.endswith("_value") or (name.endswith(_DOUBLES) and not any(isinstance(value, str) for value in values)):
            arrays[name] = pa.array(values, pa.float64())
        else:
            arrays[name] = pa.array(values)
    pq.write_table(pa.table(arrays), path)


def _write_csv(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _columns(rows))
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _text(value) for name, value in row.items()})


def _text(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return "" if value is None else str(value)
