"""Runs of Dagster end with the alerts of the command line: in the run itself, and by a sensor where its process was killed or it
never began.

What to send is the room alerts' matter. Where none are configured, a run knows nothing of it and there is no sensor.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging import Logger, getLogger
from pathlib import Path

import dagster as dg

from dagster_project.alerts.watched_run import Failed, Watched
from dagster_project.alerts.watching import report, watched
from dagster_project.assets.names import BY_COMMAND_LINE, SOURCES
from dagster_project.landing.missing import Missing
from dagster_project.settings import Settings, load_settings
from dagster_project.warehouse.home import Home

DONE = {"trainledger/alerts": "sent"}  # tag of a run that ended with them
ENDED_OUTSIDE = "Its process ended, or it never began"


@contextmanager
def alerts_of(config: str, context: dg.InitResourceContext, missing: Callable[[], Missing | None]) -> Iterator[None]:
    """Send what begins and ends with the run of a resource, which is over when the block ends; `config` is '' without alerts."""
    run, instance = context.run, context.instance
    if not (config and run and instance):
        yield
        return
    home = Home.of(load_settings(Path(config)))
    with watched(home, run.job_name, _sayer(context.log)) as watch:
        yield
        watch.failed = failure_of_run(instance, run.run_id)
        if (found := missing()) is not None:
            watch.look((source.name for source in home.sources), found.problems)
    instance.add_run_tags(run.run_id, DONE)


def failure_of_run(instance: dg.DagsterInstance, run_id: str) -> Failed | None:
    """The first failed step of a run; a source that is not in is a cause by itself."""
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE):
        event = entry.get_dagster_event()
        if event.step_key != SOURCES:
            data = event.step_failure_data
            if words := data.user_failure_data:
                known = {name: str(value.value) for name, value in words.metadata.items()}
                remedy, gates = known.get("remedy", ""), known.get("gates", "")
                text = (words.description or words.label).removesuffix(remedy).rstrip()
                return Failed(text, remedy, tuple(gates.split("\n")) if gates else ())
            return Failed(data.error.message.strip() if data.error else ENDED_OUTSIDE, "")
    return None


def alert_sensors(settings: Settings) -> list[dg.SensorDefinition]:
    """On from the start: what runs without the writer lock, such as reports, and what ended outside of its process."""
    if not settings.alerts:
        return []

    def ended(context: dg.RunStatusSensorContext) -> dg.SkipReason | None:
        run = context.dagster_run
        if run.tags.keys() & DONE.keys() or run.tags.items() >= BY_COMMAND_LINE.items():
            return dg.SkipReason(f"Run {run.run_id} ended with its alerts.")
        is_done = run.status == dg.DagsterRunStatus.SUCCESS
        message = context.dagster_event.message or ENDED_OUTSIDE
        failed = None if is_done else failure_of_run(context.instance, run.run_id) or Failed(message, "")
        report(Home.of(settings), Watched(run.job_name, is_done=is_done, failed=failed), _sayer(context.log))
        return None

    statuses = {"alerts_of_failed_runs": dg.DagsterRunStatus.FAILURE, "alerts_of_runs": dg.DagsterRunStatus.SUCCESS}
    return [
        dg.run_status_sensor(
            run_status=status,
            name=name,
            default_status=dg.DefaultSensorStatus.RUNNING,
            description="Sends the alerts of runs that did not send their own.",
        )(ended)
        for name, status in statuses.items()
    ]


def _sayer(log: Logger | None) -> Callable[[str], None]:
    return lambda message: (log or getLogger("trainledger")).warning(message)
