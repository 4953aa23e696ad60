"""A deployment on a real PostgreSQL server: the commands of the units in deploy/, killed and started again as machines do it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.dagster_run import DagsterRun
from sqlalchemy import text

from dagster_project.assets.history_tables import bytes_on_server
from dagster_project.assets.names import REFRESH, landing_key
from dagster_project.base.locking import writer_lock
from dagster_project.commands.pruning import run as prune
from dagster_project.commands.status import read_status
from dagster_project.settings import Settings, load_settings
from tests.deploy.kit import DEPLOY, GRAPH, Deployment, deployed, until
from tests.invented_build import show, steps_of
from tests.line.kit import query, write_small_exports
from tests.postgres import postgres
from tests.run_side.histories import refresh_often, require_that_one_without_news_is_a_line, require_that_the_oldest_go

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
READERS, LOOKS = 20, 5
WAITS = "Waiting up to"  # of a run for the writer lock


@pytest.fixture(scope="module")
def database() -> Iterator[dict[str, str]]:
    with postgres() as there:
        yield there


def line(folder: Path) -> Settings:
    """A small organisation whose home has the dagster.yaml of a deployment, but that runs are looked at every second."""
    write_small_exports(folder)
    settings = load_settings(folder / "trainledger.yaml")
    (settings.home / ".dagster").mkdir(parents=True)
    theirs = (DEPLOY / "dagster.yaml").read_text()
    monitored = theirs.replace("start_timeout_seconds: 600", "start_timeout_seconds: 600, poll_interval_seconds: 1")
    assert monitored != theirs
    (settings.home / ".dagster/dagster.yaml").write_text(monitored)
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


@pytest.mark.nightly
def test_the_history_there_stays_below_its_bound(
    database: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = line(tmp_path)
    for name, value in (database | {"TRAINLEDGER_NOW": NOW, "DAGSTER_HOME": str(settings.home / ".dagster")}).items():
        monkeypatch.setenv(name, value)
    refresh_often(settings)
    with dg.DagsterInstance.get() as instance:
        ids, kept = require_that_the_oldest_go(instance, settings)

        def has_log(run: str) -> bool:
            return bool(instance.get_records_for_run(run).records)

        assert [*filter(has_log, ids)] == kept
        require_that_one_without_news_is_a_line(instance, settings, has_log)
        held = read_status(settings)
        assert held.home and held.home.history == bytes_on_server(instance) > 0 and held.warnings == []
        lines: list[str] = []
        prune(settings.model_copy(update={"history_megabytes": 0}), yes=False, wait=0, tell=lines.append, say=lines.append)
        assert lines[0] == f"would remove the oldest runs of Dagster's history ({held.home.history} bytes above 0 MB)"
        instance.wipe()
    monkeypatch.setenv("PGPORT", "1")
    unanswered = read_status(settings)
    [warning] = unanswered.warnings
    assert unanswered.home and unanswered.home.history is None
    assert "and is not counted: DagsterPostgresException: too many retries" in warning


@pytest.fixture(scope="module")
def deployment(database: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    settings = line(tmp_path_factory.mktemp("deployed"))
    with deployed(settings, database | {"TRAINLEDGER_NOW": NOW}, "tests.deploy.every_minute") as serving:
        yield serving


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


@pytest.mark.nightly
def test_a_run_that_was_killed_while_it_waited_is_ended_by_the_next_and_one_that_waits_is_not(deployment: Deployment) -> None:
    before = deployment.log("code").count(WAITS)
    with writer_lock(deployment.settings.home, "a test"):
        killed = deployment.launch()
        until(lambda: deployment.log("code").count(WAITS) == before + 1)
        deployment.end("code", signal.SIGKILL)
        deployment.serve_code()
        until(deployment.is_answering)
        waiting = [deployment.launch(), deployment.launch()]
        until(lambda: deployment.log("code").count(WAITS) == before + 3)
        assert {deployment.runs()[run][0] for run in (killed, *waiting)} == {"STARTED"}
    assert [deployment.ended(run) for run in waiting] == ["SUCCESS", "SUCCESS"], deployment.log("code")
    assert deployment.runs()[killed][0] == "FAILURE"


@pytest.mark.nightly
def test_a_run_that_never_began_is_ended(
    deployment: Deployment, database: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (database | {"DAGSTER_HOME": str(deployment.settings.home / ".dagster")}).items():
        monkeypatch.setenv(name, value)
    with dg.DagsterInstance.get() as instance:
        run = instance.add_run(DagsterRun(job_name=REFRESH)).run_id
        assert deployment.runs()[run][0] == "NOT_STARTED"
        with instance.run_storage.connect() as connection:
            long_ago = "update runs set create_timestamp = create_timestamp - interval '1 hour' where run_id = :run"
            connection.execute(text(long_ago), {"run": run})
    assert deployment.ended(run) == "FAILURE"
