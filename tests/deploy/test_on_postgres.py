"""A deployment on a real PostgreSQL server: the commands of the units in deploy/, killed and started again as machines do it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_project.assets.names import landing_key
from dagster_project.base.locking import writer_lock
from dagster_project.settings import Settings, load_settings
from tests.browser import free_port
from tests.invented_build import show, steps_of
from tests.line.kit import query, write_small_exports
from tests.postgres import postgres

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
NOW = "2026-06-20T00:00:00Z"
LONGEST = 400.0  # of anything that is waited for
GRAPH = 'repositoryLocationName: "dagster_project.definitions", repositoryName: "__repository__"'
READERS, LOOKS = 20, 5


@pytest.fixture(scope="module")
def database() -> Iterator[dict[str, str]]:
    with postgres() as there:
        yield there


def line(folder: Path) -> Settings:
    """A small organisation whose home has the dagster.yaml of a deployment."""
    write_small_exports(folder)
    settings = load_settings(folder / "trainledger.yaml")
    (settings.home / ".dagster").mkdir(parents=True)
    shutil.copy(DEPLOY / "dagster.yaml", settings.home / ".dagster")
    return settings


def test_what_the_command_line_did_is_a_run_there(
    database: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = line(tmp_path)
    for name, value in (database | {"TRAINLEDGER_NOW": NOW, "DAGSTER_HOME": str(settings.home / ".dagster")}).items():
        monkeypatch.setenv(name, value)
    assert show(settings, steps_of(settings)) == []
    with dg.DagsterInstance.get() as instance:
        assert type(instance.event_log_storage).__name__ == "PostgresEventLogStorage"
        assert [run.status.value for run in instance.get_runs()] == ["SUCCESS"]
        assert instance.get_latest_materialization_event(landing_key("cur")).asset_materialization.partition == "2026-04"
        instance.wipe()  # the next test's list begins empty


def until(what: Callable[[], Any], longest: float = LONGEST) -> Any:
    """The first answer that is one."""
    ends = time.monotonic() + longest
    while not (answer := what()):
        assert time.monotonic() < ends, "it did not come to be"
        time.sleep(0.5)
    return answer


class Deployment:
    """Code server, daemon and pages of one home, by the commands of their units."""

    def __init__(self, settings: Settings, database: dict[str, str], folder: Path) -> None:
        self.settings, self._folder, self._port = settings, folder, str(free_port())
        self._environment = os.environ | database
        self._environment |= {"TRAINLEDGER_CONFIG": str(settings.path), "DAGSTER_HOME": str(settings.home / ".dagster")}
        self._environment |= {"TRAINLEDGER_NOW": NOW, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        self._places = {
            "/opt/trainledger/bin": str(Path(sys.executable).parent),
            "/run/trainledger": str(folder),
            "/etc/trainledger": str(folder),
            "dagster_project.definitions": "tests.deploy.every_minute",
            "3000": self._port,
        }
        workspace = (DEPLOY / "workspace.yaml").read_text().replace("/run/trainledger", str(folder))
        (folder / "workspace.yaml").write_text(workspace)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, service: str) -> None:
        unit = (DEPLOY / "systemd" / f"trainledger-{service}.service").read_text()
        [command] = [words for words in unit.splitlines() if words.startswith("ExecStart=")]
        command = command.removeprefix("ExecStart=")
        for place, here in self._places.items():
            command = command.replace(place, here)
        with (self._folder / f"{service}.log").open("ab") as log:
            self._running[service] = subprocess.Popen(
                shlex.split(command), stdout=log, stderr=log, cwd=ROOT, env=self._environment, start_new_session=True
            )

    def end(self, service: str, how: signal.Signals = signal.SIGTERM) -> None:
        """Signal a service and all it started, as systemd does."""
        process = self._running.pop(service)
        os.killpg(process.pid, how)
        process.wait(timeout=60)

    def end_all(self) -> None:
        for service in [*self._running]:
            self.end(service, signal.SIGKILL)

    def log(self, service: str) -> str:
        return (self._folder / f"{service}.log").read_text()

    def ask(self, text: str, **variables: Any) -> Any:
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}/graphql", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["data"]

    def serve_code(self) -> None:
        (self._folder / "code.sock").unlink(missing_ok=True)
        self.start("code")
        until(lambda: (self._folder / "code.sock").exists() or self._running["code"].poll() is not None)
        assert self._running["code"].poll() is None, self.log("code")

    def is_answering(self) -> bool:
        try:
            return any(
                self.ask("{repositoriesOrError {... on RepositoryConnection {nodes {name}}}}")["repositoriesOrError"]["nodes"]
            )
        except (urllib.error.URLError, ConnectionError):
            return False

    def runs(self) -> dict[str, tuple[str, dict[str, str]]]:
        """State and tags of every run."""
        found = self.ask("{runsOrError {... on Runs {results {runId status tags {key value}}}}}")["runsOrError"]["results"]
        return {run["runId"]: (run["status"], {tag["key"]: tag["value"] for tag in run["tags"]}) for run in found}

    def launch(self, *, full: bool = False) -> str:
        """Ask for a refresh, as the page's button does."""
        asked = f'executionParams: {{selector: {{{GRAPH}, pipelineName: "refresh"}}, mode: "default", runConfigData: $config}}'
        launch = f"mutation ($config: RunConfigData) {{launchPipelineExecution({asked})"
        found = self.ask(
            launch + " {... on LaunchRunSuccess {run {runId}}}}", config={"ops": {"build": {"config": {"full": full}}}}
        )
        return found["launchPipelineExecution"]["run"]["runId"]

    def steps(self, run: str) -> dict[str, str]:
        """State of each step that began."""
        found = self.ask(f'{{runOrError(runId: "{run}") {{... on Run {{stepStats {{stepKey status}}}}}}}}')["runOrError"]
        return {step["stepKey"]: step["status"] for step in found["stepStats"]}

    def is_waiting_for_the_lock(self, run: str) -> bool:
        return self.runs()[run][0] in ("STARTING", "STARTED") and "Waiting up to" in self.log("code")

    def ended(self, run: str) -> str:
        return until(lambda: state if (state := self.runs()[run][0]) in ("SUCCESS", "FAILURE", "CANCELED") else None)


