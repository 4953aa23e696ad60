"""When the quarterly report is made: on day 22 after quarter end, and again when every month of the quarter is final.

Both request the job quarterly_report with a key of the quarter's part of the publication, so that what is published is reported
once. A sensor and no automation condition: whether a month is final is known to the landing, which no condition reads; and what
was missed while the daemon was off is caught up by the next publication.
"""

from hashlib import sha256
from typing import Any

import dagster as dg

from dagster_project.assets.names import PUBLICATION, QUARTERS, quarter_of
from dagster_project.assets.partitions import register_ledger
from dagster_project.base.months import months_back
from dagster_project.election.election import elect
from dagster_project.election.months import final_months
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site

KEY = "trainledger/reported"  # tag of a run: which publication of which quarter it renders


def quarterly_schedule(settings: Settings, report: Any, **when: Any) -> dg.ScheduleDefinition:
    """The report of the quarter that ended last."""

    words = "The quarter that ended last: three weeks later its last carbon month can have been published."

    @dg.schedule(name="quarterly", job=report, description=words, **when)
    def quarterly(context: dg.ScheduleEvaluationContext) -> dg.SkipReason | dg.RunRequest:
        quarter = quarter_of(months_back(f"{context.scheduled_execution_time:%Y-%m}", 3)[0])
        return request(context.instance, Site.of_home(settings.home), quarter)

    return quarterly


def final_quarter_sensor(settings: Settings, report: Any, *, is_on: bool, seconds: int) -> dg.SensorDefinition:
    """The report of each quarter whose months are all final, after each publication."""

    @dg.asset_sensor(
        name="quarter_is_final",
        asset_key=PUBLICATION,
        job=report,
        minimum_interval_seconds=seconds,
        default_status=dg.DefaultSensorStatus.RUNNING if is_on else dg.DefaultSensorStatus.STOPPED,
    )
    def quarter_is_final(
        context: dg.SensorEvaluationContext, asset_event: dg.EventLogEntry
    ) -> list[dg.RunRequest] | dg.SkipReason:
        """After each publication: the quarters of which every month is final, each once as it is published."""
        home = Home.of(settings)
        election = elect(home.sources, home.landing, contents_of=home.landing.contents_to_show)
        final = final_months(election)
        quarters = {quarter_of(month) for month in final if {*months_back(_last(month), 2)} <= final}
        found = [request(context.instance, home.site, quarter) for quarter in sorted(quarters)]
        return [one for one in found if isinstance(one, dg.RunRequest)] or dg.SkipReason("No quarter has newly turned final.")

    return quarter_is_final


def request(instance: dg.DagsterInstance, site: Site, quarter: str) -> dg.SkipReason | dg.RunRequest:
    """A run that renders a quarter as it is published, unless there was one."""
    units: dict[str, str] = (site.publication() or {}).get("units", {})
    own = sorted(one for one in units.items() if quarter == (quarter_of(one[0][-7:]) if "/" in one[0] else ""))
    if not own:
        return dg.SkipReason(f"Nothing of {quarter} is published yet.")
    key = f"{quarter} {sha256(repr(own).encode()).hexdigest()[:16]}"
    if instance.get_runs(dg.RunsFilter(tags={KEY: key}), limit=1):
        return dg.SkipReason(f"{quarter} was reported as it is published.")
    if quarter not in instance.get_dynamic_partitions(QUARTERS):
        register_ledger(instance, units)
    return dg.RunRequest(run_key=key, partition_key=quarter, tags={KEY: key})


def _last(month: str) -> str:
    """The last month of a month's quarter."""
    return f"{month[:4]}-{(int(month[5:7]) + 2) // 3 * 3:02d}"
