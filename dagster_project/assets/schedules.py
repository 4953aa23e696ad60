"""When the line runs by itself, once its schedules are switched on in the UI."""

from functools import partial
from typing import Any

import dagster as dg

from dagster_project.assets.names import QUARTERS, quarter_of
from dagster_project.base.months import months_back


def schedules(refresh: Any, report: Any, compare: Any) -> list[dg.ScheduleDefinition]:
    """Refresh daily and once more in the days when carbon is published; the quarterly report and the comparison on day 22."""
    in_utc = partial(dg.ScheduleDefinition, execution_timezone="UTC")
    daily = in_utc(
        name="refresh_daily",
        job=refresh,
        cron_schedule="0 6 * * *",
        description="Providers write bills several times a day; a refresh that finds nothing new writes nothing.",
    )
    carbon_window = in_utc(
        name="carbon_window",
        job=refresh,
        cron_schedule="0 14 15-21 * *",
        description="Both providers publish last month's emissions from the 15th to the 21st: look once more then.",
    )

    @dg.schedule(name="quarterly_on_day_22", job=report, cron_schedule="0 8 22 1,4,7,10 *", execution_timezone="UTC")
    def quarterly_on_day_22(context: dg.ScheduleEvaluationContext) -> dg.SkipReason | dg.RunRequest:
        """The quarter that ended three weeks ago: by then its last carbon month can have been published."""
        quarter = quarter_of(months_back(f"{context.scheduled_execution_time:%Y-%m}", 3)[0])
        if quarter not in context.instance.get_dynamic_partitions(QUARTERS):
            return dg.SkipReason(f"Nothing of {quarter} is published yet.")
        return dg.RunRequest(run_key=quarter, partition_key=quarter)

    monthly = in_utc(
        name="comparison_monthly",
        job=compare,
        cron_schedule="30 8 22 * *",
        description="After last month's emissions can have been published: the last twelve complete months, compared again.",
    )
    return [daily, carbon_window, quarterly_on_day_22, monthly]
