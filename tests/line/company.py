"""A company with sources of every kind over five months that lie apart, kept as plain rows so that any of them can be changed."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Any

from tests.aws_apis import water
from tests.connectors.prices import price
from tests.landing.kit import Organisation, bill_line, carbon_row, hour, set_time, write_points, write_run, write_samples

MONTHS = ("2026-01", "2026-03", "2026-05", "2026-07", "2026-09")
NODE, TPU, GPU = "i-0123456789abcdef0", "node-1", "p5.48xlarge"
ACCOUNT = "0123AB-4567CD-89EF01"


@dataclass
class Company:
    """Sources of every kind over five months, kept as plain rows so that one of them can be changed and delivered again."""

    organisation: Organisation
    bills: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    aws_focus: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    carbon: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    google: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    focus: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    google_carbon: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    watts: dict[tuple[str, str], float] = field(default_factory=dict)  # kind, month
    stated: dict[str, int] = field(default_factory=dict)  # what Google states that a month costs, in a currency of no bill
    listed: dict[str, float] = field(default_factory=dict)  # what Google lists an hour of a chip at
    withdrawn: float = 50.0  # what AWS states of a year
    pue: float = 1.15
    clock: int = 0

    def at(self) -> str:
        """A time of delivery after every other one."""
        self.clock += 1
        return f"2026-10-01T{self.clock // 60:02d}:{self.clock % 60:02d}"

    def deliver_all(self) -> None:
        for number, month in enumerate(MONTHS):
            hours = [
                bill_line(21.5, day=f"{month}-02", number=at, **_bill_hour(month, at), resource_tags=tags)
                for at, tags in enumerate(({"user_training_run_id": f"run-{month}"}, {}, {}))
            ]
            self.bills[month] = hours
            self.aws_focus[month] = [
                bill_line(3.5, **_bill_hour(month, at), line_item_usage_type="EBS:VolumeUsage.gp3") for at in range(2)
            ]
            self.carbon[month] = [carbon_row(1.25, month=month), carbon_row(0.5, month=month, version="v3.0.0")][:1]
            self.google[month] = [hour(f"{month}-03T{at:02d}:00", labels=[]) for at in range(3)]
            # at what it would cost on demand the price list alone shows
            self.google[month][1]["sku"] = {"id": "0561-8741-3BC7", "description": "TpuV5e attached to Spot Preemptible VMs"}
            self.focus[month] = [hour(f"{month}-04T{at:02d}:00", labels=[], resource=None) for at in range(2)]
            self.google_carbon[month] = [{}]
            self.nodes[month] = {
                "resource_id": NODE,
                "started_at": f"{month}-02T00:30:00Z",
                "ended_at": f"{month}-02T02:00:00Z",
                "chips": 16 - number,
            }
            self.rates[month] = 0.9 + number / 100
            self.stated[month] = 100
            self.listed[month] = 1.25
            for deliver in (
                self.bill,
                self.aws_focus_bill,
                self.carbon_file,
                self.google_bill,
                self.focus_bill,
                self.google_carbon_file,
                self.price_list,
                self.run,
                self.neuron,
                self.tpu,
                self.gpu,
                self.profile,
                self.driver,
                self.meter,
                self.metrics,
                self.events,
            ):
                deliver(month)
        self.tables()

    def bill(self, month: str) -> None:
        self.organisation.deliver(self.bills[month], at=self.at(), month=month)

    def aws_focus_bill(self, month: str) -> None:
        """Of another payer, whose only bill it is."""
        self.organisation.deliver_aws_focus(
            self.aws_focus[month], at=self.at(), month=month, BillingAccountId="000000000f0c", Tags={}
        )

    def carbon_file(self, month: str) -> None:
        self.organisation.deliver_carbon(self.carbon[month], at=self.at(), month=month)

    def google_bill(self, month: str) -> None:
        self.organisation.deliver_google(f"{month}-03", *self.google[month], at=self.at())

    def focus_bill(self, month: str) -> None:
        self.organisation.deliver_focus(f"{month}-04", *self.focus[month], at=self.at(), BillingAccountId="F0C05A-000000-000001")

    def google_carbon_file(self, month: str) -> None:
        self.organisation.deliver_google_carbon(month, *self.google_carbon[month], at=self.at())

    def price_list(self, month: str) -> None:
        """In force for four weeks, so for the next month as well, of which this company has nothing."""
        day = f"{month}-02"
        self.organisation.deliver_prices(day, price(amount=f"{self.listed[month]}", day=day), at=self.at())

    def run(self, month: str) -> None:
        folder = self.organisation.folder / "exports/runs"
        write_run(folder / f"{month}.run.json", f"run-{month}", at=self.at(), nodes=[self.nodes[month]])
        slice_ = {"resource_id": TPU, "accelerator_type": "v5e", "chips": 8}
        held = slice_ | {"started_at": f"{month}-03T00:00:00Z", "ended_at": f"{month}-03T02:00:00Z"}
        tpu = {"provider_name": "Google Cloud", "nodes": [held]}
        write_run(folder / f"tpu-{month}.run.json", f"tpu-{month}", at=self.at(), **tpu)
        # without a meter of its own: its watts are those of the windows of this month and of those before
        unmetered = {"resource_id": "i-unmetered", "accelerator_type": GPU, "chips": 8}
        held = unmetered | {"started_at": f"{month}-06T00:00:00Z", "ended_at": f"{month}-06T02:00:00Z"}
        write_run(folder / f"gpu-{month}.run.json", f"gpu-{month}", at=self.at(), provider_name="AWS", nodes=[held])

    def neuron(self, month: str, minutes: int = 3) -> None:
        path = self.organisation.folder / f"exports/neuron/run=run-{month}/host={NODE}/{month.replace('-', '')}02T003000Z.jsonl"
        write_samples(path, *(f"{month}-02T00:{31 + at}:00Z" for at in range(minutes)), at=self.at())

    def tpu(self, month: str, minutes: int = 3) -> None:
        path = self.organisation.folder / f"exports/tpu/{month}.json"
        write_points(path, *(f"{month}-03T00:{10 + at}:00Z" for at in range(minutes)), at=self.at(), run=f"tpu-{month}")

    def gpu(self, month: str) -> None:
        """Three machines over eight hours, each under a workload of its own: enough to calibrate by."""
        figures = {"index": 0, "power_w": self.watts.setdefault(("gpu", month), 400.0), "utilization_percent": 97}
        lines = [
            {
                "collected_at": f"{month}-05T{at:02d}:00:00Z",
                "host": {"resource_id": name, "instance_type": GPU},
                "gpus": [figures],
            }
            for at in range(1, 9)
            for name in ("i-gpu-1", "i-gpu-2", "i-gpu-3")
        ]
        for number in (1, 2, 3):
            held = {"resource_id": f"i-gpu-{number}", "accelerator_type": GPU, "chips": 8}
            held |= {"started_at": f"{month}-05T00:00:00Z", "ended_at": f"{month}-05T09:00:00Z"}
            run = {"provider_name": "AWS", "workload_key": f"workload-{number}", "nodes": [held]}
            path = self.organisation.folder / f"exports/runs/watched-{number}-{month}.run.json"
            write_run(path, f"watched-{number}-{month}", at=self.at(), **run)
        self.file(f"gpu/{month}.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())

    def profile(self, month: str) -> None:
        """Ten seconds of one chip of the TPU machine."""
        from tests.connectors.xspaces import START, counter, device, space_of

        space, began = space_of(), dt.datetime.fromisoformat(f"{month}-03T01:00:00Z")
        for stat in next(plane for plane in space.planes if plane.name == "Task Environment").stats:
            stat.int64_value += int(began.timestamp()) * 10**9 - START
        watts = self.watts.setdefault(("xprof", month), 100.5)
        counter(device(space), "VDD Core FW Power Meter PL1(W)", [(0, watts), (5, 120.25)])
        counter(device(space), "HBM FW Power Meter PL1(W)", [(0, 20.0), (5, 20.0)])
        self.file(f"xprof/{month}/plugins/profile/s/{TPU}.xplane.pb", space.SerializeToString())

    def driver(self, month: str) -> None:
        minute = int(dt.datetime.fromisoformat(f"{month}-02T00:45:00Z").timestamp())
        share = self.watts.setdefault(("neuron_power", month), 20.0)
        lines = [f"POWER_STATUS_VALID,{minute + 60 * at},0.00,{share + 1:.2f},{share:.2f}" for at in range(3)]
        self.file(f"neuron-power/host={NODE}/{month}/neuron0.txt", "\n".join([*lines, ""]).encode())

    def meter(self, month: str) -> None:
        watts = self.watts.setdefault(("power_meters", month), 3000.0)
        readings = [*((at, watts) for at in range(10, 20)), (20, "broken")]  # the last is a row of quarantine
        lines = (f"{month}-02T01:{minute}:00Z,{NODE},{read}\n" for minute, read in readings)
        self.file(f"meters/{month}.csv", "".join(["time,host,watts\n", *lines]).encode())

    def metrics(self, month: str) -> None:
        """Ten minutes of a machine that the configuration calls by its resource."""
        begun = int(dt.datetime.fromisoformat(f"{month}-02T01:30:00Z").timestamp())
        watts = self.watts.setdefault(("prometheus", month), 2900.0)
        values = [[begun + 60 * at, str(watts)] for at in range(10)]
        series = {"metric": {"__name__": "ipmi_dcmi_power_consumption_watts", "instance": "10.0.0.7:9290"}, "values": values}
        answer = {"status": "success", "data": {"resultType": "matrix", "result": [series]}}
        self.file(f"metrics/{month}.json", json.dumps(answer).encode())

    def events(self, month: str) -> None:
        """Two minutes of a GPU as its library logged them."""
        begun = int(dt.datetime.fromisoformat(f"{month}-06T01:00:00Z").timestamp())
        watts = self.watts.setdefault(("wandb", month), 300.0)
        lines = (json.dumps({"_timestamp": begun + 15 * at, "system.gpu.0.powerWatts": watts}) for at in range(8))
        self.file(f"events/run=run-{month}/host=i-gpu-4/{month}.jsonl", "\n".join([*lines, ""]).encode())

    def file(self, name: str, content: bytes) -> None:
        path = self.organisation.folder / "exports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        set_time(path, self.at())

    def tables(self) -> None:
        at = self.at()
        rates = "".join(f"{month}-28,USD,EUR,{rate},ECB\n" for month, rate in self.rates.items())
        own = f"kind,key,value,unit,source\npue,us-west4,{self.pue},ratio,meter\n"
        stated = "".join(f"Google Cloud,{ACCOUNT},{month}-01,CHF,{total}\n" for month, total in self.stated.items())
        for name, text in (
            ("fx/fx.csv", f"rate_date,base_currency,quote_currency,rate,source\n{rates}"),
            ("own/own.csv", own),
            ("water/payer=000011112222/2026.json", json.dumps({"Results": [water(2026, self.withdrawn)]})),
            ("totals/totals.csv", f"provider_name,payer_account_id,usage_month,currency,amount\n{stated}"),
        ):
            path = self.organisation.folder / "exports" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            set_time(path, at)


def _bill_hour(month: str, at: int) -> dict[str, Any]:
    start = dt.datetime.fromisoformat(f"{month}-02T{at:02d}:00:00")
    return {
        "bill_billing_period_start_date": dt.datetime.fromisoformat(f"{month}-01"),
        "line_item_usage_start_date": start,
        "line_item_usage_end_date": start + dt.timedelta(hours=1),
        "line_item_resource_id": NODE,
    }
