"""Assets raw/*: what dbt reads. Here a run decides whether there is anything to build at all."""

from collections.abc import Iterator, Sequence

import dagster as dg

from dagster_project.assets.common import POOL, WriterLock
from dagster_project.kinds import built_kinds
from dagster_project.warehouse import building
from dagster_project.warehouse.building import Site
from dagster_project.warehouse.line import Line


class RawConfig(dg.Config):
    """How much to build."""

    full: bool = False


def raw_assets(line: Line, tables: Sequence[str]) -> dg.AssetsDefinition:
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
        site, election = Site.of_home(line.settings.home), line.elect()
        if not config.full and building.is_current(line, site, election):
            context.log.info("Nothing changed since the last publication: there is nothing to build.")
            return
        build = building.start(line, site, election, full=config.full)
        building.create_raw(line, site, build, election)
        months = ", ".join(month[:7] for month in build.months) or "none"
        context.log.info(f"Build {build.build_id}: {'everything' if build.is_full else 'changed months'}: {months}")
        for table in tables:
            yield dg.MaterializeResult(asset_key=["raw", table], metadata={"build_id": build.build_id, "months": months})

    return raw
