"""The whole graph of one configured home: assets, checks, jobs, schedules and sensors."""

import re
from collections.abc import Sequence
from typing import Any

import dagster as dg

from dagster_project.assets import results
from dagster_project.assets.alerting import alert_sensors
from dagster_project.assets.freshness import with_freshness
from dagster_project.assets.labels import labelled
from dagster_project.assets.landing import every_source_is_in, new_deliveries_asset, source_asset
from dagster_project.assets.line import line_assets
from dagster_project.assets.names import GATES, NEW_DELIVERIES, PUBLICATION, REFRESH
from dagster_project.assets.release import months_asset, report_assets
from dagster_project.assets.schedules import automation
from dagster_project.assets.sensors import SECONDS
from dagster_project.assets.steps import UI_WAIT, WriterLock
from dagster_project.assets.upkeep import prune_job
from dagster_project.settings import Settings
from dagster_project.warehouse import modelling


def build_definitions(settings: Settings, wait: float = UI_WAIT, seconds: int = SECONDS) -> dg.Definitions:
    """Everything Dagster shows and runs for these settings; `seconds` is the least time between two looks of a sensor."""
    manifest = modelling.project(settings.home)
    sources = [source_asset(settings, source) for source in settings.sources]
    refreshed = [new_deliveries_asset(settings), line_assets(settings, manifest)]
    months, (quarterly, comparison) = months_asset(settings, manifest), report_assets(settings)
    # models are shown as they are built, not planned: a refresh without news has none
    refresh = _job(
        REFRESH,
        [NEW_DELIVERIES, GATES, PUBLICATION],
        "Land what is new of every source, build the months it touches, pass the gates, publish. Needs no partition."
        " It fails at its last step, after publishing the rest, where a source is missing.",
    )
    report = _job("quarterly_report", [quarterly], "Render one quarter of the publication.")
    compare = _job("comparison_report", [comparison], "Compare Trainium and TPU over the last twelve complete months.")
    prune = prune_job(settings)
    schedules, sensors = automation(settings, refresh, report, prune, seconds)
    return dg.Definitions(
        assets=[
            labelled(assets, settings)
            for assets in with_freshness(settings, [*sources, *refreshed, months, quarterly, comparison])
        ],
        asset_checks=[every_source_is_in()],
        jobs=[
            refresh,
            prune,
            _job("publish", [GATES, PUBLICATION], "Publish the build under way if every gate passed.", build={"as_built": True}),
            _job("rebuild_months", [months], "Build months again, changed or not, pass the gates, publish. A range is one run."),
            report,
            compare,
            *(
                _job(
                    "land_again_" + re.sub(r"\W", "_", source.name),
                    [asset],
                    f"Land a month of `{source.name}` again from its location, and nothing else.",
                )
                for source, asset in zip(settings.sources, sources, strict=True)
                if results.is_monthly(source)
            ),
        ],
        schedules=schedules,
        sensors=[*sensors, *alert_sensors(settings)],
        resources={
            "writer": WriterLock(
                home=str(settings.home),
                wait=wait,
                alerts=str(settings.path) if settings.alerts else "",
                history_megabytes=settings.history_megabytes,
            )
        },
        executor=dg.in_process_executor,  # a process per step costs seconds, and one run holds the writer lock
    )


def _job(
    name: str, assets: Sequence[dg.AssetsDefinition | dg.AssetKey], description: str, **config: dict[str, Any]
) -> Any:  # Dagster exports no type of it
    return dg.define_asset_job(
        name,
        selection=dg.AssetSelection.assets(*assets),
        executor_def=dg.in_process_executor,
        description=description,
        config={"ops": {op: {"config": of_op} for op, of_op in config.items()}} if config else None,
        tags={"trainledger/started_by": "Dagster"},
    )
