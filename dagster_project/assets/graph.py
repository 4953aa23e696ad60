"""The whole graph of one configured line: assets, checks, jobs and schedules."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_project import clock
from dagster_project.assets.common import UI_WAIT, WriterLock
from dagster_project.assets.landing import landing_assets
from dagster_project.assets.models import dbt_resource, model_assets
from dagster_project.assets.raw import raw_assets
from dagster_project.assets.release import gates_asset, publication_asset, quarterly_asset
from dagster_project.kinds import built_kinds
from dagster_project.settings import Settings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

FIRST_YEAR = 2020  # no Trainium and no TPU bill a quarter is asked of is older


def build_definitions(settings: Settings, wait: float = UI_WAIT) -> dg.Definitions:
    """Everything Dagster shows and runs for these settings."""
    manifest = modelling.project(settings.home)
    models = model_assets(settings, manifest)
    before_release = [
        *(landing_assets(settings, kind) for kind in built_kinds()),
        raw_assets(settings, _raw_tables(manifest)),
        models,
    ]
    release = [gates_asset(settings, sorted(models.keys)), publication_asset(settings)]
    quarterly = quarterly_asset(settings, quarters_until(clock.now()))
    executor = dg.in_process_executor  # a process per step costs seconds, and one run holds the writer lock
    refresh = dg.define_asset_job(
        "refresh",
        selection=dg.AssetSelection.assets(*before_release, *release),
        executor_def=executor,
        description="Land what is new, build the months it touches, pass the gates, publish. Without a partition: all sources.",
    )
    publish = dg.define_asset_job(
        "publish",
        selection=dg.AssetSelection.assets(*release),
        executor_def=executor,
        description="Judge the build under way again and publish it if every gate passed.",
    )
    report = dg.define_asset_job("quarterly_report", selection=dg.AssetSelection.assets(quarterly), executor_def=executor)
    return dg.Definitions(
        assets=[*before_release, *release, quarterly],
        jobs=[refresh, publish, report],
        schedules=[*_refresh_schedules(refresh), _quarterly_schedule(report)],
        resources={
            "dbt": dbt_resource(Site.of_home(settings.home).target),
            "writer": WriterLock(home=str(settings.home), wait=wait),
        },
        executor=executor,
    )


def _refresh_schedules(refresh: UnresolvedAssetJobDefinition) -> list[dg.ScheduleDefinition]:
    return [
        dg.ScheduleDefinition(
            name="refresh_daily",
            job=refresh,
            cron_schedule="0 6 * * *",
            execution_timezone="UTC",
            description="Providers write bills several times a day; a refresh that finds nothing new writes nothing.",
        ),
        dg.ScheduleDefinition(
            name="carbon_window",
            job=refresh,
            cron_schedule="0 14 15-21 * *",
            execution_timezone="UTC",
            description="Both providers publish last month's emissions from the 15th to the 21st: look once more then.",
        ),
    ]


def _quarterly_schedule(report: UnresolvedAssetJobDefinition) -> dg.ScheduleDefinition:
    @dg.schedule(name="quarterly_on_day_22", job=report, cron_schedule="0 8 22 1,4,7,10 *", execution_timezone="UTC")
    def quarterly_on_day_22(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        """The quarter that ended three weeks ago: by then its last carbon month can have been published."""
        quarter = quarters_until(context.scheduled_execution_time)[-2]
        return dg.RunRequest(run_key=quarter, partition_key=quarter)

    return quarterly_on_day_22


def _raw_tables(manifest: dict[str, Any]) -> list[str]:
    """The tables of schema raw that the models read."""
    return sorted(source["name"] for source in manifest["sources"].values() if source["source_name"] == "raw")


def quarters_until(now: datetime) -> list[str]:
    """Quarters that have begun, oldest first."""
    last = now.year * 4 + (now.month - 1) // 3
    return [f"{number // 4}Q{number % 4 + 1}" for number in range(FIRST_YEAR * 4, last + 1)]
