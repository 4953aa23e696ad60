"""What reaches below Dagster's public interface; the tables of its history are history_tables.py's. A Dagster that moves a part
moves it here.

Runs that are written from outside Dagster's executor, many events in one commit, runs that were killed, and the tag by which the
page of a job finds its runs.
tests/run_side/test_run_command_line.py names the part that a release of Dagster moved.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import dagster as dg
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.events import DagsterEvent, DagsterEventType, JobFailureData, RunFailureReason, StepMaterializationData
from dagster._core.execution.plan.objects import StepFailureData, StepSuccessData, UserFailureData
from dagster._core.execution.plan.outputs import StepOutputHandle
from dagster._core.execution.plan.step import StepKind
from dagster._core.snap.execution_plan_snapshot import (
    ExecutionPlanSnapshot,
    ExecutionStepInputSnap,
    ExecutionStepOutputSnap,
    ExecutionStepSnap,
)
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.dagster_run import DagsterRun
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._utils.schedules import is_valid_cron_string

from dagster_project.assets.lives import lifeless
from dagster_project.assets.names import BUILD, BY_COMMAND_LINE, LANDING_CHECK, LOOK, POOL, REFRESH, SOURCES

REPOSITORY = {".dagster/repository": "__repository__@dagster_project.definitions"}  # the page of a job lists runs that have it
OPENS_A_FILE = "_connect"  # of SqliteEventLogStorage: (name of a file) -> a connection with a transaction begun
LOCK = "_db_lock"  # held by it while a connection is open
# whether the index has a table, over a connection of its own, and whether its table of assets has a column
ASKED_OF_EVERY_EVENT = ("has_table", "_has_asset_key_index_cols_on_connection")


@contextmanager
def one_commit(instance: dg.DagsterInstance) -> Iterator[None]:
    """Keep every event of this instance for one commit per file, or none of them. Not SQLite: a storage keeps its own ways.

    Dagster's SQLite storage opens a connection and commits two or three times for every event, and a refresh has some hundred.
    """
    storage: Any = instance.event_log_storage
    if not isinstance(storage, SqliteEventLogStorage):  # PostgreSQL's has methods of the same names and other arguments
        yield
        return
    opens = getattr(storage, OPENS_A_FILE)
    with ExitStack() as stack:
        connections: dict[str, Any] = {}

        @contextmanager
        def kept(name: str) -> Iterator[Any]:
            if name not in connections:
                setattr(storage, LOCK, Lock())  # each open file holds one: another file must not wait for it
                opened: AbstractContextManager[Any] = opens(name)
                connections[name] = stack.enter_context(opened)
            yield connections[name]

        setattr(storage, OPENS_A_FILE, kept)
        for asked in ASKED_OF_EVERY_EVENT:
            setattr(storage, asked, cache(getattr(storage, asked)))
        try:
            yield
        finally:
            for replaced in (OPENS_A_FILE, *ASKED_OF_EVERY_EVENT):
                delattr(storage, replaced)


@cache
def read_migrations_once() -> None:
    """Dagster compares the version of each of its files with the newest of its migrations, and reads all 88 for each of them."""
    read, kept = ScriptDirectory.from_config, dict[str | None, ScriptDirectory]()

    def from_config(config: Config) -> ScriptDirectory:
        location = config.get_main_option("script_location")
        return kept.get(location) or kept.setdefault(location, read(config))

    setattr(ScriptDirectory, "from_config", staticmethod(from_config))  # noqa: B010


class WrittenRun:
    """A run that no executor of Dagster runs: its steps follow each other, and each event has the time at which it happened.

    Events are kept until `write` stores them, all or none; then they are on Dagster's pages.
    """

    def __init__(self, instance: dg.DagsterInstance, tags: dict[str, str], started: float) -> None:
        self.instance = instance
        job, plan = _outline(instance)
        run = DagsterRun(job_name=REFRESH, tags=tags, job_snapshot_id=job, execution_plan_snapshot_id=plan)
        self._id = instance.add_run(run).run_id
        self._kept: list[tuple[DagsterEvent, float]] = []
        self.written = 0.0  # when it last stored some, by the system's clock
        self._step = ""
        self._step_began = started
        self._failed = list[str]()  # words of the failed steps
        self._add(DagsterEventType.PIPELINE_START, started)

    def begin(self, step: str, at: float) -> None:
        """The step before, if there is one, has ended, and this one begins."""
        self._end_step(at)
        self._step, self._step_began = step, at
        self._add(DagsterEventType.STEP_START, at)

    def add(self, event: dg.AssetMaterialization | dg.AssetCheckEvaluation, at: float) -> None:
        """A materialisation or a check of this step."""
        if isinstance(event, dg.AssetMaterialization):
            self._add(DagsterEventType.ASSET_MATERIALIZATION, at, StepMaterializationData(event))
        else:
            self._add(DagsterEventType.ASSET_CHECK_EVALUATION, at, event)

    def fail(self, at: float, failure: dg.Failure) -> None:
        """This step failed with these words."""
        failed = UserFailureData("command line", failure.description, failure.metadata)
        data, words = StepFailureData(error=None, user_failure_data=failed), failure.description or ""
        self._add(DagsterEventType.STEP_FAILURE, at, data, words)
        self._failed.append(f"{self._step}: {words}")
        self._step = ""

    def end(self, at: float, *, is_interrupted: bool = False) -> None:
        """The run is over: interrupted, or failed if one of its steps is."""
        self._end_step(at)
        if is_interrupted:
            self._add(DagsterEventType.PIPELINE_CANCELED, at)
        elif self._failed:
            data = JobFailureData(None, RunFailureReason.STEP_FAILURE)
            self._add(DagsterEventType.PIPELINE_FAILURE, at, data, "\n".join(self._failed))
        else:
            self._add(DagsterEventType.PIPELINE_SUCCESS, at)

    def write(self) -> None:
        """Store what was kept, in one commit."""
        with one_commit(self.instance):
            for event, at in self._kept:
                self.instance.report_dagster_event(event, self._id, timestamp=at)
        self._kept, self.written = [], time.time()

    def _end_step(self, at: float) -> None:
        if self._step:
            self._add(DagsterEventType.STEP_SUCCESS, at, StepSuccessData((at - self._step_began) * 1000))

    def _add(self, kind: DagsterEventType, at: float, data: Any = None, message: str | None = None) -> None:
        step = None if kind.value.startswith("PIPELINE") else self._step
        event = DagsterEvent(kind.value, REFRESH, event_specific_data=data, step_key=step, message=message)
        self._kept.append((event, at))


def _outline(instance: dg.DagsterInstance) -> tuple[str, str]:
    """Job and plan with its steps one behind the other, as the page of a run draws them; nothing is run by it."""
    job = dg.GraphDefinition(name=REFRESH).to_job().get_job_snapshot()
    result = [ExecutionStepOutputSnap("result", "Nothing")]
    steps = [
        ExecutionStepSnap(
            name,
            [ExecutionStepInputSnap("after", "Nothing", [StepOutputHandle(before)])] if before else [],
            result,
            name,
            StepKind.COMPUTE,
            [],
        )
        for before, name in (("", LOOK), (LOOK, BUILD), (BUILD, SOURCES))
    ]
    plan = ExecutionPlanSnapshot(steps, artifacts_persisted=False, job_snapshot_id=job.snapshot_id)
    storage = instance.run_storage  # which keeps each of them once
    return storage.add_job_snapshot(job), storage.add_execution_plan_snapshot(plan)


def is_cron(text: str) -> bool:
    """Whether Dagster takes a text for times."""
    return bool(is_valid_cron_string(text))


def end_dead_runs(instance: dg.DagsterInstance, home: Path) -> None:
    """End the runs whose process was killed, and give back their pool slots.

    Who calls this holds the writer lock, so no live run of the command line is there, and none that has a slot. A run that waits
    for the lock is alive while it holds its own.
    """
    storage = instance.event_log_storage
    started = dg.RunsFilter(tags=BY_COMMAND_LINE, statuses=[dg.DagsterRunStatus.STARTED])
    killed = [run.run_id for run in instance.get_runs(started)]
    for run_id in storage.get_concurrency_info(POOL).active_run_ids:
        storage.free_concurrency_slots_for_run(run_id)
        killed.append(run_id)
    killed += lifeless(instance, home)
    words = "Its process ended before the run did. The next refresh goes on from there."
    for run_id in killed:
        run = instance.get_run_by_id(run_id)
        if run and not run.is_finished:
            kind, data = DagsterEventType.PIPELINE_FAILURE.value, JobFailureData(None, RunFailureReason.UNKNOWN)
            last = max((event.timestamp for event in instance.all_logs(run_id)), default=time.time())  # it did not last until now
            event = DagsterEvent(kind, run.job_name, event_specific_data=data, message=words)
            instance.report_dagster_event(event, run_id, timestamp=last)


def news_of(
    instance: dg.DagsterInstance, events: Iterable[dg.AssetMaterialization | dg.AssetCheckEvaluation]
) -> Iterator[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
    """The events of a look, without the checks of sources that are in as they were before, and of which nothing landed."""
    kept = list(events)
    checks = [event for event in kept if isinstance(event, dg.AssetCheckEvaluation) and event.check_name == LANDING_CHECK]
    landed = {event.asset_key for event in kept if isinstance(event, dg.AssetMaterialization)}
    quiet = [event.asset_check_key for event in checks if event.passed and event.asset_key not in landed]
    last = instance.event_log_storage.get_latest_asset_check_execution_by_key(quiet)
    known = {key for key, record in last.items() if record.status is AssetCheckExecutionRecordStatus.SUCCEEDED}
    yield from (event for event in kept if isinstance(event, dg.AssetMaterialization) or event.asset_check_key not in known)
