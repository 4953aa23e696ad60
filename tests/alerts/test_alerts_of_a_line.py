"""A line whose refreshes alternate between the command line and Dagster: one letter and one call for each cause, and its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from dagster_project.alerts.watched_run import Failed
from dagster_project.assets.alerting import alert_sensors, failure_of_run
from dagster_project.assets.graph import build_definitions
from dagster_project.assets.instance import prepare_instance
from dagster_project.base.failures import GateError
from dagster_project.settings import load_settings
from tests.alerts.kit import SECRETS, Received, alerts_of, environment, servers
from tests.invented_build import show, steps_of
from tests.line.kit import write_small_exports
from tests.warm import run_trainledger

pytestmark = pytest.mark.slow
NOW = "2026-05-20T12:00:00Z"


class Line:
    """A small organisation with servers that take its alerts."""

    def __init__(self, folder: Path, received: Received) -> None:
        self.exports = write_small_exports(folder)
        self.config, self.received, self.shown = folder / "trainledger.yaml", received, list[str]()
        document = yaml.safe_load(self.config.read_text())
        document["alerts"] = alerts_of(received, budgets={"one": "500 USD"}, ui_url="https://dagster.example.com/")
        self.config.write_text(yaml.safe_dump(document))
        self.settings = load_settings(self.config)
        prepare_instance(self.settings.home)
        self.definitions = build_definitions(self.settings)

    def deliver(self, bill: Path, data: bytes, hour: int) -> None:
        """The bill again, at an hour of the day."""
        bill.write_bytes(data)
        at = datetime(2026, 5, 20, hour, tzinfo=UTC).timestamp()
        for path in self.exports.folder.glob("exports/cur/**/*"):
            os.utime(path, (at, at))

    def by_command_line(self, *options: str, now: str = NOW) -> int:
        done = run_trainledger("refresh", "--config", self.config, *options, now=now)
        self.shown += [done.stdout, done.stderr]
        return done.returncode

    def by_dagster(self, job: str = "refresh") -> bool:
        with dg.DagsterInstance.get() as instance:
            done = self.definitions.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)
        return done.success

    def status(self) -> list[str]:
        done = run_trainledger("status", "--config", self.config, "--json", now=NOW)
        self.shown.append(done.stdout)
        return [line for line in json.loads(done.stdout)["warnings"] if "alerts not sent" in line]

    def arrived(self) -> tuple[list[str], list[str]]:
        """Subjects of letters and titles of calls since the last time."""
        found = sorted(self.received.subjects), sorted(self.received.titles)
        self.shown += [letter.as_string() for letter in self.received.letters]
        self.shown.append(json.dumps(self.received.calls))
        self.received.letters.clear(), self.received.calls.clear()
        return found


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    folder = tmp_path_factory.mktemp("line")
    with servers(folder) as received, pytest.MonkeyPatch.context() as patch:
        for name, value in {**environment(received, folder), "TRAINLEDGER_NOW": NOW, "DAGSTER_HOME": ""}.items():
            patch.setenv(name, value)
        yield Line(folder, received)


def both(*titles: str) -> tuple[list[str], list[str]]:
    return sorted(titles), sorted(titles)


def test_each_cause_is_one_letter_and_one_call_and_its_end_is_too_whoever_refreshes(line: Line) -> None:
    # a good refresh: a run is above its budget, and nothing else is wrong
    assert line.by_command_line() == 0
    assert line.arrived() == both("run-a is above its budget")

    # a refused delivery, while the web server answers 500: the refresh is what it is without alerts, and the call waits
    [bill] = line.exports.folder.glob("exports/cur/data/*/*.parquet")
    good = bill.read_bytes()
    line.deliver(bill, good[: len(good) // 2], hour=1)
    line.received.http_status = 500
    assert line.by_command_line() == 3
    refused = "cur: a delivery was not taken"
    assert line.arrived() == ([refused], [])
    assert [text.partition(" since")[0] for text in line.status()] == ["alerts not sent by webhook: 1,"]
    assert "the server answered 500. The next refresh tries again." in line.status()[0]

    # Dagster finds the same: its run is red, the letter is not sent again, and the call arrives
    line.received.http_status = 200
    assert not line.by_dagster()
    assert line.arrived() == ([], [refused])
    assert line.status() == []
    assert line.by_command_line() == 3
    assert line.arrived() == both()

    # the next good delivery ends the matter
    line.deliver(bill, good, hour=2)
    assert line.by_dagster()
    assert line.arrived() == both(f"Over: {refused}")

    # a month later nothing came: the bill is late and a month of carbon lacks; the run's budget is an old matter that lasts
    assert line.by_command_line(now="2026-06-22T00:00:00Z") == 0
    late = ("cur is late", "carbon: no emissions of 2026-05")
    assert line.arrived() == both(*late)
    assert line.by_dagster()
    assert line.arrived() == both(*(f"Over: {title}" for title in late))


def test_a_run_that_was_killed_is_reported_by_the_sensor_and_over_with_the_next_good_one(line: Line) -> None:
    failed, _ = alert_sensors(line.settings)
    with dg.DagsterInstance.get() as instance:
        run = instance.create_run_for_job(line.definitions.resolve_job_def("refresh"))
        instance.report_run_failed(run, "Run worker was killed")
        [entry] = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.PIPELINE_FAILURE)
        event = entry.get_dagster_event()

        def look(number: str) -> Any:
            found = instance.get_run_by_id(number)
            assert found
            return failed(dg.build_run_status_sensor_context("alerts_of_failed_runs", event, instance, found))

        look(run.run_id)
        assert line.arrived() == both("refresh failed")
        red = [one for one in instance.get_runs() if one.tags.get("trainledger/alerts") == "sent"]
        assert red and isinstance(look(red[0].run_id), dg.SkipReason), "a run that sent its alerts is not looked at again"
    assert line.by_command_line() == 0
    assert line.arrived() == both("Over: refresh failed")


def test_gates_that_failed_in_a_run_are_read_from_its_events(line: Line) -> None:
    error = GateError("2 gates did not pass", remedy="Correct them.")
    error.gates = ("dbt.one", "dbt.two")
    with pytest.raises(GateError):
        show(line.settings, steps_of(line.settings, error))
    with dg.DagsterInstance.get() as instance:
        [newest] = instance.get_runs(limit=1)
        assert failure_of_run(instance, newest.run_id) == Failed("2 gates did not pass.", "Correct them.", error.gates)


def test_without_alerts_nothing_of_them_is_imported(line: Line) -> None:
    document = yaml.safe_load(line.config.read_text())
    del document["alerts"]
    config = line.config.with_name("without.yaml")
    config.write_text(yaml.safe_dump(document))
    script = (
        "import sys\nfrom dagster_project.cli import app\n"
        f"try:\n app(['refresh', '--config', {str(config)!r}])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print([name for name in sys.modules if name.startswith('dagster_project.alerts.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "['dagster_project.alerts.watched_run', 'dagster_project.alerts.watching']\n", done.stderr


def test_a_refresh_that_fails_sends_its_alerts_before_it_ends(line: Line) -> None:
    landed = min(line.settings.home.glob("landing/carbon/**/*.parquet"))
    landed.chmod(0o600)
    landed.write_bytes(landed.read_bytes() + b"x")
    assert line.by_command_line("--full") == 3
    assert line.arrived() == both("refresh failed")
    assert "a landed object has other bytes" in line.shown[-2]


def test_no_secret_is_in_any_output_letter_call_or_file(line: Line) -> None:
    shown = "\n".join(line.shown)
    assert "a delivery was not taken" in shown
    assert not [secret for secret in SECRETS if secret in shown]
    files = [path for path in line.settings.home.rglob("*") if path.is_file()]
    assert not [path for path in files for secret in SECRETS if secret.encode() in path.read_bytes()]
