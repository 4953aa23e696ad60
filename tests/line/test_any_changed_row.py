"""A changed row anywhere: the months that a refresh builds again are enough, whichever source the row is of.

What a build unit depends on is declared in election/units.py and read by SQL; only a full build can tell whether they agree. So
rows of every kind of source are changed, some kinds in a turn, refreshed, and at the end the publication is compared,
byte for byte, with that of a full build. Months lie apart and two are never changed, one before and one after the others: what
should have been built again is not built by accident.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from connectors.registry import KINDS
from dagster_project.commands.refreshing import refresh
from tests.landing.kit import Organisation
from tests.line.company import MONTHS, Company
from tests.line.kit import published_bytes
from tests.warm import warm_dbt

pytestmark = pytest.mark.slow
CHANGED = MONTHS[1:-1]
SEED = 20261121
A_TURN = 5  # kinds that are changed before a refresh


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


def change_gpu(company: Company, month: str, draw: random.Random) -> None:
    company.watts["gpu", month] += draw.choice([25.0, 50.0])
    company.gpu(month)


def change_profile(company: Company, month: str, draw: random.Random) -> None:
    company.watts["xprof", month] += draw.choice([25.0, 50.0])
    company.profile(month)


def change_driver(company: Company, month: str, draw: random.Random) -> None:
    company.watts["neuron_power", month] += draw.choice([25.0, 50.0])
    company.driver(month)


def change_meter(company: Company, month: str, draw: random.Random) -> None:
    company.watts["power_meters", month] += draw.choice([250.0, 500.0])
    company.meter(month)


CHANGES: dict[str, Callable[[Company, str, random.Random], None]] = {
    "aws_cur": change_bill,
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
    "gpu_monitoring": "gpu",
    "xprof": "xprof",
    "neuron_power": "neuron-power",
    "power_meters": "meters",
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
    turns = [["fx_rates"], *(others[first : first + A_TURN] for first in range(0, len(others), A_TURN))]
    with warm_dbt():
        assert refresh(settings, say=print).exit_code == 0
        published = published_bytes(settings.home)
        for kinds in turns:
            asked = dict(zip(kinds, draw.sample(CHANGED * 2, len(kinds)), strict=True))
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
