"""Assets raw/*: what dbt reads. Here a run decides whether there is anything to build at all."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from dagster_project.assets import names, results
from dagster_project.assets.steps import PACKAGE, WriterLock, code_references, explained
from dagster_project.election.election import elect
from dagster_project.election.units import fingerprints
from dagster_project.landing.opening import open_landing
from dagster_project.settings import Settings
from dagster_project.warehouse import building, builds
from dagster_project.warehouse.site import Site


class RawConfig(dg.Config):
    """How much to build."""

    full: bool = False


def raw_assets(settings: Settings, manifest: dict[str, Any]) -> dg.AssetsDefinition:
    """One asset per table of schema raw that the dbt project names."""
    tables = names.raw_tables(manifest)
    told = {source["name"]: source.get("description", "") for source in manifest["sources"].values()}
    by_kind: dict[str, list[dg.AssetKey]] = {}
    for source in settings.sources:
        by_kind.setdefault(str(source.kind), []).append(names.landing_key(source.name))

    @dg.multi_asset(
        name="raw",
        pool=names.POOL,
        specs=[
            # skippable: when nothing changed nothing is yielded, and Dagster skips all that follows
            dg.AssetSpec(
                names.raw_key(table),
                deps=[names.NEW_DELIVERIES, *by_kind.get(table, [])],
                description=told[table],
                group_name="raw",
                kinds={"duckdb", "parquet"},
                owners=names.OWNERS,
                metadata={"dagster/table_name": f"raw.{table}", **code_references(PACKAGE / "warehouse/raw.py")},
                skippable=True,
            )
            for table in tables
        ],
    )
    def raw(context: dg.AssetExecutionContext, config: RawConfig, writer: WriterLock) -> Iterator[Any]:
        """Elect generations, compare fingerprints, and create the raw views of a new build, or end here: nothing changed."""
        site, place = Site.of_home(settings.home, settings.memory_limit), open_landing(settings)
        with explained():
            election = elect(settings.sources, place)
            units = fingerprints(settings.rules, election)
            if not config.full and builds.is_current(site, units):
                context.log.info("Nothing changed since the last publication: there is nothing to build.")
                return
            build = builds.start(site, units, full=config.full, engine=settings.engine)
            building.create_raw(site, build, settings, place, election)
        context.log.info(f"Build {build.build_id}, months: {results.months_text(build)}")
        yield from map(results.as_result, results.raw_materializations(tables, build, election))

    return raw
