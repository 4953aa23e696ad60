"""A changed row anywhere: the months that a refresh builds again are enough, whichever source the row is of.

What a build unit depends on is declared in election/units.py and read by SQL; only a full build can tell whether they agree. So
rows of every kind of source are changed, each month's by another kind, refreshed, and at the end the publication is compared,
byte for byte, with that of a full build. Months lie apart and two are never changed, one before and one after the others: what
should have been built again is not built by accident.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from connectors.registry import KINDS
from dagster_project.commands.refreshing import refresh
from tests.landing.kit import Organisation, bill_line, carbon_row, hour, set_time, write_points, write_run, write_samples
from tests.line.kit import published_bytes
from tests.warm import warm_dbt

pytestmark = pytest.mark.slow
MONTHS = ("2026-01", "2026-03", "2026-05", "2026-07", "2026-09")
CHANGED = MONTHS[1:-1]
SEED = 20261121
NODE, TPU = "i-0123456789abcdef0", "node-1"


@dataclass
class Company:
    """Sources of every kind over five months, kept as plain rows so that one of them can be changed and delivered again."""

    organisation: Organisation
    bills: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    carbon: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    google: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    focus: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    google_carbon: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    pue: float = 1.15
    clock: int = 0

    def at(self) -> str:
        """A time of delivery after every other one."""
        self.clock += 1
        return f"2026-10-01T00:{self.clock:02d}"

    def deliver_all(self) -> None:
        for number, month in enumerate(MONTHS):
            hours = [
                bill_line(21.5, day=f"{month}-02", number=at, **_bill_hour(month, at), resource_tags=tags)
                for at, tags in enumerate(({"user_training_run_id": f"run-{month}"}, {}, {}))
            ]
            self.bills[month] = hours
            self.carbon[month] = [carbon_row(1.25, month=month), carbon_row(0.5, month=month, version="v3.0.0")][:1]
            self.google[month] = [hour(f"{month}-03T{at:02d}:00", labels=[]) for at in range(3)]
            self.focus[month] = [hour(f"{month}-04T{at:02d}:00", labels=[], resource=None) for at in range(2)]
            self.google_carbon[month] = [{}]
            self.nodes[month] = {
                "resource_id": NODE,
                "started_at": f"{month}-02T00:30:00Z",
                "ended_at": f"{month}-02T02:00:00Z",
                "chips": 16 - number,
            }
            self.rates[month] = 0.9 + number / 100
            for deliver in (
                self.bill,
                self.carbon_file,
                self.google_bill,
                self.focus_bill,
                self.google_carbon_file,
                self.run,
                self.neuron,
                self.tpu,
            ):
                deliver(month)
        self.tables()

    def bill(self, month: str) -> None:
        self.organisation.deliver(self.bills[month], at=self.at(), month=month)

    def carbon_file(self, month: str) -> None:
        self.organisation.deliver_carbon(self.carbon[month], at=self.at(), month=month)

    def google_bill(self, month: str) -> None:
        self.organisation.deliver_google(f"{month}-03", *self.google[month], at=self.at())

    def focus_bill(self, month: str) -> None:
        self.organisation.deliver_focus(f"{month}-04", *self.focus[month], at=self.at(), BillingAccountId="F0C05A-000000-000001")

    def google_carbon_file(self, month: str) -> None:
        self.organisation.deliver_google_carbon(month, *self.google_carbon[month], at=self.at())

    def run(self, month: str) -> None:
        folder = self.organisation.folder / "exports/runs"
        write_run(folder / f"{month}.run.json", f"run-{month}", at=self.at(), nodes=[self.nodes[month]])
        slice_ = {"resource_id": TPU, "accelerator_type": "v5e", "chips": 8}
        held = slice_ | {"started_at": f"{month}-03T00:00:00Z", "ended_at": f"{month}-03T02:00:00Z"}
        tpu = {"provider_name": "Google Cloud", "nodes": [held]}
        write_run(folder / f"tpu-{month}.run.json", f"tpu-{month}", at=self.at(), **tpu)

    def neuron(self, month: str, minutes: int = 3) -> None:
        path = self.organisation.folder / f"exports/neuron/run=run-{month}/host={NODE}/{month.replace('-', '')}02T003000Z.jsonl"
        write_samples(path, *(f"{month}-02T00:{31 + at}:00Z" for at in range(minutes)), at=self.at())

    def tpu(self, month: str, minutes: int = 3) -> None:
        path = self.organisation.folder / f"exports/tpu/{month}.json"
        write_points(path, *(f"{month}-03T00:{10 + at}:00Z" for at in range(minutes)), at=self.at(), run=f"tpu-{month}")

    def tables(self) -> None:
        at = self.at()
        rates = "".join(f"{month}-28,USD,EUR,{rate},ECB\n" for month, rate in self.rates.items())
        own = f"kind,key,value,unit,source\npue,us-west4,{self.pue},ratio,meter\n"
        for name, text in (
            ("fx/fx.csv", f"rate_date,base_currency,quote_currency,rate,source\n{rates}"),
            ("own/own.csv", own),
        ):
            path = self.organisation.folder / "exports" / name
            path.write_text(text)
            set_time(path, at)


def _bill_hour(month: str, at: int) -> dict[str, Any]:
    import datetime as dt

    start = dt.datetime.fromisoformat(f"{month}-02T{at:02d}:00:00")
    return {
        "bill_billing_period_start_date": dt.datetime.fromisoformat(f"{month}-01"),
        "line_item_usage_start_date": start,
        "line_item_usage_end_date": start + dt.timedelta(hours=1),
        "line_item_resource_id": NODE,
    }


def change_bill(company: Company, month: str, draw: random.Random) -> None:
    row = draw.choice(company.bills[month])
    others = {
        "line_item_unblended_cost": 13.25,
        "resource_tags": {"user_training_run_id": f"run-{CHANGED[-1]}"},
        "line_item_resource_id": "i-another",
        "line_item_usage_account_id": "999999999999",
    }
    name = draw.choice(sorted(name for name, value in others.items() if row[name] != value))
    row[name] = others[name]
    company.bill(month)


def change_carbon(company: Company, month: str, draw: random.Random) -> None:
    draw.choice(company.carbon[month])["total_lbm_emissions_value"] = draw.choice([0.75, 2.5])
    company.carbon_file(month)


def change_google(company: Company, month: str, draw: random.Random) -> None:
    draw.choice(company.google[month])["cost"] = draw.choice([1.25, 9.5])
    company.google_bill(month)


def change_focus(company: Company, month: str, draw: random.Random) -> None:
    draw.choice(company.focus[month])["cost"] = draw.choice([1.25, 9.5])
    company.focus_bill(month)


def change_google_carbon(company: Company, month: str, draw: random.Random) -> None:
    company.google_carbon[month].append({})  # equal rows count once; another project's row counts
    company.google_carbon[month][-1]["project"] = None
    company.google_carbon_file(month)


def change_run(company: Company, month: str, draw: random.Random) -> None:
    node = company.nodes[month]
    node["ended_at"], node["chips"] = draw.choice([(f"{month}-02T01:15:00Z", 8), (f"{month}-02T02:45:00Z", 16)])
    company.run(month)


def change_neuron(company: Company, month: str, draw: random.Random) -> None:
    company.neuron(month, minutes=draw.choice([5, 7]))


def change_tpu(company: Company, month: str, draw: random.Random) -> None:
    company.tpu(month, minutes=draw.choice([5, 7]))


def change_rate(company: Company, month: str, draw: random.Random) -> None:
    company.rates[month] += 0.01
    company.tables()


def change_own_figure(company: Company, month: str, draw: random.Random) -> None:
    company.pue += 0.05
    company.tables()


CHANGES: dict[str, Callable[[Company, str, random.Random], None]] = {
    "aws_cur": change_bill,
    "aws_carbon": change_carbon,
    "gcp_billing": change_google,
    "gcp_focus": change_focus,
    "gcp_carbon": change_google_carbon,
    "training_runs": change_run,
    "neuron_monitor": change_neuron,
    "tpu_monitoring": change_tpu,
    "fx_rates": change_rate,
    "user_inputs": change_own_figure,
}
NAMES = {
    "aws_cur": "cur",
    "aws_carbon": "carbon",
    "gcp_billing": "google",
    "gcp_focus": "focus",
    "gcp_carbon": "google-carbon",
    "training_runs": "runs",
    "neuron_monitor": "neuron",
    "tpu_monitoring": "tpu",
    "fx_rates": "fx",
    "user_inputs": "own",
}


def test_every_kind_of_source_has_a_row_that_is_changed_here() -> None:
    assert set(CHANGES) == set(NAMES) == set(KINDS)


def test_after_any_changed_row_the_publication_is_that_of_a_full_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-10-10T00:00:00Z")
    euros = {"name": "Test", "reporting_currency": "EUR"}  # the bills are in dollars, so that a rate converts them
    company = Company(Organisation(tmp_path, *({"name": name, "kind": kind} for kind, name in NAMES.items()), organisation=euros))
    company.deliver_all()
    settings, draw = company.organisation.settings, random.Random(SEED)
    others = draw.sample(sorted(CHANGES.keys() - {"fx_rates"}), len(CHANGES) - 1)
    turns = [["fx_rates"], *(others[first : first + len(CHANGED)] for first in range(0, len(others), len(CHANGED)))]
    with warm_dbt():
        assert refresh(settings, say=print).exit_code == 0
        published = published_bytes(settings.home)
        for kinds in turns:
            asked = dict(zip(kinds, draw.sample(CHANGED, len(kinds)), strict=True))
            for kind, month in asked.items():
                CHANGES[kind](company, month, draw)
            done = refresh(settings, say=print)
            assert done.exit_code == 0 and done.built and not done.built.build.is_full, (kinds, done.problems)
            before, published = published, published_bytes(settings.home)
            moved = sorted(name for name in before | published if before.get(name) != published.get(name))
            for kind, month in asked.items():
                assert any(f"usage_month={month}" in name for name in moved), f"seed {SEED}: {kind} changed nothing of {month}"
            if kinds == ["fx_rates"]:
                elsewhere = [name for name in moved if "usage_month=" in name and f"usage_month={asked['fx_rates']}" not in name]
                assert not elsewhere, f"seed {SEED}: a rate of the end of one month changed other months: {elsewhere}"
        refresh(settings, full=True, say=print)
    full = published_bytes(settings.home)
    stale = sorted(name for name in full | published if full.get(name) != published.get(name))
    assert not stale, f"seed {SEED}: after changes of {turns} these are stale: {stale}"
