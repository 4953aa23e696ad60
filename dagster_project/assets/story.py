"""What the command line did, told to the Dagster instance of the home in one go, so that the UI shows it like a run of its own.

A refresh becomes a run of the job `refresh` with all its materialisations and checks, a failed one a failed run; a report
becomes a materialisation of its quarter. Nothing is computed here. If Dagster cannot be told, what was published stays
published, and the message tells why the UI does not show it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from dagster_project import modes
from dagster_project.assets import results
from dagster_project.assets.columns import learn_columns
from dagster_project.assets.instance import prepare_instance
from dagster_project.assets.internals import REPOSITORY, one_commit
from dagster_project.assets.partitions import register_ledger, register_source_months
from dagster_project.assets.steps import failure_of
from dagster_project.election.election import Election
from dagster_project.failures import TrainledgerError
from dagster_project.landing.land import Landed, Landing
from dagster_project.landing.planning import Problem, refusal_problems
from dagster_project.settings import Settings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.building import Built
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:
    from reports.comparison import Comparison

Say = Callable[[str], None]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}  # the command has its own words for people
TAGS = {"trainledger/started_by": "command line", **REPOSITORY}


def tell_refresh(
    settings: Settings,
    landing: Landing,
    election: Election,
    landed: Sequence[Landed],
    problems: Sequence[Problem],
    built: Built | None,
    failure: TrainledgerError | None,
    say: Say,
) -> None:
    """Tell of one refresh: what was landed, built, tested and published, or which gate failed (or that dbt did not work)."""
    with _excused(say):
        site, manifest = Site.of_home(settings.home), modelling.project(settings.home)
        found = [*problems, *refusal_problems(election.refusals)]
        events = list(results.landing_events(settings.sources, landed, found))
        if built:
            learn_columns(site, manifest)
            events += results.build_events(manifest, built, election, site)
        with _instance(settings.home) as instance:
            register_source_months(instance, settings.sources, landing)
            if built and built.publication:
                register_ledger(instance, built.publication["units"])
            with one_commit(instance):
                _run(instance, events, failure_of(failure) if failure else None)


def tell_report(settings: Settings, quarter: str, html: Path, status: str, say: Say) -> None:
    """Tell of one rendered quarter."""
    with _excused(say), _instance(settings.home) as instance:
        record = Site.of_home(settings.home).publication()
        register_ledger(instance, record["units"] if record else {})
        instance.report_runless_asset_event(results.report_materialization(quarter, html, status))


def tell_comparison(settings: Settings, report: "Comparison", say: Say) -> None:
    """Tell of one rendered comparison."""
    with _excused(say), _instance(settings.home) as instance:
        instance.report_runless_asset_event(results.comparison_materialization(report))


def _run(instance: dg.DagsterInstance, events: Sequence[results.Event], failure: dg.Failure | None) -> None:
    told = []

    @dg.op(name="command_line", description="`trainledger refresh` did this outside Dagster.")
    def command_line(context: dg.OpExecutionContext) -> None:
        for event in events:
            context.log_event(event)  # type: ignore[arg-type]  # checks are taken too, as in an asset
        told.append(True)
        if failure:
            raise failure

    @dg.job(name="refresh", description="A refresh by the command line.")
    def refresh() -> None:
        command_line()

    done = refresh.execute_in_process(instance=instance, run_config=QUIET, tags=TAGS, raise_on_error=False)
    if not told:  # a step that failed by itself, not the refresh
        raise RuntimeError(f"run {done.run_id} did not take every event: {_first_error(done)}")


def _first_error(done: dg.ExecuteInProcessResult) -> str:
    for event in done.all_events:
        if event.is_step_failure:
            error = event.step_failure_data.error
            while error and error.cause:
                error = error.cause
            return error.message.strip() if error else "without a message"
    return "no step failed"


@contextmanager
def _instance(home: Path) -> Iterator[dg.DagsterInstance]:
    with modes.owner_alone():
        prepare_instance(home)
        with dg.DagsterInstance.get() as instance:
            yield instance


@contextmanager
def _excused(say: Say) -> Iterator[None]:
    """Whatever goes wrong with Dagster's files is no reason to fail a refresh that is done, and none to be silent."""
    try:
        yield
    except Exception as error:
        say(
            f"The Dagster UI does not show this: its instance below the home could not be written"
            f" ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'})."
            " What was landed and published is not affected."
        )
