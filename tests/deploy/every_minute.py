"""The graph with a schedule and a sensor that need no hour of the day: what the code server of test_on_postgres.py loads."""

import dagster as dg

from dagster_project import definitions


@dg.sensor(job_name="refresh", minimum_interval_seconds=1, default_status=dg.DefaultSensorStatus.STOPPED)
def counting(context: dg.SensorEvaluationContext) -> dg.SensorResult:
    """Count the looks in the cursor, and ask for nothing."""
    return dg.SensorResult(skip_reason="only counted", cursor=str(int(context.cursor or 0) + 1))


every_minute = dg.ScheduleDefinition(name="every_minute", job_name="refresh", cron_schedule="* * * * *")
defs = dg.Definitions.merge(definitions.defs, dg.Definitions(schedules=[every_minute], sensors=[counting]))
