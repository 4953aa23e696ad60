"""What the end of a run and the disk show: the first cause alone, in whichever words it came."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagster_project.alerts.causes import of_disk, of_run, of_sources
from dagster_project.alerts.watched_run import Watched
from dagster_project.alerts.watching import watched
from dagster_project.base.failures import GateError, LockHeldError, MachineError, UsageError
from dagster_project.landing.planning import Problem
from dagster_project.settings import settings_of
from dagster_project.warehouse.home import Home
from tests.oracle.builders import Exports, run


@pytest.fixture
def home(tmp_path: Path) -> Home:
    source = {"name": "runs", "kind": "training_runs", "location": "."}
    return Home.of(settings_of({"organisation": {"name": "Test"}, "sources": [source]}, tmp_path / "trainledger.yaml"))


def ended_with(home: Home, error: Exception) -> list[tuple[str, str, str]]:
    with pytest.raises(type(error)), watched(home, "refresh", print) as seen:
        raise error
    return [(one.key, one.first, one.remedy) for one in of_run(home.settings, seen)]


def test_a_failed_run_is_the_gates_that_did_not_pass_or_whatever_else_stopped_it(home: Home) -> None:
    gates = GateError("2 gates did not pass", remedy="Correct them.")
    gates.gates = ("dbt.one", "dbt.two", "dbt.report.rpt_coverage")  # a report table is a cause by itself
    first = ("2 gates did not pass", "Correct them.")
    assert ended_with(home, gates) == [("gate/dbt.one", *first), ("gate/dbt.two", *first)]
    assert ended_with(home, GateError("landed bytes differ", where="a/b")) == [("gate/build", "landed bytes differ (a/b)", "")]
    full = MachineError("the disk is full", remedy="Make room.")
    assert ended_with(home, full) == [("run/refresh", "the disk is full", "Make room.")]
    [(key, text, _)] = ended_with(home, ValueError("a bug"))
    assert (key, text) == ("run/refresh", "ValueError: a bug")
    for mistake in (UsageError("no such option"), LockHeldError("another one writes")):
        assert ended_with(home, mistake) == []


def test_each_delivery_that_was_not_taken_has_its_key_and_a_source_is_one_message(home: Home) -> None:
    seen = Watched("refresh")
    seen.look(["runs"], [Problem("runs", "2026-04", "cut off.", "Deliver it again."), Problem("runs", "", "it is gone.")])
    found = [*of_sources(home.settings, seen)]
    assert [(one.key, one.group) for one in found] == [("source/runs/2026-04", "source/runs"), ("source/runs/", "source/runs")]
    assert found[0].first == "2026-04 of runs: cut off. Deliver it again."


def test_a_disk_below_its_limit_is_found_and_one_above_is_not(tmp_path: Path) -> None:
    exports = Exports(tmp_path)
    exports.runs(run("run-a"))
    for limit, expected in (("900000000TB", ["disk"]), ("1MB", [])):
        document = {
            "organisation": {"name": "T"},
            "sources": exports.sources,
            "alerts": {"command": ["true"], "disk_free": limit},
        }
        home = Home.of(settings_of(document, tmp_path / "trainledger.yaml"))
        assert home.settings.alerts
        assert [one.key for one in of_disk(home, home.settings.alerts)] == expected
