"""The steps of one build, from elected generations to a publication: raw views, dbt, gates, publish.

They are functions of their own because Dagster runs them as assets; `build_all` runs them in a row, for the command line and
for an as-of build, which never touches `published/`. Whoever builds the home holds the writer lock.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dagster_project import clock, durable, modes
from dagster_project.election.months import is_read_by
from dagster_project.failures import GateError
from dagster_project.landing.verifying import landed_differences, require_same
from dagster_project.publishing.publish import Identity, publish
from dagster_project.publishing.tables import published_tables
from dagster_project.warehouse import gates, modelling, on_spark, report_models, statements
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.nodes import NodeResult, node_results
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:
    import duckdb

    from dagster_project.election.election import Election
    from dagster_project.landing.land import Landing
    from dagster_project.settings import Settings

Listener = Callable[..., None]  # (step, done, total, detail): how far a long step is


def no_listener(step: str, done: int, total: int | None, detail: str = "") -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class Built:
    """What became of a build: every model, seed and test, every expectation, and the publication or why there is none."""

    build: Build
    nodes: list[NodeResult]
    expectations: list[gates.GateResult]
    publication: dict[str, Any] | None = None
    failure: GateError | None = None


@contextmanager
def opened(site: Site) -> Iterator[duckdb.DuckDBPyConnection]:
    """The writer's file, open for as long as the block runs."""
    import duckdb

    with duckdb.connect(str(site.build_file), config={"memory_limit": site.memory_limit}) as connection:
        connection.execute("set TimeZone = 'UTC'")
        yield connection


def create_raw(site: Site, build: Build, settings: Settings, landing: Landing, election: Election) -> None:
    """Create what SQL reads: raw views, the deliveries of ops, and the row of this build. A full build starts on a new file."""
    from dagster_project.warehouse.delivery_table import write_deliveries, write_listed
    from dagster_project.warehouse.raw import create_raw as create

    compare_landed(build, settings, landing, election)
    landing.known.save()
    landing.end_engine()  # what it keeps in memory, dbt needs
    if build.is_full:
        for path in (site.build_file, site.build_file.with_name(f"{site.build_file.name}.wal")):
            path.unlink(missing_ok=True)
        shutil.rmtree(site.spill, ignore_errors=True)
    if site == Site.of_home(settings.home):
        modes.prepare(settings.home, settings.landing, settings.publish_mode)
    with opened(site) as connection:
        create(connection, settings.rules, landing, election, build.month_dates, build.turned_dates)
        write_deliveries(connection, settings.by_name, landing, election)
        # an earlier view cannot know what lies there today
        write_listed(connection, settings.sources if election.view.instant is None else [], landing)
        gates.open_build(
            connection,
            build.build_id,
            datetime.fromisoformat(build.started_at).astimezone(UTC),
            build.fingerprint,
            build.code_version,
            is_full=build.is_full,
            months=build.month_dates,
        )
    if build.engine == on_spark.SPARK:
        on_spark.write_plan(site, build.build_id, settings.rules, landing, election)


def compare_landed(build: Build, settings: Settings, landing: Landing, election: Election) -> None:
    """Compare landed bytes with their hashes: those that the months of a build are made of, with `--full` all. Once a refresh."""
    if build.reads_all and election.view.instant is None:
        generations = (one for source in settings.sources for one in landing.store.read(source.name).generations)
        require_same(landed_differences(landing.store, generations))
        return
    months = {f"{month:%Y-%m}" for month in build.month_dates}
    for member in election.members:
        if build.is_full or is_read_by(member, months):
            landing.require_same(member.generation)


def dbt_arguments(build: Build) -> list[str]:
    """The dbt command of a build. Seeds are loaded by full builds: another seed is another version of the code."""
    return [*modelling.BUILD_ARGUMENTS, *(["--full-refresh"] if build.is_full else ["--exclude-resource-type", "seed"])]


