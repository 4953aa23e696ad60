"""The dbt project as assets, its tests as asset checks, and its test results as gates of the build."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DbtCliResource, dbt_assets

from dagster_project.assets.common import POOL, WriterLock
from dagster_project.dbt_project import project_folder
from dagster_project.failures import GateError
from dagster_project.settings import Settings
from dagster_project.warehouse import building, builds, modelling
from dagster_project.warehouse.site import Site


class Groups(DagsterDbtTranslator):
    """Assets are named by their schema and grouped by the room of the dbt project they live in."""

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str:
        """staging, intermediate or marts; seeds are a group of their own."""
        return "seeds" if dbt_resource_props["resource_type"] == "seed" else dbt_resource_props["fqn"][1]


def dbt_resource(target: Path) -> DbtCliResource:
    """dbt as Dagster calls it: the one of this Python, on the project beside this package."""
    project = str(project_folder())
    return DbtCliResource(project_dir=project, profiles_dir=project, dbt_executable=str(modelling.dbt_executable(target)))


def model_assets(settings: Settings, manifest: dict[str, Any]) -> dg.AssetsDefinition:
    """All models and seeds in one step, as dbt orders them."""
    site = Site.of_home(settings.home)

    @dbt_assets(
        manifest=manifest,  # not its path: dagster-dbt would keep the first one of a path for ever
        name="models",
        dagster_dbt_translator=Groups(),
        exclude="resource_type:unit_test",
        pool=POOL,
    )
    def models(context: dg.AssetExecutionContext, dbt: DbtCliResource, writer: WriterLock) -> Iterator[Any]:
        """Run dbt build on the build under way and record its tests as gates."""
        build = builds.current(site)
        if context.is_subset or build is None:
            context.log.warning(
                "Single models are run outside a build: the result is not published, the next refresh builds everything."
            )
            builds.mark_partial(site)
        modelling.lend_parse_state(modelling.parsed_project(site.root), site.target)
        invocation = dbt.cli(
            building.dbt_arguments(build) if build else [*modelling.BUILD_ARGUMENTS, "--full-refresh"],
            context=context,
            target_path=site.target,
            raise_on_error=False,
        )
        yield from invocation.stream()
        if build is None or context.is_subset:
            return
        results = building.record_models(site, build)
        if not invocation.is_successful():
            failed = ", ".join(node.name for node in results if node.status not in ("success", "pass"))
            raise GateError(f"dbt build did not pass: {failed or 'see its log'}", where=str(site.target / "run_results.json"))

    return models
