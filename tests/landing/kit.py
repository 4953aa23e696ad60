"""A small organisation in a folder: exports with set times, a line over them, and short ways to refresh and look."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from dagster_project.election.election import Election, elect
from dagster_project.election.units import fingerprints, months_to_build, overall_fingerprint
from dagster_project.election.winners import View
from dagster_project.landing.land import Landed
from dagster_project.landing.opening import open_landing
from dagster_project.landing.planning import Plan, land_all, make_plan
from dagster_project.settings import Settings, settings_of
from dagster_project.warehouse.raw import create_raw
from tests.connectors.aws_focus import focus_rows, write_focus
from tests.connectors.focus import FOCUS, focus_of
from tests.connectors.gcp import CARBON, EMISSION, LINE, write_partition
from tests.connectors.prices import PRICING
from tests.connectors.xspaces import counter, device, space_of

PAYER = "000000000017"


def instant(text: str) -> dt.datetime:
    """An aware UTC instant of '2026-05-02' or '2026-05-02T10:00'."""
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def bill_line(cost: Any = 21.5, *, day: str = "2026-04-01", number: int = 1, **more: Any) -> dict[str, Any]:
    """One usage hour of a Trainium instance."""
    start = dt.datetime.fromisoformat(day)
    return {
        "identity_line_item_id": f"line-{number}",
        "bill_payer_account_id": PAYER,
        "bill_billing_period_start_date": start.replace(day=1),
        "line_item_usage_account_id": "012345678901",
        "line_item_line_item_type": "Usage",
        "line_item_usage_start_date": start,
        "line_item_usage_end_date": start + dt.timedelta(hours=1),
        "line_item_product_code": "AmazonEC2",
        "line_item_usage_type": "BoxUsage:trn1.32xlarge",
        "line_item_resource_id": "i-0123456789abcdef0",
        "line_item_usage_amount": 1.0,
        "line_item_currency_code": "USD",
        "line_item_unblended_cost": cost,
        "resource_tags": {"user_training_run_id": "run-a"},
        **more,
    }


def carbon_row(value: float = 1.25, *, month: str = "2026-04", version: str = "v3.0.0", payer: str = PAYER) -> dict[str, Any]:
    """One cell of an AWS carbon export."""
    return {
        "payer_account_id": payer,
        "usage_account_id": "012345678901",
        "usage_period_start": dt.datetime.fromisoformat(f"{month}-01"),
        "model_version": version,
        "product_code": "AmazonEC2",
        "region_code": "us-east-1",
        "total_lbm_emissions_value": value,
        "total_lbm_emissions_unit": "MTCO2e",
    }


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """Rows as Parquet; dictionaries become maps."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        is_map = any(isinstance(value, dict) for value in values)
        items = [list(value.items()) if isinstance(value, dict) else value for value in values]
        columns[name] = pa.array(items, pa.map_(pa.string(), pa.string()) if is_map else None)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def set_time(path: Path, text: str) -> None:
    """Give a file the modification time at which its provider wrote it."""
    stamp = int(instant(text).timestamp()) * 10**9
    os.utime(path, ns=(stamp, stamp))


def write_run(path: Path, run_id: str, *, at: str, nodes: list[dict[str, Any]] | None = None, **more: Any) -> None:
    """One run.json with one attempt."""
    node = {"resource_id": "i-0123456789abcdef0", "started_at": "2026-04-01T00:00:00Z", "ended_at": "2026-04-01T01:00:00Z"}
    attempts = [{"attempt_id": "1", "state": "succeeded", "nodes": [node] if nodes is None else nodes}]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"training_run_id": run_id, "attempts": attempts, **more}))
    set_time(path, at)


def hour(text: str, **more: Any) -> dict[str, Any]:
    """What makes a Google line one of another hour."""
    return {"usage_start_time": instant(text), "usage_end_time": instant(text) + dt.timedelta(hours=1), **more}


def write_samples(path: Path, *ends: str, at: str) -> None:
    """Documents of neuron-monitor: an idle machine over the minute before each end."""
    inner = {
        "neuron_runtime_data": [],
        "system_data": {"vcpu_usage": {"period": 60.0, "error": ""}},
        "neuron_hardware_info": {"neuron_device_count": 1, "neuroncore_per_device_count": 2, "error": ""},
    }
    lines = [{"collected_at": end, "host": {"resource_id": "i-0123456789abcdef0"}, "document": inner} for end in ends]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    set_time(path, at)