def run_models(site: Site, build: Build, on_node: Callable[[modelling.Finished], None] | None = None) -> list[NodeResult]:
    """Run dbt as a process of its own, record its tests as gates, and return what became of every model, seed and test.

    `on_node` is called as each of them ends. Whether the build may go on is for the caller to ask of the gates.
    """
    (site.target / "run_results.json").unlink(missing_ok=True)  # an old result must not pass for this build's
    if build.engine == on_spark.SPARK:
        others = [*dbt_arguments(build), "--exclude", report_models.SELECTOR]
        on_spark.run_dbt(others, site, build.build_id, on_node, lambda: opened(site))
        report_models.build(site, dbt_arguments(build), on_node)
        nodes = record_models(site, build)
        on_spark.clear(site)
        return nodes
    with opened(site) as connection:
        results = statements.run(site, build, connection, on_node)
        if results is not None:
            return _recorded(site, build, results, connection)
    modelling.lend_parse_state(modelling.parsed_project(site.root), site.target)
    modelling.run_dbt(dbt_arguments(build), site.build_file, site.target, on_node, site.memory_limit)
    return record_models(site, build)


def record_models(site: Site, build: Build) -> list[NodeResult]:
    """Read what dbt left in the target folder, and record its tests as gates of this build."""
    run_results = json.loads((site.target / "run_results.json").read_bytes())
    with opened(site) as connection:
        statements.keep(site, build, run_results, connection)
        report_models.keep(site, run_results["results"])
        return _recorded(site, build, run_results["results"], connection)


def _recorded(site: Site, build: Build, results: list[dict[str, Any]], connection: duckdb.DuckDBPyConnection) -> list[NodeResult]:
    nodes = node_results(modelling.project(site.root), {"results": results}, connection)
    gates.record(connection, build.build_id, gates.dbt_gates(nodes))
    return nodes


def run_expectations(site: Site, build: Build) -> list[gates.GateResult]:
    """Validate the suites and record their gates."""
    from dagster_project.warehouse.expectations import run_suites

    with opened(site) as connection:
        results = run_suites(connection, site.evidence(build.build_id))
        gates.record(connection, build.build_id, results)
    return results


def expected_gates(site: Site) -> set[str]:
    """Every gate a build of this project must have passed."""
    from dagster_project.warehouse import expectations

    manifest = modelling.project(site.root)
    return gates.expected_dbt_gates(manifest) | expectations.expected_gates()


def require_publishable(site: Site, build: Build) -> None:
    """Raise GateError unless the build is whole and every expected gate passed."""
    if not build.is_whole:
        raise GateError(
            "Single models were run since the last build, and such a state is not published",
            where=str(site.marker),
            remedy="Run `trainledger refresh`, or the job `refresh`.",
        )
    with opened(site) as connection:
        try:
            gates.require_all_passed(connection, build.build_id, expected_gates(site))
        except GateError:
            gates.close_build(connection, build.build_id, clock.now(), "gates_failed")
            raise


def publish_build(site: Site, build: Build) -> dict[str, Any]:
    """Publish a build that passed every gate; a build that did not is refused and the last publication stays."""
    require_publishable(site, build)
    with opened(site) as connection:
        gates.close_build(connection, build.build_id, clock.now(), "published")
        connection.execute("checkpoint")
    tables = published_tables(modelling.project(site.root))
    identity = Identity(build.build_id, build.fingerprint, build.code_version, build.units, build.engine)
    built, selects = None if build.is_full else build.month_dates, report_models.statements(site)
    record = publish(site.build_file, site.published, tables, identity, built, selects)
    site.marker.unlink(missing_ok=True)
    durable.sync(site.root)
    return record


def build_all(
    site: Site, build: Build, settings: Settings, landing: Landing, election: Election, listener: Listener = no_listener
) -> Built:
    """Run every step of a build in this process and publish it at its site."""
    listener("raw", 0, 1)
    create_raw(site, build, settings, landing, election)
    listener("raw", 1, 1)
    ended = itertools.count(1)  # dbt numbers nodes as they start: with two threads the last to end need not be the last number
    nodes = run_models(site, build, lambda done: listener("models", next(ended), done.total, done.name))
    results: list[gates.GateResult] = []
    if not gates.broken_models(nodes):  # expectations ask the marts, which a broken model leaves out
        listener("expectations", 0, 1)
        results = run_expectations(site, build)
        listener("expectations", 1, 1)
    listener("publication", 0, 1)
    built = Built(build, nodes, results)
    try:
        built.publication = publish_build(site, build)
    except GateError as error:
        built.failure = error
    listener("publication", 1, 1)
    return built
