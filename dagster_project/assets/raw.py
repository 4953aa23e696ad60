"""Assets raw/*: what dbt reads. Here a run decides whether there is anything to build at all."""

from collections.abc import Iterator, Sequence

import dagster as dg

from dagster_project.assets.common import POOL, WriterLock
from dagster_project.election.election import elect
from dagster_project.election.units import fingerprints
from dagster_project.kinds import built_kinds
from dagster_project.landing.opening import open_landing
from dagster_project.settings import Settings
from dagster_project.warehouse import building, builds
from dagster_project.warehouse.site import Site


class RawConfig(dg.Config):
    """How much to build."""

    full: bool = False


def raw_assets(settings: Settings, tables: Sequence[str]) -> dg.AssetsDefinition:
    """One asset per table of schema raw; `tables` are the sources the dbt project names."""
    kinds = [str(kind) for kind in built_kinds()]

    def upstream(table: str) -> list[dg.AssetKey]:
        return [dg.AssetKey(["landing", kind]) for kind in ([table] if table in kinds else kinds)]

    @dg.multi_asset(
        name="raw",
        pool=POOL,
        specs=[
            # skippable: when nothing changed nothing is yielded, and Dagster skips all that follows
            dg.AssetSpec(["raw", table], deps=upstream(table), group_name="raw", kinds={"duckdb"}, skippable=True)
            for table in tables
        ],
    )
    def raw(context: dg.AssetExecutionContext, config: RawConfig, writer: WriterLock) -> Iterator[dg.MaterializeResult]:
        """Elect generations, compare fingerprints, and create the raw views of a new build, or say that nothing changed."""
        site, place = Site.of_home(settings.home), open_landing(settings)
        election = elect(settings.sources, place)
        units = fingerprints(settings.rules, election)
        if not config.full and builds.is_current(site, units):
            context.log.info("Nothing changed since the last publication: there is nothing to build.")
            return
        build = builds.start(site, units, full=config.full)
        building.create_raw(site, build, settings, place, election)
        months = ", ".join(month[:7] for month in build.months) or "none"
        context.log.info(f"Build {build.build_id}: {'everything' if build.is_full else 'changed months'}: {months}")
        for table in tables:
            yield dg.MaterializeResult(asset_key=["raw", table], metadata={"build_id": build.build_id, "months": months})

    return raw
