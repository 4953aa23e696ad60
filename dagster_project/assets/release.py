"""Assets publication_months, reports/quarterly and reports/comparison: months of the publication built again, and what is
rendered from it.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from dagster_project.assets import names, results
from dagster_project.assets.line import followed
from dagster_project.assets.schedules import comparison_condition
from dagster_project.assets.steps import Result, WriterLock, explained, step
from dagster_project.publishing.reporting import policy_of, render_comparison, render_quarter
from dagster_project.settings import Settings
from dagster_project.warehouse import building
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site


def months_asset(settings: Settings, manifest: dict[str, Any]) -> dg.AssetsDefinition:
    """The months of the ledger, each of which can be built again whether it changed or not."""

    @step(
        names.MONTHS,
        "warehouse/building.py",
        deps=[names.PUBLICATION],
        group_name="publication",
        kinds={"dbt", "duckdb"},
        partitions_def=dg.DynamicPartitionsDefinition(name=names.LEDGER_MONTHS),
        backfill_policy=dg.BackfillPolicy.single_run(),
        description="Each month of the ledger, as last built and published. Materialize a month, or a range such as a quarter, to"
        " build it **again whether it changed or not**, pass the gates and publish; nothing is landed."
        " The same as `trainledger refresh --months 2026-04..2026-06`.",
    )
    def publication_months(context: dg.AssetExecutionContext, writer: WriterLock) -> Iterator[Result]:
        home, own = Home.of(settings), set(context.partition_keys)
        with explained():
            going = building.refresh_steps(home, months=context.partition_keys)
            for event in followed(context, going, home, manifest):
                if event.asset_key != names.MONTHS or event.partition not in own:
                    context.log_event(event)
        record = home.site.publication() or {}
        yield dg.MaterializeResult(metadata={"build": record["build_id"]})

    return publication_months


def report_assets(settings: Settings) -> tuple[dg.AssetsDefinition, dg.AssetsDefinition]:
    """The quarterly report of the published file, and the comparison of its last twelve complete months."""
    site = Site.of_home(settings.home, settings.memory_limit)
    code, reports, organisation = "publishing/reporting.py", site.root / "reports", settings.organisation.name
    of_reports: dict[str, Any] = {
        "pool": None,  # they read the publication and write nothing that others write
        "deps": [names.PUBLICATION],
        "group_name": "reports",
    }

    @step(
        names.QUARTERLY,
        code,
        **of_reports,
        kinds={"html", "pdf"},
        partitions_def=dg.DynamicPartitionsDefinition(name=names.QUARTERS),
        description="One quarter of the published file as HTML, PDF, XLSX, CSV and JSON. The quarters are those of which "
        "something is published.",
    )
    def quarterly(context: dg.AssetExecutionContext) -> Result:
        quarter, policy = context.partition_key, policy_of(settings)
        with explained():
            report = render_quarter(site.published_file, reports, quarter, organisation, policy=policy)
        result: Result = results.as_result(results.report_materialization(quarter, report.html, report.status))
        return result

    @step(
        names.COMPARISON,
        code,
        **of_reports,
        kinds={"html"},
        automation_condition=comparison_condition(settings),
        description="Trainium and TPU over the last twelve complete months of the published file: verdicts, sensitivities, claims"
        " of vendors. The same as `trainledger report compare`.",
    )
    def comparison(context: dg.AssetExecutionContext) -> Result:
        with explained():
            report = render_comparison(site.published_file, reports, organisation)
        result: Result = results.as_result(results.comparison_materialization(report))
        return result

    return quarterly, comparison
