"""Assets reports/*: what is rendered from the publication. Rendering is reports/, behind publishing.reporting."""

from pathlib import Path

import dagster as dg

from dagster_project.assets import names, results
from dagster_project.assets.failing import explained
from dagster_project.assets.specs import code_references
from dagster_project.publishing.reporting import render_quarter
from dagster_project.settings import Settings
from dagster_project.warehouse.site import Site

CODE = Path(__file__).parents[1] / "publishing" / "reporting.py"


def quarterly_asset(settings: Settings) -> dg.AssetsDefinition:
    """The quarterly report of the published file."""
    site = Site.of_home(settings.home)

    @dg.asset(
        key=names.QUARTERLY,
        deps=[names.PUBLICATION],
        group_name="reports",
        kinds={"html"},
        owners=names.OWNERS,
        partitions_def=dg.DynamicPartitionsDefinition(name=names.QUARTERS),
        metadata=code_references(CODE),
        description="One quarter of the published file in HTML and JSON. The quarters are those of which something is published.",
    )
    def quarterly(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with explained():
            report = render_quarter(site.published_file, site.root / "reports", context.partition_key, settings.organisation.name)
        return results.as_result(results.report_materialization(context.partition_key, report.html, report.status))

    return quarterly
