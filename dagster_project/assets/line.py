"""The line from raw views to the publication as one multi-asset: it runs the steps of `trainledger refresh`, and shows each.

Whoever asks for the publication, as the job `refresh` does, has what changed built and published; the job `publish` publishes the
build under way. Chosen models and tests alone are run as they are now, which is no build and is never published.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import dagster as dg

from dagster_project.assets import names, results
from dagster_project.assets.columns import kept_columns, learn_columns
from dagster_project.assets.labels import PACKAGE, code_references
from dagster_project.assets.partitions import register_ledger
from dagster_project.assets.specs import model_specs, test_specs
from dagster_project.assets.steps import WriterLock, explained
from dagster_project.base.failures import GateError
from dagster_project.settings import Settings, SourceSettings
from dagster_project.warehouse import building, builds, gates, runner, statements, states, steps
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site

BY_HAND = (
    "Models are run outside a build: the result is NOT published, and the next refresh builds everything again."
    " To build and publish, run the job `refresh`."
)
NO_BUILD = "There is no build under way: the last publication is what was built last. Run the job `refresh`."


class BuildConfig(dg.Config):
    """How much to build: what changed, with `full` everything, with `as_built` nothing."""

    full: bool = False
    as_built: bool = False


def line_assets(settings: Settings, manifest: dict[str, Any]) -> dg.AssetsDefinition:
    """Raw views, models, seeds and tests, gates, the publication."""
    specs = (
        *_raw_specs(settings.sources, manifest),
        *model_specs(manifest, kept_columns(settings.home)),
        *_release_specs(manifest),
    )

    @dg.multi_asset(
        name=names.BUILD,
        # skippable: a model below a broken one is not built
        specs=[spec.replace_attributes(skippable=True) for spec in specs],
        check_specs=test_specs(manifest),
        can_subset=True,
        pool=names.POOL,
    )
    def build(context: dg.AssetExecutionContext, config: BuildConfig, writer: WriterLock) -> Iterator[Any]:
        """Build what changed since the publication, pass the gates, publish. Where nothing changed, nothing is done."""
        home, chosen = Home.of(settings), context.selected_asset_keys
        if config.as_built:
            going = _publish(home.site)
        elif chosen & {names.GATES, names.PUBLICATION}:
            going = building.refresh_steps(home, full=config.full)
        else:
            going = _by_hand(home.site, manifest, context)
        own = chosen | context.selected_asset_check_keys
        with explained():
            for event in followed(context, going, home, manifest):
                if results.key_of(event) in own:
                    yield results.as_result(event)
                else:
                    context.log_event(event)  # checks are taken too

    return build


def followed(
    context: dg.AssetExecutionContext, going: Iterator[steps.Step], home: Home, manifest: dict[str, Any]
) -> Iterator[results.Event]:
    """The events of a refresh while it goes on, or one line. It fails at its end where a report table is absent."""
    record, last, unshared = None, None, None
    for step in going:
        if isinstance(step, steps.BroughtToBucket):
            (context.log.warning if step.problem else context.log.info)(str(step))
            unshared = step if step.problem else None
            continue
        if isinstance(step, steps.Bundled):
            context.log.info(str(step))
            continue
        last = step
        if isinstance(step, steps.Elected):
            record = home.site.publication()
        if isinstance(step, steps.Started):
            context.log.info(f"Build {step.build.build_id}, months: {results.months_text(step.build)}")
        if isinstance(step, steps.Published):
            record = step.record
            learn_columns(home.site, manifest)
            register_ledger(context.instance, step.record["units"])
        yield from results.events_of(step, home, manifest)
    if isinstance(last, steps.Elected):
        context.log.info(building.UP_TO_DATE)
    if record and record["absent"]:
        raise gates.without_reports(record["absent"])
    if unshared:
        raise dg.Failure(str(unshared), allow_retries=False)


def _publish(site: Site) -> Iterator[steps.Step]:
    """Publish the build under way if every gate passed."""
    under_way = builds.current(site)
    if under_way is None:
        raise dg.Failure(NO_BUILD)
    yield from building.publish_steps(site, under_way)


def _by_hand(site: Site, manifest: dict[str, Any], context: dg.AssetExecutionContext) -> Iterator[steps.Step]:
    """Run the chosen models and tests as they are now, without gates: what they leave is no build."""
    chosen = {
        unique_id
        for unique_id, node in manifest["nodes"].items()
        if (
            names.check_of_test(manifest, node) in context.selected_asset_check_keys
            if node["resource_type"] == "test"
            else names.node_key(node) in context.selected_asset_keys
        )
    }
    if context.selected_asset_keys:  # a test alone changes nothing
        if all(manifest["nodes"][unique_id]["resource_type"] == "test" for unique_id in chosen):  # those of a raw view
            raise dg.Failure("Raw views are created for a build of all that reads them, never alone. Run the job `refresh`.")
        context.log.warning(BY_HAND)
        builds.mark_partial(site)
    run = [one for one in statements.statements(site.root) if one.unique_id in chosen]
    with building.opened(site) as connection:
        states.forget(connection, run)
        nodes = runner.run(run, builds.partial(site), connection)
        for ended in steps.counted(None, nodes, (one.is_test for one in run)):
            yield ended
            if not (ended.node.is_sound or ended.node.is_test):
                raise GateError(f"{ended.node.name} was not built: {ended.node.detail}", where=str(site.build_file))


def _raw_specs(sources: Iterable[SourceSettings], manifest: dict[str, Any]) -> Iterator[dg.AssetSpec]:
    """One asset for each table of schema raw that the dbt project names."""
    described = {source["name"]: source.get("description", "") for source in manifest["sources"].values()}
    by_kind: dict[str, list[dg.AssetKey]] = {}
    for source in sources:
        by_kind.setdefault(str(source.kind), []).append(names.landing_key(source.name))
    for table in names.raw_tables(manifest):
        yield dg.AssetSpec(
            names.raw_key(table),
            deps=[names.NEW_DELIVERIES, *by_kind.get(table, [])],
            description=described[table],
            group_name="raw",
            kinds={"duckdb", "parquet"},
            metadata={"dagster/table_name": f"raw.{table}", **code_references(PACKAGE / "warehouse/raw.py")},
        )


def _release_specs(manifest: dict[str, Any]) -> Iterator[dg.AssetSpec]:
    """The gates of all marts, and the publication behind them."""
    marts = sorted({key for node in manifest["nodes"].values() if (key := names.node_key(node)).path[0] == "marts"})
    yield dg.AssetSpec(
        names.GATES,
        deps=[*marts, names.NEW_DELIVERIES],  # of which the job `refresh` has no raw view in between
        group_name="gates",
        description="Permission to publish: every gate of the build passed, the tests of its models among them.",
        metadata=code_references(PACKAGE / "warehouse/gates.py"),
    )
    yield dg.AssetSpec(
        names.PUBLICATION,
        deps=[names.GATES],
        group_name="publication",
        kinds={"duckdb", "parquet"},
        description="The file that readers hold and the Parquet beside it. Only a build with every gate passed is published; else"
        " the run fails with the gates and their first rows, and the last publication stays.",
        metadata=code_references(PACKAGE / "warehouse/building.py"),
    )
