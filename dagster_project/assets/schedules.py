"""When the line runs by itself, once its schedules are switched on in the UI."""

from datetime import datetime
from typing import Any

import dagster as dg

from dagster_project.assets.names import QUARTERS, quarter_of


def schedules(refresh: Any, report: Any, compare: Any) -> list[dg.ScheduleDefinition]:
    """Refresh daily and once more in the days when carbon is published; the quarterly report and the comparison on day 22."""
    daily = dg.ScheduleDefinition(
        name="refresh_daily",
        job=refresh,
        cron_schedule="0 6 * * *",
        execution_timezone="UTC",
        description="Providers write bills several times a day; a refresh that finds nothing new writes nothing.",
    )
    carbon_window = dg.ScheduleDefinition(
        name="carbon_window",
        job=refresh,
        cron_schedule="0 14 15-21 * *",
        execution_timezone="UTC",
        description="Both providers publish last month's emissions from the 15th to the 21st: look once more then.",
    )

    @dg.schedule(name="quarterly_on_day_22", job=report, cron_schedule="0 8 22 1,4,7,10 *", execution_timezone="UTC")
    def quarterly_on_day_22(context: dg.ScheduleEvaluationContext) -> dg.SkipReason | dg.RunRequest:
        """The quarter that ended three weeks ago: by then its last carbon month can have been published."""
        quarter = quarter_before(context.scheduled_execution_time)
        if quarter not in context.instance.get_dynamic_partitions(QUARTERS):
            return dg.SkipReason(f"Nothing of {quarter} is published yet.")
        return dg.RunRequest(run_key=quarter, partition_key=quarter)

    monthly = dg.ScheduleDefinition(
        name="comparison_monthly",
        job=compare,
        cron_schedule="30 8 22 * *",
        execution_timezone="UTC",
        description="After last month's emissions can have been published: the last twelve complete months, compared again.",
    )
    return [daily, carbon_window, quarterly_on_day_22, monthly]


def quarter_before(now: datetime) -> str:
    """The quarter that ended last."""
    year, month = (now.year, now.month - 3) if now.month > 3 else (now.year - 1, now.month + 9)
    return quarter_of(f"{year}-{month:02d}")
