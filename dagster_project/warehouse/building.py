"""A refresh from the election to the publication: raw views, models and tests, gates, publish.

`refresh_steps` is the one way to do it, for the command line and for Dagster: it yields an event as each step ends, and the
caller shows them. An as-of build goes through the same steps at a site of its own and never touches `published/`. Whoever builds
the home holds the writer lock.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from connectors.errors import ConnectorError
from dagster_project.base import clock, durable
from dagster_project.base.failures import GateError, SourceError
from dagster_project.election.election import elect
from dagster_project.election.months import is_read_by
from dagster_project.election.units import fingerprints
from dagster_project.landing.compacting import compact
from dagster_project.landing.judging.rules import EVERY_ONE_JUDGED
from dagster_project.landing.verifying import require_same
from dagster_project.publishing.digest import quoted
from dagster_project.publishing.publish import Identity, publish
from dagster_project.publishing.tables import published_tables
from dagster_project.warehouse import builds, gates, modelling, on_spark, report_models, statements, steps
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.nodes import NodeResult
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:
    import duckdb

    from dagster_project.election.election import Election
    from dagster_project.landing.land import Landing
    from dagster_project.settings import SourceSettings
    from dagster_project.warehouse.home import Home
    from dagster_project.warehouse.statements import Statement

SHARED = "shared.json"  # in the cache: which publication was brought to which bucket
UP_TO_DATE = "Nothing is new and nothing changed: the publication is up to date."
Listener = Callable[..., None]  # (step, done, total, detail): how far a long step is


def no_listener(step: str, done: int, total: int | None, detail: str = "") -> None:
    """Shows nothing."""


def refresh_steps(home: Home, *, full: bool = False, months: Collection[str] = ()) -> Iterator[steps.Step]:
    """Elect, and unless the publication is of just that, build and publish. `months` are built again whether they changed or not.

    Raises GateError when the build may not be published, after an event for everything that was done.
    """
    election = elect(home.sources, home.landing)
    yield steps.Elected(election)
    units = fingerprints(home.rules, election)
    if full or months or not builds.is_current(home.site, units):
        build = builds.start(home.site, units, full=full, also=months, engine=home.settings.engine)
        yield from build_steps(home, build, election)
    for made in compact(home.sources, home.landing, by_itself=True):
        yield steps.Bundled(made)
    yield from share_steps(home)


def is_shared(home: Home) -> bool:
    """Whether the publication is where `publish_to` wants it, as far as this home knows; the bucket is not asked."""
    location = home.settings.publish_to
    if location is None or (record := home.site.publication()) is None:
        return True
    marker = home.settings.cache / SHARED
    return marker.exists() and marker.read_bytes() == _mark_of(location, record)


def share_steps(home: Home) -> Iterator[steps.Step]:
    """Bring the publication to the bucket of `publish_to`. Where that fails, the next refresh tries again."""
    location, record = home.settings.publish_to, home.site.publication()
    if location is None or record is None or is_shared(home):
        return
    from connectors.stores.opening import open_bucket
    from dagster_project.publishing.sharing import share

    try:
        shared = share(home.site.published, record, open_bucket(location))
    except (ConnectorError, SourceError) as error:
        yield steps.BroughtToBucket(location, 0, str(error))
        return
    durable.put(home.settings.cache / SHARED, _mark_of(location, record))
    yield steps.BroughtToBucket(location, shared.files, None)


def build_steps(home: Home, build: Build, election: Election) -> Iterator[steps.Step]:
    """Build what was decided and publish it at the site of the home."""
    yield steps.Started(build)
    started = time.monotonic()
    begin_file(home, build, election)
    # each opening of the file reads it, each closing writes it out; Spark's process needs it closed
    with opened(home.site) if build.engine != on_spark.SPARK else nullcontext():
        create_raw(home, build, election)
        yield steps.RawCreated(build, election, time.monotonic() - started)
        every = statements.statements(home.site.root)
        yield from steps.counted(build, model_results(home.site, build, every), (one.is_test for one in every))
        yield from publish_steps(home.site, build)


def publish_steps(site: Site, build: Build) -> Iterator[steps.Step]:
    """Publish a build that passed every gate; one that did not is refused, and the last publication stays.

    A report model that is not sound is left out, with its statement, and PUBLICATION.json names it.
    """
    with opened(site) as connection:
        yield steps.Allowed(build, require_publishable(site, build))  # and once whoever reads the steps goes on:
        gates.close_build(connection, build.build_id, clock.now(), "published")
        connection.execute("checkpoint")
        started = time.monotonic()
        absent = gates.unpublished_reports(connection, build.build_id)
        tables = [table for table in published_tables(modelling.project(site.root)) if table.name not in absent]
        selects = {name: text for name, text in report_models.select_texts(site.root).items() if name not in absent}
        identity = Identity(build.build_id, build.fingerprint, build.code_version, build.units, build.engine, absent)
        built = None if build.is_full else build.month_dates
        pages = [page for page in report_models.pages(site.root) if not any(quoted(name) in page.statement for name in absent)]
        record = publish(connection, site.published, tables, identity, built, selects, pages)
        site.marker.unlink(missing_ok=True)
        durable.sync(site.root)
        yield steps.Published(build, record, time.monotonic() - started)


def _mark_of(location: str, record: dict[str, Any]) -> bytes:
    return json.dumps([location, record["build_id"]]).encode()


@contextmanager
def opened(site: Site) -> Iterator[duckdb.DuckDBPyConnection]:
    """The writer's file, open for as long as the block runs."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {"memory_limit": site.memory_limit}
    if not site.is_kept:  # what is read once and goes is written out once, and not made small
        config["checkpoint_threshold"] = "1GB"
    with duckdb.connect(str(site.build_file), config=config) as connection:
        if not site.is_kept:
            connection.execute("set force_compression = 'uncompressed'")
        connection.execute("set TimeZone = 'UTC'")
        yield connection


