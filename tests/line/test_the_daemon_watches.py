"""Dagster's own daemon over a line that is left alone: a new month is found and published, a final quarter is reported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from dagster_project.assets import names
from dagster_project.assets.instance import prepare_instance
from dagster_project.warehouse.site import Site
from tests.landing.kit import Organisation, bill_line, carbon_row

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
LONGEST_SECONDS = 900
SOURCES = [
    {"name": name, "kind": kind, "location": f"./exports/{name}"} for name, kind in (("cur", "aws_cur"), ("carbon", "aws_carbon"))
]
# the graph that `trainledger ui` shows, but that a sensor may look every three seconds
GRAPH = """
import os
from pathlib import Path
from dagster_project.assets.graph import build_definitions
from dagster_project.settings import load_settings
defs = build_definitions(load_settings(Path(os.environ["TRAINLEDGER_CONFIG"])), seconds=3)
"""


def deliver(organisation: Organisation, month: str) -> None:
    """A month of bill and carbon to which nothing will be added: every line has its invoice."""
    number = int(month[-2:])
    line = bill_line(day=f"{month}-01", number=number, bill_invoice_id=f"invoice-{number}", resource_tags={})
    at = f"2026-{number + 1:02d}-20"
    organisation.deliver([line], at=at, month=month)
    organisation.deliver_carbon([carbon_row(month=month)], at=at, month=month)


@pytest.fixture
def organisation(tmp_path: Path) -> Organisation:
    """April and May are there; June is not."""
    made = Organisation(tmp_path, *SOURCES)
    for month in ("2026-04", "2026-05"):
        deliver(made, month)
    document: dict[str, Any] = {"organisation": {"name": "Test"}, "home": "./home", "sources": SOURCES}
    document["schedules"] = {"new_deliveries": True, "quarterly": True}
    made.settings.path.write_text(yaml.safe_dump(document))
    return made


@pytest.fixture
def instance(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.setenv("DAGSTER_HOME", "")
    prepare_instance(organisation.settings.home)
    with dg.DagsterInstance.get() as opened:
        yield opened


@pytest.fixture
def daemon(organisation: Organisation, instance: dg.DagsterInstance) -> Iterator[Callable[[], str]]:
    """Its log; all that happens is its doing. The true-up of 2026 was over in July 2027, so what is there is final."""
    (organisation.folder / "graph.py").write_text(GRAPH)
    log = organisation.folder / "daemon.log"
    more = {"TRAINLEDGER_CONFIG": str(organisation.settings.path), "TRAINLEDGER_NOW": "2027-08-01T00:00:00Z"}
    command = [Path(sys.executable).parent / "dagster-daemon", "run", "-f", organisation.folder / "graph.py"]
    with log.open("w") as out:
        surroundings = os.environ | more | {"FRESHNESS_DAEMON_INTERVAL_SECONDS": "2"}
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=ROOT, env=surroundings)
    try:
        yield log.read_text
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=90)


def wait_for(condition: Callable[[], bool], log: Callable[[], str]) -> None:
    """Until it holds; the daemon's log where it never does."""
    end = time.monotonic() + LONGEST_SECONDS
    while not condition():
        assert time.monotonic() < end, log()[-6000:]
        time.sleep(0.5)


def test_a_new_month_is_found_and_published_and_the_quarter_that_is_final_then_is_reported_once(
    organisation: Organisation, instance: dg.DagsterInstance, daemon: Callable[[], str]
) -> None:
    site = Site.of_home(organisation.settings.home)

    def runs(job: str) -> list[str]:
        return [run.status.value for run in instance.get_runs(dg.RunsFilter(job_name=job))]

    def is_published(month: str) -> bool:
        return f"AWS/{month}" in (site.publication() or {}).get("units", {}) and "STARTED" not in runs("refresh")

    wait_for(lambda: is_published("2026-05"), daemon)
    assert runs("refresh") == ["SUCCESS"] and runs("quarterly_report") == [], "two months of a quarter are not the quarter"
    deliver(organisation, "2026-06")
    wait_for(lambda: is_published("2026-06") and runs("quarterly_report") == ["SUCCESS"], daemon)
    assert runs("refresh") == ["SUCCESS", "SUCCESS"]
    assert (site.root / "reports/2026Q2/report.pdf").exists()
    watched = [names.PUBLICATION, names.landing_key("cur"), dg.AssetKey(["marts", "fct_reconciliation"])]
    wait_for(lambda: {*states(instance, watched)} == {"PASS"}, daemon)
    assert runs("quarterly_report") == ["SUCCESS"] and runs("refresh") == ["SUCCESS", "SUCCESS"]


def states(instance: dg.DagsterInstance, keys: list[dg.AssetKey]) -> list[str]:
    """How fresh assets are, as Dagster's daemon found last."""
    found = instance.get_freshness_state_records(keys)
    return [found[key].freshness_state.value if key in found else "UNKNOWN" for key in keys]
