"""The sensor new_deliveries: a look at every folder and bucket, and a refresh where there is something to land or to build.

A look lists and reads what the landing knows; it writes nothing, starts no engine and imports no client of BigQuery. A table, a
server of metrics or an API is not looked at here, because each look at it is a query: once a day (UTC) a refresh is requested
that looks at them too. The refreshes in between look at what was listed.

The cursor keeps what the last request was for. What a refresh leaves as it is (a refused build, a location that cannot be read)
does not request another one until something changes, or until the next day.
"""

from contextlib import suppress
from hashlib import sha256
from typing import Any

import dagster as dg
import msgspec

from dagster_project.assets.internals import end_dead_runs
from dagster_project.assets.names import NEW_DELIVERIES, REFRESH
from dagster_project.base import clock
from dagster_project.base.failures import LockHeldError
from dagster_project.base.locking import writer_lock
from dagster_project.landing.planning import Plan, make_plan
from dagster_project.landing.sources import is_queried
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.news import current_election

SECONDS = 900
_RUN = dg.DagsterRunStatus
UNDER_WAY = [_RUN.QUEUED, _RUN.NOT_STARTED, _RUN.STARTING, _RUN.STARTED, _RUN.CANCELING]


class Seen(msgspec.Struct, frozen=True):
    """The cursor: what the last refresh was requested for, and on which day; and the day on which tables were looked at."""

    news: str = ""
    day: str = ""
    tables_day: str = ""


def new_deliveries_sensor(settings: Settings, job: Any, *, is_on: bool, seconds: int) -> dg.SensorDefinition:
    """The sensor of a home, on or off when it is loaded; at most one refresh is queued or under way."""
    tables = [source.name for source in settings.sources if is_queried(source)]
    listed = [source for source in settings.sources if not is_queried(source)]

    @dg.sensor(
        name="new_deliveries",
        job=job,
        minimum_interval_seconds=seconds,
        default_status=dg.DefaultSensorStatus.RUNNING if is_on else dg.DefaultSensorStatus.STOPPED,
        description="Lists folders and buckets, and requests a refresh where something is new, can be published or cannot be"
        " read. Tables of BigQuery and servers of metrics are looked at by one refresh a day.",
    )
    def look(context: dg.SensorEvaluationContext) -> dg.SkipReason | dg.RunRequest:
        home, today = Home.of(settings), f"{clock.now():%Y-%m-%d}"
        seen = msgspec.json.decode(context.cursor, type=Seen) if context.cursor else Seen()
        news = _news_of(home, make_plan(listed, settings.base, home.landing))
        are_tables_due = bool(tables) and seen.tables_day != today
        if not are_tables_due and (not news or (seen.news, seen.day) == (news, today)):
            return dg.SkipReason("What is there was there when a refresh was requested today." if news else "Nothing is new.")
        if run := _under_way(context.instance, home):
            return dg.SkipReason(f"Run {run} is not over. The next look requests what is still new then.")
        context.update_cursor(msgspec.json.encode(Seen(news, today, today if are_tables_due else seen.tables_day)).decode())
        only = [source.name for source in listed] if tables and not are_tables_due else []
        return dg.RunRequest(run_config={"ops": {NEW_DELIVERIES.path[-1]: {"config": {"only": only}}}} if only else {})

    return look


def _news_of(home: Home, plan: Plan) -> str:
    """What there is to do, as a hash; '' where there is nothing."""
    found = [
        *(f"new {source.name} {item.identity}" for source, item in plan.new),
        *(f"refused {source.name} {item.identity}" for source, item in plan.refused),
        *(f"withdrawn {record.source} {record.identity}" for record in plan.withdrawn),
        *(f"unreadable {problem.source}" for problem in plan.unreadable),  # its words may have times and numbers of requests
        *(f"counted {name} {counts}" for name, counts in plan.counts.items() if plan.is_recounted),
    ]
    if not found and current_election(home, plan) is None:
        found = ["unpublished"]  # of a refresh that was stopped or refused, or a month has turned final
    return sha256("\n".join(sorted(found)).encode()).hexdigest() if found else ""


def _under_way(instance: dg.DagsterInstance, home: Home) -> str | None:
    """A refresh that is queued or runs, from here or from the command line; one whose process was killed is ended first."""
    asked = dg.RunsFilter(job_name=REFRESH, statuses=UNDER_WAY)
    if instance.get_runs(asked, limit=1):
        with suppress(LockHeldError), writer_lock(home.root, "the sensor new_deliveries"):
            end_dead_runs(instance, home.root)
    return next((run.run_id for run in instance.get_runs(asked, limit=1)), None)
