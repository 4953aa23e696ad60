"""What runs by itself. `schedules:` of the configuration decides what is on, so that a deployment needs no click.

A refresh is requested by the sensor new_deliveries or by the schedule refresh, never by both: where one of them is on, the other
is not offered. The comparison is the one report with an automation condition: it waits for the first publication after its time,
where a schedule would render the one before. The quarterly report is the matter of quarterly.py.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from dagster_project.assets.internals import is_cron
from dagster_project.assets.names import COMPARISON, REFRESH
from dagster_project.assets.quarterly import final_quarter_sensor, quarterly_schedule
from dagster_project.assets.sensors import SECONDS, new_deliveries_sensor
from dagster_project.settings import Settings, error_at

USUAL = {
    # providers write bills several times a day, and last month's emissions from the 15th to the 21st
    REFRESH: ("0 6 * * *", "0 14 15-21 * *"),
    "quarterly": ("0 8 22 1,4,7,10 *",),
    "comparison": ("30 8 22 * *",),  # after last month's emissions can have been published
    "prune": ("0 3 * * 0",),
}


def times_of(settings: Settings, name: str) -> tuple[str, ...]:
    """The cron texts of a key of `schedules`: as written, else the usual ones; a wrong one is an error with its line."""
    written = getattr(settings.schedules, name)
    for text in written if isinstance(written, tuple) else ():
        if not is_cron(text):
            raise error_at(settings.path, ("schedules", name), f"'{text}' is no cron text that Dagster takes")
    return written if isinstance(written, tuple) else USUAL[name]


def require_times(settings: Settings) -> None:
    """Refuse a configuration whose schedules Dagster would not take."""
    for name in USUAL:
        times_of(settings, name)
    comparison_condition(settings)


def automation(
    settings: Settings, refresh: Any, report: Any, prune: Any, seconds: int = SECONDS
) -> tuple[list[dg.ScheduleDefinition], list[dg.SensorDefinition]]:
    """Schedules and sensors of a home; `seconds` is the least time between two looks of a sensor."""
    on = settings.schedules
    schedules = [
        dg.ScheduleDefinition(
            name="prune", job=prune, **_when(settings, "prune"), description="Remove what the home need not keep any longer."
        ),
        quarterly_schedule(settings, report, **_when(settings, "quarterly")),
    ]
    sensors = [
        final_quarter_sensor(settings, report, is_on=bool(on.quarterly), seconds=seconds),
        dg.AutomationConditionSensorDefinition(
            "comparison",
            target=dg.AssetSelection.assets(COMPARISON),
            minimum_interval_seconds=seconds,
            default_status=_status(dg.DefaultSensorStatus, bool(on.comparison)),
            description="The last twelve complete months, compared anew at the first publication after its time.",
        ),
    ]
    if not on.refresh:
        sensors.append(new_deliveries_sensor(settings, refresh, is_on=bool(on.new_deliveries), seconds=seconds))
    if not on.new_deliveries:
        words = "A refresh; one that finds nothing new writes nothing."
        schedules.append(dg.ScheduleDefinition(name=REFRESH, job=refresh, **_when(settings, REFRESH), description=words))
    return schedules, sensors


def comparison_condition(settings: Settings) -> Any:
    """When the comparison is made again: once the publication is newer than its time in the month."""
    [time, *others] = times_of(settings, "comparison")
    if others:
        raise error_at(settings.path, ("schedules", "comparison"), "one cron text, not several")
    return dg.AutomationCondition.on_cron(time)


def _when(settings: Settings, name: str) -> dict[str, Any]:
    """Times, and whether they are in force from the start."""
    times: Sequence[str] = times_of(settings, name)
    return {
        "cron_schedule": times[0] if len(times) == 1 else times,
        "execution_timezone": "UTC",
        "default_status": _status(dg.DefaultScheduleStatus, bool(getattr(settings.schedules, name))),
    }


def _status(kind: Any, is_on: bool) -> Any:
    return kind.RUNNING if is_on else kind.STOPPED