@pytest.fixture(scope="module")
def deployment(database: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = Path(tempfile.mkdtemp())  # a socket's path is short
    serving = Deployment(line(tmp_path_factory.mktemp("deployed")), database, folder)
    try:
        serving.serve_code()
        serving.start("daemon")
        serving.start("webserver")
        until(serving.is_answering)
        yield serving
    finally:
        serving.end_all()
        shutil.rmtree(folder)


@pytest.mark.nightly
def test_a_refresh_is_queued_run_and_published_while_many_read_the_pages(deployment: Deployment) -> None:
    run = deployment.launch()

    def read(_: int) -> list[str]:
        return [deployment.runs()[run][0] for _ in range(LOOKS)]

    with ThreadPoolExecutor(READERS) as readers:
        assert all(len(seen) == LOOKS for seen in readers.map(read, range(READERS)))
    assert deployment.ended(run) == "SUCCESS", deployment.log("code")
    assert query(deployment.settings.home, "select count(*) from marts.dim_training_runs") == [(3,)]


@pytest.mark.nightly
def test_a_backfill_lands_one_month_of_one_source(deployment: Deployment) -> None:
    asked = {"assetSelection": [{"path": ["landing", "cur"]}], "partitionNames": ["2026-04"], "title": "again"}
    backfill = "mutation ($asked: LaunchBackfillParams!) {launchPartitionBackfill(backfillParams: $asked) {... on %s}}"
    launched = deployment.ask(backfill % "LaunchBackfillSuccess {backfillId}", asked=asked)["launchPartitionBackfill"]

    def of_the_backfill() -> list[str]:
        return [run for run, (_, tags) in deployment.runs().items() if tags.get("dagster/backfill") == launched["backfillId"]]

    [run] = until(of_the_backfill)
    assert deployment.ended(run) == "SUCCESS", deployment.log("code")


@pytest.mark.nightly
def test_schedule_and_sensor_go_on_where_they_were_after_the_daemon_ended(deployment: Deployment) -> None:
    deployment.ask(f'mutation {{startSchedule(scheduleSelector: {{{GRAPH}, scheduleName: "every_minute"}}) {{__typename}}}}')
    deployment.ask(f'mutation {{startSensor(sensorSelector: {{{GRAPH}, sensorName: "counting"}}) {{__typename}}}}')
    sensor = f'{{sensorOrError(sensorSelector: {{{GRAPH}, sensorName: "counting"}})'
    sensor += " {... on Sensor {sensorState {id typeSpecificData {... on SensorData {lastCursor}}}}}}"

    def counted() -> int:
        return int(deployment.ask(sensor)["sensorOrError"]["sensorState"]["typeSpecificData"]["lastCursor"] or 0)

    until(lambda: counted() >= 1)
    deployment.end("daemon")
    before = counted()
    deployment.start("daemon")
    until(lambda: counted() > before)

    def of_the_schedule() -> list[str]:
        return [run for run, (_, tags) in deployment.runs().items() if tags.get("dagster/schedule_name") == "every_minute"]

    first = until(of_the_schedule)[-1]
    asked = f'{{scheduleOrError(scheduleSelector: {{{GRAPH}, scheduleName: "every_minute"}})'
    schedule = deployment.ask(asked + " {... on Schedule {scheduleState {id}}}}")["scheduleOrError"]["scheduleState"]["id"]
    deployment.ask("mutation ($id: String!) {stopRunningSchedule(id: $id) {__typename}}", id=schedule)
    counting = deployment.ask(sensor)["sensorOrError"]["sensorState"]["id"]
    deployment.ask("mutation ($id: String!) {stopSensor(id: $id) {__typename}}", id=counting)
    assert deployment.ended(first) == "SUCCESS", deployment.log("code")
    for run in of_the_schedule():
        deployment.ended(run)


@pytest.mark.nightly
def test_a_run_goes_on_without_its_daemon(deployment: Deployment) -> None:
    with writer_lock(deployment.settings.home, "a test"):
        run = deployment.launch()
        until(lambda: deployment.is_waiting_for_the_lock(run))
        deployment.end("daemon")
    deployment.start("daemon")
    assert deployment.ended(run) == "SUCCESS", deployment.log("code")


@pytest.mark.nightly
def test_the_run_of_a_killed_code_server_is_ended_by_the_next(deployment: Deployment) -> None:
    killed = deployment.launch(full=True)
    until(lambda: deployment.steps(killed).get("build") == "IN_PROGRESS")
    deployment.end("code", signal.SIGKILL)
    assert deployment.runs()[killed][0] == "STARTED"
    deployment.serve_code()
    until(deployment.is_answering)
    assert deployment.ended(deployment.launch()) == "SUCCESS", deployment.log("code")
    assert deployment.runs()[killed][0] == "FAILURE"
