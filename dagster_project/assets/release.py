"""Assets gates, publication and reports/*: permission to publish, the publication itself, and what is rendered from it."""

from collections.abc import Iterator, Sequence

import dagster as dg

from dagster_project.assets.common import POOL, WriterLock
from dagster_project.settings import Settings
from dagster_project.warehouse import building, builds, expectations
from dagster_project.warehouse.site import Site

GATES = dg.AssetKey("gates")
PUBLICATION = dg.AssetKey("publication")


def _check_name(gate: str) -> str:
    return gate.removeprefix("gx.").replace(".", "__")


def gates_asset(settings: Settings, models: Sequence[dg.AssetKey]) -> dg.AssetsDefinition:
    """The Great Expectations suites, one asset check per expectation."""
    site = Site.of_home(settings.home)

    @dg.asset(
        key=GATES,
        deps=list(models),
        group_name="gates",
        kinds={"great_expectations"},
        pool=POOL,
        check_specs=[
            dg.AssetCheckSpec(
                _check_name(suite.gate(rule)),
                asset=GATES,
                description=rule.name.replace("_", " ").capitalize()
                + ("." if rule.is_blocking else ". A warning: it blocks nothing."),
            )
            for suite in expectations.SUITES
            for rule in suite.rules
        ],
    )
    def gates(context: dg.AssetExecutionContext, writer: WriterLock) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:
        """Deliveries against their history, and permission to publish, validated on the build under way."""
        build = builds.current(site)
        if build is None:
            raise dg.Failure("There is no build under way, so there is nothing to judge. Run the job `refresh`.")
        results = building.run_expectations(site, build)
        blocking = expectations.expected_gates()
        for result in results:
            yield dg.AssetCheckResult(
                check_name=_check_name(result.gate),
                passed=result.passed,
                severity=dg.AssetCheckSeverity.ERROR if result.gate in blocking else dg.AssetCheckSeverity.WARN,
                metadata={"failing_rows": result.failing_rows, "first_rows": result.detail or "none"},
            )
        passed = sum(result.passed for result in results)
        yield dg.MaterializeResult(
            metadata={
                "build_id": build.build_id,
                "passed": passed,
                "of": len(results),
                "evidence": dg.MetadataValue.path(str(site.evidence(build.build_id))),
            }
        )

    return gates


def publication_asset(settings: Settings) -> dg.AssetsDefinition:
    """The one publication: whoever starts it, only a build with every expected gate passed becomes the published file."""
    site = Site.of_home(settings.home)

    @dg.asset(key=PUBLICATION, deps=[GATES], group_name="publication", kinds={"duckdb", "parquet"}, pool=POOL)
    def publication(context: dg.AssetExecutionContext, writer: WriterLock) -> dg.MaterializeResult:
        """Publish the build under way; without one the last publication already is what was built last."""
        build = builds.current(site)
        if build is None:
            raise dg.Failure("There is no build under way: the last publication stands. Run the job `refresh`.")
        record = building.publish_build(site, build)
        return dg.MaterializeResult(
            metadata={
                "build_id": record["build_id"],
                "fingerprint": record["fingerprint"],
                "file": dg.MetadataValue.path(str(site.published_file)),
                "tables": len(record["tables"]),
                "rows": sum(record["rows"].values()),
            }
        )

    return publication


def quarterly_asset(settings: Settings, quarters: Sequence[str]) -> dg.AssetsDefinition:
    """The quarterly report of the published file."""
    site = Site.of_home(settings.home)

    @dg.asset(
        key=["reports", "quarterly"],
        deps=[PUBLICATION],
        group_name="reports",
        kinds={"html"},
        partitions_def=dg.StaticPartitionsDefinition(list(quarters)),
    )
    def quarterly(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        """Render one quarter in HTML and JSON."""
        from dagster_project.publishing.reporting import render_quarter

        report = render_quarter(site.published_file, site.root / "reports", context.partition_key, settings.organisation.name)
        return dg.MaterializeResult(metadata={"report": dg.MetadataValue.path(str(report.html)), "status": report.status})

    return quarterly
