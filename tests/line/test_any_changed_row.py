"""Anything changed anywhere: what a refresh builds again is enough, whether a row, a model, a seed or a setting changed.

What a build unit depends on is declared in election/units.py and read by SQL, and what of a build is run is decided by what each
statement reads; only a full build can tell whether they agree. So one thing after another is changed and refreshed, and the
publication is compared, byte for byte, with that of a full build. Months lie apart and two are never changed, one before and one
after the others: what should have been built again is not built by accident.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.registry import KINDS
from dagster_project.base.code import code_version
from dagster_project.commands.refreshing import refresh
from dagster_project.election import units
from dagster_project.warehouse import builds, days, statements
from dagster_project.warehouse.statements import BY_MONTH, Statement
from tests import nightly
from tests.landing.kit import Organisation
from tests.line.company import MONTHS, NODE, Company
from tests.line.kit import published_bytes
from tests.warm import without_dagster

pytestmark = pytest.mark.slow
CHANGED = MONTHS[1:-1]
OF_A_YEAR = {"aws_water": "fct_water_withdrawals"}  # months of a year that lacks others have no figure of it
# no run of this company holds what they meter, or not in each month
UNSEEN = {"xprof", "neuron_power", "power_meters", "prometheus", "wandb"}
COMPARED = 12  # changes, each with a refresh, before the publication is compared with a full one
# what a release may change, with the selects of which one is drawn; without any nothing that is published may move
OF_A_RELEASE: dict[str, list[tuple[str, str]]] = {
    "same rows": [],
    "setting": [],
    "rows of a model": [
        ("fct_quarantine", "* replace (coalesce(remedy, '') || '.' as remedy)"),
        ("dim_fx_rates", "* replace (source || '.' as source)"),
        ("dim_regions", "* replace (coalesce(note, '') || '.' as note)"),
    ],
    "seed": [
        ("pue", "* replace (pue_ratio + 0.01 as pue_ratio)"),
        ("emission_factors", "* replace (value * 1.01 as value)"),
        ("prices", "* replace (price_per_unit + 1 as price_per_unit)"),
    ],
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


def change_aws_focus(company: Company, month: str, draw: random.Random) -> None:
    draw.choice(company.aws_focus[month])["line_item_unblended_cost"] = draw.choice([1.25, 9.5])
    company.aws_focus_bill(month)


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


def change_price(company: Company, month: str, draw: random.Random) -> None:
    company.listed[month] += 0.25
    company.price_list(month)


def change_rate(company: Company, month: str, draw: random.Random) -> None:
    company.rates[month] += 0.01
    company.tables()


def change_own_figure(company: Company, month: str, draw: random.Random) -> None:
    company.pue += 0.05
    company.tables()


def change_total(company: Company, month: str, draw: random.Random) -> None:
    company.stated[month] += 1
    company.tables()


def change_water(company: Company, month: str, draw: random.Random) -> None:
    company.withdrawn += 1
    company.tables()


def change_gpu(company: Company, month: str, draw: random.Random) -> None:
    company.watts["gpu", month] += draw.choice([25.0, 50.0])
    company.gpu(month)


def change_profile(company: Company, month: str, draw: random.Random) -> None:
    company.watts["xprof", month] += draw.choice([25.0, 50.0])
    company.profile(month)


def change_driver(company: Company, month: str, draw: random.Random) -> None:
    shares = company.watts  # of full power, so never above 100
    shares["neuron_power", month] = (shares["neuron_power", month] + draw.choice([25.0, 50.0])) % 100
    company.driver(month)


def change_meter(company: Company, month: str, draw: random.Random) -> None:
    company.watts["power_meters", month] += draw.choice([250.0, 500.0])
    company.meter(month)


def change_metrics(company: Company, month: str, draw: random.Random) -> None:
    company.watts["prometheus", month] += draw.choice([250.0, 500.0])
    company.metrics(month)


def change_events(company: Company, month: str, draw: random.Random) -> None:
    company.watts["wandb", month] += draw.choice([25.0, 50.0])
    company.events(month)


CHANGES: dict[str, Callable[[Company, str, random.Random], None]] = {
    "aws_cur": change_bill,
    "aws_focus": change_aws_focus,
    "aws_carbon": change_carbon,
    "gcp_billing": change_google,
    "gcp_focus": change_focus,
    "gcp_carbon": change_google_carbon,
    "training_runs": change_run,
    "neuron_monitor": change_neuron,
    "tpu_monitoring": change_tpu,
    "gpu_monitoring": change_gpu,
    "xprof": change_profile,
    "neuron_power": change_driver,
    "power_meters": change_meter,
    "prometheus": change_metrics,
    "wandb": change_events,
    "gcp_prices": change_price,
    "fx_rates": change_rate,
    "user_inputs": change_own_figure,
    "provider_totals": change_total,
    "aws_water": change_water,
}
NAMES = {
    "aws_cur": "cur",
    "aws_focus": "aws-focus",
    "aws_carbon": "carbon",
    "gcp_billing": "google",
    "gcp_focus": "focus",
    "gcp_carbon": "google-carbon",
    "training_runs": "runs",
    "neuron_monitor": "neuron",
    "tpu_monitoring": "tpu",
    "gpu_monitoring": "gpu",
    "xprof": "xprof",
    "neuron_power": "neuron-power",
    "power_meters": "meters",
    "prometheus": "metrics",
    "wandb": "events",
    "gcp_prices": "prices",
    "fx_rates": "fx",
    "user_inputs": "own",
    "provider_totals": "totals",
    "aws_water": "water",
}


def test_every_kind_of_source_has_a_row_that_is_changed_here() -> None:
    assert set(CHANGES) == set(NAMES) == set(KINDS)


class Release:
    """Releases one after another: each changes one statement of the project, and with it the version of the code."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self.selects: dict[str, str] = {}  # by model or seed what is selected of its rows instead of *
        lay_out, version = statements.statements, code_version()
        monkeypatch.setattr(statements, "statements", lambda home: [self.of(one) for one in lay_out(home)])
        for module in (units, builds, days):
            monkeypatch.setattr(module, "code_version", lambda: f"{version} {self.number}")

    def of(self, one: Statement) -> Statement:
        select = self.selects.get(one.name)
        return replace(one, sql=f"select {select} from (\n{one.sql}\n)") if select else one

    def change(self, name: str, select: str) -> None:
        self.number += 1
        self.selects[name] = f"{select} /* release {self.number} */"


