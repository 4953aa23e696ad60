"""Assets gates, publication, publication_months, reports/quarterly and reports/comparison: permission to publish, the
publication, its months built again, and what is rendered from it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from dagster_project.assets import names, results
from dagster_project.assets.columns import learn_columns
from dagster_project.assets.partitions import register_ledger
from dagster_project.assets.steps import WriterLock, explained, failure_of, step
from dagster_project.election.election import elect
from dagster_project.election.units import fingerprints
from dagster_project.landing.opening import open_landing
from dagster_project.publishing.reporting import policy_of, render_comparison, render_quarter
from dagster_project.settings import Settings
from dagster_project.warehouse import building, builds, expectations
from dagster_project.warehouse.site import Site


def gates_asset(settings: Settings, marts: Sequence[dg.AssetKey]) -> dg.AssetsDefinition:
    """The Great Expectations suites, one asset check per expectation."""
    site = Site.of_home(settings.home, settings.memory_limit)

    @step(
        names.GATES,
        "warehouse/expectations.py",
        deps=list(marts),
        group_name="gates",
        kinds={"great_expectations"},
        description="Deliveries against their own history, and permission to publish. Each expectation is a check.",
        check_specs=[
            dg.AssetCheckSpec(
                names.check_of_gate(suite.gate(rule)).name,
                asset=names.GATES,
                description=rule.name.replace("_", " ").capitalize()
                + ("." if rule.is_blocking else ". A warning: it blocks nothing."),
            )
            for suite in expectations.SUITES
            for rule in suite.rules
        ],
    )
    def gates(context: dg.AssetExecutionContext, writer: WriterLock) -> Iterator[Any]:
        build = builds.current(site)
        if build is None:
            raise dg.Failure("There is no build under way, so there is nothing to judge. Run the job `refresh`.")
        with explained():
            found = building.run_expectations(site, build)
        yield results.as_result(results.gates_materialization(found, build, site))
        yield from map(results.as_result, results.gate_checks(found, expectations.expected_gates()))

    return gates


def publication_asset(settings: Settings) -> dg.AssetsDefinition:
    """The one publication: whoever starts it, only a build with every expected gate passed becomes the published file."""
    site = Site.of_home(settings.home, settings.memory_limit)

    @step(
        names.PUBLICATION,
        "warehouse/building.py",
        deps=[names.GATES],
        group_name="publication",
        kinds={"duckdb", "parquet"},
        description="The file that readers hold and the Parquet beside it. Only a build with every gate passed is published; else"
        " this step fails with the gates and their first rows, and the last publication stays.",
    )
    def publication(context: dg.AssetExecutionContext, writer: WriterLock) -> dg.MaterializeResult:
        build = builds.current(site)
        if build is None:
            raise dg.Failure("There is no build under way: the last publication is what was built last. Run the job `refresh`.")
        with explained():
            record = building.publish_build(site, build)
        register_ledger(context.instance, record["units"])
        own, *months = results.publication_events(record, build, site)
        for event in months:
            context.log_event(event)
        return results.as_result(own)

    return publication


def months_asset(settings: Settings, manifest: dict[str, Any]) -> dg.AssetsDefinition:
    """The months of the ledger, each of which can be built again whether it changed or not."""
    site = Site.of_home(settings.home, settings.memory_limit)

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
    def publication_months(context: dg.AssetExecutionContext, writer: WriterLock) -> Iterator[dg.MaterializeResult]:
        place = open_landing(settings)

        def listener(what: str, done: int, total: int | None, detail: str = "") -> None:
            context.log.info(f"{what}: {done} of {total} {detail}".rstrip())

        with explained():
            election = elect(settings.sources, place)
            build = builds.start(
                site, fingerprints(settings.rules, election), also=context.partition_keys, engine=settings.engine
            )
            context.log.info(f"Build {build.build_id}, months: {results.months_text(build)}")
            built = building.build_all(site, build, settings, place, election, listener)
        learn_columns(site, manifest)
        own = set(context.partition_keys)
        for event in results.build_events(manifest, built, election, site):
            if event.asset_key != names.MONTHS or event.partition not in own:
                context.log_event(event)
        if built.failure:
            raise failure_of(built.failure)
        if built.publication:
            register_ledger(context.instance, built.publication["units"])
        yield dg.MaterializeResult(metadata={"build": build.build_id})

    return publication_months


def quarterly_asset(settings: Settings) -> dg.AssetsDefinition:
    """The quarterly report of the published file."""
    site = Site.of_home(settings.home, settings.memory_limit)

    @step(
        names.QUARTERLY,
        "publishing/reporting.py",
        pool=None,  # it reads the publication and writes nothing that others write
        deps=[names.PUBLICATION],
        group_name="reports",
        kinds={"html", "pdf"},
        partitions_def=dg.DynamicPartitionsDefinition(name=names.QUARTERS),
        description="One quarter of the published file as HTML, PDF, XLSX, CSV and JSON. The quarters are those of which "
        "something is published.",
    )
    def quarterly(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with explained():
            report = render_quarter(
                site.published_file,
                site.root / "reports",
                context.partition_key,
                settings.organisation.name,
                policy=policy_of(settings),
            )
        return results.as_result(results.report_materialization(context.partition_key, report.html, report.status))

    return quarterly


def comparison_asset(settings: Settings) -> dg.AssetsDefinition:
    """The comparison of the last twelve complete months of the published file."""
    site = Site.of_home(settings.home, settings.memory_limit)

    @step(
        names.COMPARISON,
        "publishing/reporting.py",
        pool=None,  # it reads the publication and writes nothing that others write
        deps=[names.PUBLICATION],
        group_name="reports",
        kinds={"html"},
        description="Trainium and TPU over the last twelve complete months of the published file: verdicts, sensitivities, claims"
        " of vendors. The same as `trainledger report compare`.",
    )
    def comparison(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with explained():
            report = render_comparison(site.published_file, site.root / "reports", settings.organisation.name)
        return results.as_result(results.comparison_materialization(report))

    return comparison