def write_points(path: Path, *ends: str, at: str, run: str | None = None) -> None:
    """An answer of timeSeries.list: the duty cycle of one chip at some instants."""
    labels = {"accelerator_id": "node-1-0", **({"training_run_id": run} if run else {})}
    points = [{"interval": {"startTime": end, "endTime": end}, "value": {"doubleValue": 50.0}} for end in ends]
    metric = {"type": "kubernetes.io/container/accelerator/duty_cycle", "labels": labels}
    resource = {"type": "k8s_container", "labels": {}}
    series = {"metric": metric, "resource": resource, "metricKind": "GAUGE", "valueType": "DOUBLE", "points": points}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"timeSeries": [series]}))
    set_time(path, at)


def write_profile(path: Path, *, at: str) -> None:
    """A profile of one TPU chip: two rails over ten seconds."""
    space = space_of()
    plane = device(space)
    for rail in ("VDD Core", "HBM"):
        counter(plane, f"{rail} FW Power Meter PL1(W)", [(0, 100.5), (5, 120.25)])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(space.SerializeToString())
    set_time(path, at)


class Line:
    """Short ways from sources to schema raw: plan, land, elect, fingerprint."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.landing = open_landing(settings)

    def plan(self) -> Plan:
        return make_plan(self.settings.sources, self.settings.base, self.landing)

    def land_all(self, plan: Plan) -> list[Landed]:
        return land_all(self.landing, plan)

    def elect(self, contents_of: Any = None, **asked: Any) -> Election:
        return elect(self.settings.sources, self.landing, View(**asked), contents_of)

    def units(self, election: Election) -> dict[str, str]:
        return fingerprints(self.settings.rules, election)

    def fingerprint(self, election: Election) -> str:
        return overall_fingerprint(self.units(election))

    def months_to_build(self, election: Election, full: bool = False) -> list[dt.date]:
        publication = self.settings.home / "published" / "PUBLICATION.json"
        published = json.loads(publication.read_text())["units"] if publication.exists() and not full else {}
        return months_to_build(self.units(election), published)

    def create_raw(self, con: duckdb.DuckDBPyConnection, election: Election, months: list[dt.date]) -> None:
        create_raw(con, self.settings.rules, self.landing, election, months)


class Organisation:
    """Exports below `folder/exports/<source>` and a line with its home beside them."""

    def __init__(self, folder: Path, *sources: dict[str, Any], **settings: Any) -> None:
        self.folder = folder
        listed = sources or ({"name": "cur", "kind": "aws_cur"},)
        for source in listed:
            (folder / "exports" / source["name"]).mkdir(parents=True, exist_ok=True)
        document = {
            "organisation": {"name": "Test"},
            "home": "./home",
            "sources": [{"location": f"./exports/{source['name']}", **source} for source in listed],
            **settings,
        }
        self.settings = settings_of(document, folder / "trainledger.yaml")

    @property
    def line(self) -> Line:
        """A new line each time: nothing may live on in memory."""
        return Line(self.settings)

    @property
    def landing(self) -> Path:
        return self.folder / "home" / "landing"

    @property
    def issued(self) -> Path:
        """The chain of issued reports."""
        return self.folder / "home" / "reports" / "issued.jsonl"

    def deliver(
        self, rows: list[dict[str, Any]], *, at: str, month: str = "2026-04", source: str = "cur", export: str = ""
    ) -> None:
        """Write one billing period of an OVERWRITE export, as of a time; the export has the source's name unless given."""
        root, export = self.folder / "exports" / source, export or source
        data = root / "data" / f"BILLING_PERIOD={month}" / f"{export}-00001.snappy.parquet"
        self._deliver(rows, at, data, root / "metadata" / f"BILLING_PERIOD={month}" / f"{export}-Manifest.json")

    def deliver_aws_focus(
        self, rows: list[dict[str, Any]], *, at: str, month: str = "2026-04", source: str = "aws-focus", **more: Any
    ) -> None:
        """The same rows as one billing period of a FOCUS 1.2 export; `more` is reported of each in its words."""
        root = self.folder / "exports" / source
        stated = [one for row in rows for one in focus_rows(row, "1.2", **more)]
        for path in (write_focus(root, *stated, version="1.2", month=month), *root.rglob(f"BILLING_PERIOD={month}/*.json")):
            set_time(path, at)

    def deliver_carbon(self, rows: list[dict[str, Any]], *, at: str, month: str = "2026-04", version: str = "v3.0.0") -> None:
        """Write one month and model version of a carbon export."""
        root, below = self.folder / "exports" / "carbon", f"carbon_model_version={version}/usage_period={month}"
        data = root / "data" / below / "carbon-00001.snappy.parquet"
        self._deliver(rows, at, data, root / "metadata" / below / "carbon-Manifest.json")

    def deliver_twice(self, rows: list[dict[str, Any]], *, at: str) -> None:
        """A billing period of two chunks with the same bytes, and a manifest that names the second one twice."""
        self.deliver(rows, at=at)
        root, folder = self.folder / "exports" / "cur", "BILLING_PERIOD=2026-04"
        first, second = (root / "data" / folder / f"cur-0000{number}.snappy.parquet" for number in (1, 2))
        shutil.copy2(first, second)
        manifest = root / "metadata" / folder / "cur-Manifest.json"
        keys = [f"data/{folder}/{path.name}" for path in (first, second, second)]
        manifest.write_text(json.dumps({"dataFiles": keys}))
        set_time(manifest, at)

    def _deliver(self, rows: list[dict[str, Any]], at: str, data: Path, manifest: Path) -> None:
        write_table(data, rows)
        set_time(data, at)
        manifest.parent.mkdir(parents=True, exist_ok=True)
        key = data.relative_to(data.parents[len(data.parts) - data.parts.index("exports") - 3]).as_posix()
        manifest.write_text(json.dumps({"dataFiles": [key]}))
        set_time(manifest, at)

    def deliver_google(self, day: str, *rows: dict[str, Any], at: str, source: str = "google") -> None:
        """Write one partition of a Google billing export, as of a time; rows say how they differ from an hour of v5e."""
        lines = [{**LINE, **row} for row in rows]
        set_time(write_partition(self.folder / "exports" / source, day, *lines), at)

    def deliver_focus(self, day: str, *rows: dict[str, Any], at: str, source: str = "focus", **more: Any) -> None:
        """The same rows as a partition of the FOCUS export; `more` is reported of each in its words."""
        stated = [{**focus_of({**LINE, **row}), **more} for row in rows]
        set_time(write_partition(self.folder / "exports" / source, day, *stated, schema=FOCUS), at)

    def deliver_google_carbon(self, month: str, *rows: dict[str, Any], at: str, source: str = "google-carbon") -> None:
        """Write one month of a Google carbon export, as of a time."""
        emissions = [{**EMISSION, "usage_month": dt.date.fromisoformat(f"{month}-01"), **row} for row in rows]
        folder = self.folder / "exports" / source
        set_time(write_partition(folder, f"{month}-01", *emissions, schema=CARBON), at)

    def deliver_prices(self, day: str, *rows: dict[str, Any], at: str, source: str = "prices") -> None:
        """Write one day of Google's price list, as of a time."""
        set_time(write_partition(self.folder / "exports" / source, day, *rows, schema=PRICING), at)

    def refresh(self) -> list[Landed]:
        """Plan and land."""
        line = self.line
        return line.land_all(line.plan())

    def outcomes(self) -> dict[str, int]:
        """Plan and land; how many of each outcome."""
        return dict(Counter(landed.outcome for landed in self.refresh()))

    def raw(self, query: str, **election: Any) -> list[tuple[Any, ...]]:
        """Ask a fresh schema raw."""
        line = self.line
        elected = line.elect(**election)
        with duckdb.connect(":memory:") as con:
            line.create_raw(con, elected, line.months_to_build(elected))
            return con.execute(query).fetchall()

    def files(self) -> dict[str, bytes]:
        """Every file of the landing with its bytes."""
        return {
            path.relative_to(self.landing).as_posix(): path.read_bytes() for path in self.landing.rglob("*") if path.is_file()
        }