def test_after_any_change_the_publication_is_that_of_a_full_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-10-10T00:00:00Z")
    euros = {"name": "Test", "reporting_currency": "EUR"}  # the bills are in dollars, so that a rate converts them
    company = Company(
        Organisation(
            tmp_path,
            *({"name": name, "kind": kind} for kind, name in NAMES.items()),
            organisation=euros,
            hosts={"10.0.0.7:9290": NODE},
        )
    )
    company.deliver_all()
    seed = nightly.seed()
    settings, draw, release = company.organisation.settings, random.Random(seed), Release(monkeypatch)
    models = [one.name for one in statements.statements(settings.home) if one.kind in (BY_MONTH, "table")]
    every = [*CHANGES, *OF_A_RELEASE]
    changes = draw.choices(every, k=300) if nightly.IS_NIGHTLY else draw.sample([*every, "same rows", "seed"], len(every) + 2)
    with without_dagster():
        assert refresh(settings, say=print).exit_code == 0
        published = published_bytes(settings.home)
        for number, change in enumerate(changes, 1):
            month, is_repeated = draw.choice(CHANGED), False
            if change in CHANGES:
                CHANGES[change](company, month, draw)
            elif change == "setting":
                hosts = settings.hosts | {f"10.0.0.{number}:9290": "i-another"}
                settings = settings.model_copy(update={"run_tag_keys": [*settings.run_tag_keys, f"tag_{number}"], "hosts": hosts})
            elif change == "same rows":
                release.change(draw.choice(models), "*")
            else:
                name, select = draw.choice(OF_A_RELEASE[change])
                is_repeated = name in release.selects  # the same change of the same table again is none
                release.change(name, select)
            done = refresh(settings, say=print)
            assert done.exit_code == 0 and not (done.build and done.build.is_full), (seed, number, change, done.problems)
            before, published = published, published_bytes(settings.home)
            moved = sorted(name for name in before | published if before.get(name) != published.get(name))
            if change in CHANGES.keys() - UNSEEN and not nightly.IS_NIGHTLY:  # there a row may be drawn as it was
                wanted = OF_A_YEAR.get(change, f"usage_month={month}")
                assert any(wanted in name for name in moved), f"seed {seed}: {change} moved nothing of {wanted}"
            if change == "fx_rates":
                elsewhere = [name for name in moved if "usage_month=" in name and f"usage_month={month}" not in name]
                assert not elsewhere, f"seed {seed}: a rate of the end of {month} changed other months: {elsewhere}"
            if change in OF_A_RELEASE and not is_repeated:
                assert bool(moved) == bool(OF_A_RELEASE[change]), f"seed {seed}: {change} moved {moved}"
            if number % COMPARED == 0 or number == len(changes):
                refresh(settings, full=True, say=print)
                full = published_bytes(settings.home)
                stale = sorted(name for name in full | published if full.get(name) != published.get(name))
                assert not stale, f"seed {seed}: after {changes[:number]} these are stale: {stale}"
