"""The dbt project as assets and its tests as checks: one step that runs dbt as every refresh does."""

import json
from collections.abc import Iterator
from typing import Any

import dagster as dg

from dagster_project.assets import names, results
from dagster_project.assets.columns import kept_columns, learn_columns
from dagster_project.assets.specs import model_specs, test_specs
from dagster_project.assets.steps import WriterLock, explained
from dagster_project.failures import GateError
from dagster_project.settings import Settings
from dagster_project.warehouse import building, builds, gates, modelling
from dagster_project.warehouse.nodes import NodeResult, node_results
from dagster_project.warehouse.site import Site

BY_HAND = (
    "Models are run outside a build: the result is NOT published, and the next refresh builds everything again."
    " To build and publish, run the job `refresh`."
)


def model_assets(settings: Settings, manifest: dict[str, Any]) -> dg.AssetsDefinition:
    """All models and seeds in one step, as dbt orders them."""
    site = Site.of_home(settings.home, settings.memory_limit)

    @dg.multi_asset(
        name="models",
        specs=model_specs(manifest, kept_columns(settings.home)),
        check_specs=test_specs(manifest),
        can_subset=True,
        pool=names.POOL,
    )
    def models(context: dg.AssetExecutionContext, writer: WriterLock) -> Iterator[Any]:
        """Run dbt build on the build under way; its tests are recorded as gates."""
        build = builds.current(site)

        def on_node(done: modelling.Finished) -> None:
            context.log.info(f"{done.number} of {done.total}: {done.name}")

        with explained():
            if build and build.is_whole and not context.is_subset:
                nodes = building.run_models(site, build, on_node)
                learn_columns(site, manifest)
            else:
                if context.selected_asset_keys:  # a test alone changes nothing
                    context.log.warning(BY_HAND)
                    builds.mark_partial(site)
                nodes, build = _run_by_hand(site, manifest, context, build, on_node), None
        chosen = context.selected_asset_keys | context.selected_asset_check_keys
        for event in results.node_events(manifest, nodes, build):
            result = results.as_result(event)
            key = event.asset_check_key if isinstance(event, dg.AssetCheckEvaluation) else event.asset_key
            if key in chosen:
                yield result
        broken = gates.broken_models(nodes)
        with explained():
            if broken:
                raise GateError("dbt did not build every model: " + "; ".join(broken), where=str(site.target))

    return models


def _run_by_hand(
    site: Site, manifest: dict[str, Any], context: dg.AssetExecutionContext, build: builds.Build | None, on_node: Any
) -> list[NodeResult]:
    """Run the chosen models and tests as they are now, without gates: what they leave is no build."""
    chosen = [
        node["name"]
        for node in manifest["nodes"].values()
        if (
            names.check_of_test(manifest, node) in context.selected_asset_check_keys
            if node["resource_type"] == "test"
            else names.node_key(node) in context.selected_asset_keys
        )
    ]
    arguments = [*modelling.BUILD_ARGUMENTS, *(["--full-refresh"] if build is None or build.is_full else [])]
    modelling.lend_parse_state(modelling.parsed_project(site.root), site.target)
    arguments += ["--indirect-selection", "empty", "--select", *chosen]
    modelling.run_dbt(arguments, site.build_file, site.target, on_node, site.memory_limit)
    with building.opened(site) as connection:
        return node_results(manifest, json.loads((site.target / "run_results.json").read_bytes()), connection)
