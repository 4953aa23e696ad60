"""What the command line does, as Dagster shows it: a refresh is a run of the job `refresh`, a report a materialisation.

A refresh is written while it goes on, each event with the time at which it happened. Nothing is computed here. What Dagster
cannot take fails no refresh: one line states why the UI does not show it.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_project.assets import names, results
from dagster_project.assets.history import keep_bound
from dagster_project.assets.instance import prepare_instance
from dagster_project.assets.internals import REPOSITORY, WrittenRun, end_dead_runs, news_of, read_migrations_once
from dagster_project.assets.partitions import register_ledger, register_source_months
from dagster_project.assets.steps import failure_of
from dagster_project.base import modes
from dagster_project.base.later import Later
from dagster_project.landing.missing import Missing
from dagster_project.warehouse import gates, modelling, steps
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:
    from reports.comparison import Comparison

Say = Callable[[str], None]
PAUSE = 2.0  # seconds between two commits: each costs some hundredths of one, and a page asks anew less often


class RefreshRun:
    """A refresh as a run that grows with it. From the first event on that Dagster cannot take, nothing more is shown."""

    def __init__(self, home: Home, opened: ExitStack, started: float, say: Say) -> None:
        """List the run, as begun at an instant of the system's clock: Dagster orders runs by it."""
        self._home, self._say = home, say
        self._run: WrittenRun | None = None
        self._missing: Missing | None = None
        self._absent: dict[str, str] = {}  # report tables that the publication goes without, and why
        self._shared: steps.BroughtToBucket | None = None
        with _excused(self._give_up):
            instance = opened.enter_context(opened_instance(home.root))
            end_dead_runs(instance, home.root)
            self._run = WrittenRun(instance, names.BY_COMMAND_LINE | REPOSITORY, started)
            self._run.begin(names.LOOK, started)
            self._run.write()

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        """The project's, looked up once and not for each of some hundred steps."""
        return modelling.project(self._home.root)

    def show(self, step: steps.Step) -> None:
        """Add what came of a step."""
        if run := self._run:
            with _excused(self._give_up):
                events = results.events_of(step, self._home, self._manifest)
                if isinstance(step, steps.Looked):
                    register_source_months(run.instance, self._home.sources, self._home.landing)
                    events, self._missing = news_of(run.instance, events), step.missing
                if isinstance(step, steps.BroughtToBucket):
                    self._shared = step
                if isinstance(step, steps.Published):
                    register_ledger(run.instance, step.record["units"])
                    self._absent = step.record["absent"]
                now = time.time()
                for event in events:
                    run.add(event, now)
                if isinstance(step, steps.Looked):
                    run.begin(names.BUILD, now)
                if now - run.written > PAUSE:
                    run.write()

    def end(self, error: BaseException | None = None) -> None:
        """Close the run with its last step. It failed if the build did, or if a source is missing."""
        if run := self._run:
            with _excused(self._give_up):
                now, is_interrupted = time.time(), error is not None and not isinstance(error, Exception)
                if error or self._absent:
                    run.fail(now, failure_of(error or gates.without_reports(self._absent)))
                elif self._shared and self._shared.problem:
                    run.fail(now, dg.Failure(str(self._shared), allow_retries=False))
                if self._missing and not is_interrupted:
                    run.begin(names.SOURCES, now)
                    run.add(results.sources_check(self._missing), now)
                    if self._missing.problems:
                        run.fail(now, results.missing_failure(self._missing))
                run.end(now, is_interrupted=is_interrupted)
                run.write()
            keep_bound(run.instance, self._home.root, self._home.settings.history_megabytes)

    def _give_up(self, why: str) -> None:
        self._run = None
        self._say(why)


@contextmanager
def refresh_run(home: Home, started: float, say: Say) -> Iterator[RefreshRun]:
    """The run of one refresh, which ends with the block and as it ends."""
    with ExitStack() as opened:
        run = RefreshRun(home, opened, started, say)
        try:
            yield run
        except BaseException as error:
            run.end(error)
            raise
        run.end()


def show_report(home: Path, quarter: str, html: Path, status: str, say: Say) -> None:
    """Show one rendered quarter."""
    with _excused(say), opened_instance(home) as instance:
        record = Site.of_home(home).publication()
        register_ledger(instance, record["units"] if record else {})
        instance.report_runless_asset_event(results.report_materialization(quarter, html, status))


def show_comparison(home: Path, report: "Comparison", say: Say) -> None:
    """Show one rendered comparison."""
    with _excused(say), opened_instance(home) as instance:
        instance.report_runless_asset_event(results.comparison_materialization(report))


@contextmanager
def opened_instance(home: Path) -> Iterator[dg.DagsterInstance]:
    """The Dagster of a home, for this command."""
    with modes.owner_alone():
        prepare_instance(home)
        read_migrations_once()
        sys.modules.setdefault("structlog", _logging_of_the_daemon())
        with dg.DagsterInstance.get() as instance:
            yield instance


def _logging_of_the_daemon() -> Later:
    """Of structlog one logger is wanted: Dagster's storage imports it by way of the daemon, which does not run here."""
    structlog = Later("structlog")
    vars(structlog)["get_logger"] = logging.getLogger
    return structlog


@contextmanager
def _excused(say: Say) -> Iterator[None]:
    """Whatever goes wrong with Dagster's files is no reason to fail a command that is done, and none to be silent."""
    try:
        yield
    except Exception as error:
        words = str(error).splitlines()[0] if str(error) else "no message"
        say(
            "The Dagster UI does not show this: its instance below the home could not be written"
            f" ({type(error).__name__}: {words}). What was landed and published is not affected."
        )