def begin_file(home: Home, build: Build, election: Election) -> None:
    """Compare what was landed with its hashes, and make ready the file of the build. A full build starts on a new one."""
    site, landing = home.site, home.landing
    compare_landed(landing, home.sources, build, election)
    landing.known.save()
    landing.end_engine()  # what it keeps in memory, dbt needs
    if build.is_full:
        for path in (site.build_file, site.build_file.with_name(f"{site.build_file.name}.wal")):
            path.unlink(missing_ok=True)
        shutil.rmtree(site.spill, ignore_errors=True)
    home.prepare_modes()


def create_raw(home: Home, build: Build, election: Election) -> None:
    """Create what SQL reads: raw views, the deliveries of ops, and the row of this build."""
    from dagster_project.warehouse.delivery_table import write_deliveries, write_listed
    from dagster_project.warehouse.raw import create_raw as create

    site, landing = home.site, home.landing
    with opened(site) as connection:
        all_days = build.all_days or build.is_full
        create(connection, home.rules, landing, election, build.month_dates, build.turned_dates, all_days=all_days)
        write_deliveries(connection, home.settings.by_name, landing, election)
        # an earlier view cannot know what lies there today
        write_listed(connection, home.sources if election.view.instant is None else [], landing)
        builds.open_build(connection, build)
        gates.record(connection, build.build_id, gates.delivery_gates(election))
    if build.engine == on_spark.SPARK:
        on_spark.write_plan(site, build.build_id, home.rules, landing, election)


def compare_landed(landing: Landing, sources: Iterable[SourceSettings], build: Build, election: Election) -> None:
    """Compare landed bytes with their hashes: those that the months of a build are made of, with `--full` all. Once a refresh."""
    if build.reads_all and election.view.instant is None:
        generations = (one for source in sources for one in landing.store.read(source.name).generations)
        require_same(landing.differences(generations))
        return
    months = {f"{month:%Y-%m}" for month in build.month_dates}
    for member in election.members:
        if build.is_full or is_read_by(member, months):
            landing.require_same(member.generation)


def model_results(site: Site, build: Build, every: list[Statement]) -> Iterator[NodeResult]:
    """Run models, seeds and tests, and yield what became of each as it ends; then record the tests as gates.

    Whether the build may go on is for the caller to ask of the gates.
    """
    from dagster_project.warehouse import runner  # here: it imports the engine, which a refresh without news never needs

    nodes = list[NodeResult]()
    if build.engine == on_spark.SPARK:
        nodes += on_spark.run_dbt(site, build.build_id, lambda: opened(site))
        yield from nodes
        every = report_models.left_to_duckdb(site.root, nodes)
    known = {node.unique_id for node in nodes}
    with opened(site) as connection:
        if build.engine != on_spark.SPARK:
            runner.remove_others(every, connection)
        for node in runner.run(every, build, connection, threads=runner.worth_threads(connection)):
            if node.unique_id not in known:  # Spark loads the seeds too
                nodes.append(node)
                yield node
        manifest = modelling.project(site.root)
        found = gates.dbt_gates(nodes, report_models.models_of_reports(manifest))
        gates.record(connection, build.build_id, [*found, *report_models.unsound(manifest, nodes)])
    on_spark.clear(site)


def require_publishable(site: Site, build: Build) -> int:
    """The number of gates that the build passed; GateError unless it is whole and every expected one is among them."""
    if not build.is_whole:
        raise GateError(
            "Single models were run since the last build, and such a state is not published",
            where=str(site.marker),
            remedy="Run `trainledger refresh`, or the job `refresh`.",
        )
    manifest = modelling.project(site.root)
    expected = {*gates.expected_dbt_gates(manifest, report_models.models_of_reports(manifest)), EVERY_ONE_JUDGED}
    with opened(site) as connection:
        try:
            gates.require_all_passed(connection, build.build_id, expected)
        except GateError:
            gates.close_build(connection, build.build_id, clock.now(), "gates_failed")
            raise
    return len(expected)
