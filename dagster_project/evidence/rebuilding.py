"""Tables built again of named deliveries: those that an issued report names, or some of them and some of today's.

Such a build is for a comparison: only models are run, its tests were run when its deliveries were published, and it is published
nowhere. With the seeds of a pack it uses those of them that today's project still lays out alike.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.base.code import code_version
from dagster_project.base.failures import GateError, UsageError
from dagster_project.election.election import Election, elect
from dagster_project.election.units import fingerprints, months_to_build, turned_months
from dagster_project.election.winners import Name, View, name_of
from dagster_project.evidence.chained import recorded_otherwise
from dagster_project.evidence.checking import other_values
from dagster_project.evidence.layout import ISSUE, REPORT, asked_items
from dagster_project.evidence.manifest import read_json
from dagster_project.evidence.pack import cited, named_in, write_seeds
from dagster_project.landing.land import Landing
from dagster_project.landing.restated import Restated
from dagster_project.publishing.digest import literal, quoted, table_digest
from dagster_project.publishing.tables import published_tables
from dagster_project.settings import Settings
from dagster_project.settings.document import settings_of
from dagster_project.warehouse import builds, modelling, report_models, runner, statements
from dagster_project.warehouse.building import Listener, begin_file, create_raw, opened
from dagster_project.warehouse.delivery_table import grouping_of
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site
from dagster_project.warehouse.statements import SEED, Statement
from reports import door
from reports.publication import Publication, load, open_folder

ELECTED = ("ops.dim_deliveries", "marts.fct_restatements", "marts.fct_restated_texts")  # what of a pack is an input of its build


def view_of(issued: Mapping[str, Any], named: frozenset[Name]) -> View:
    """What an issued report knew: its deliveries, at the instant for which its months were final or not."""
    asked = {name: datetime.fromisoformat(text) for name, text in issued["view"].items() if text}
    return View(**(asked or {"as_of": datetime.fromisoformat(issued["build"]["started_at"])}), named=named)


def other_seeds(pack_seeds: Path, home: Path) -> dict[str, Path]:
    """The files of a pack's seeds that have other rows than those of the project, in the same columns."""
    other = {}
    with tempfile.TemporaryDirectory(prefix="trainledger-seeds-") as scratch, duckdb.connect() as connection:
        write_seeds(home, Path(scratch))
        for now in sorted(Path(scratch).glob("*.parquet")):
            was = pack_seeds / now.name
            if not was.is_file():
                continue
            old, new = (f"read_parquet({literal(str(path))})" for path in (was, now))
            if connection.execute(f"describe from {old}").fetchall() != connection.execute(f"describe from {new}").fetchall():
                continue  # today's models cannot read it: what that moves is the code's
            differing = f"(from {old} except all from {new}) union all (from {new} except all from {old})"
            if connection.execute(f"select 1 from ({differing}) limit 1").fetchall():
                other[now.stem] = was
    return other


def build_tables(
    home: Home,
    election: Election,
    seeds: dict[str, Path],
    listener: Listener,
    last: dict[str, str] | None = None,
    *,
    is_the_last: bool = False,
) -> tuple[dict[str, str], dict[str, str]]:
    """Build the models of an election at a home's site with some other seeds.

    All months: a later one may share a commitment with an earlier, whose hours then cost less.
    `last` are the units that the site was built of before, with the same seeds: then only months that differ are built;
    `is_the_last` where it will not be built of others again. Returns
    the units, and the report models that cannot be built of these deliveries, each with why: the ledger is whole without them.
    """
    site, units = home.site, fingerprints(home.rules, election)
    build = builds.start(site, units, full=True)
    months = [*build.months]
    if last is not None:
        differing = {*months_to_build(units, last), *turned_months(units, last)}
        months = [month for month in months if date.fromisoformat(month) in differing]
    build = replace(build, months=months, is_full=last is None, reads_all=False)
    begin_file(home, build, election)
    models = [_with_seed(one, seeds) for one in statements.statements(home.root) if not one.is_test]
    of_reports, absent = report_models.models_of_reports(modelling.project(home.root)), dict[str, str]()
    with opened(site) as connection:  # once: each opening of the file reads it, each closing writes it out
        create_raw(home, build, election)
        threads = runner.worth_threads(connection)
        for number, node in enumerate(runner.run(models, build, connection, threads=threads, is_the_last=is_the_last), 1):
            listener("models", number, len(models), node.name)
            if not node.is_sound and node.unique_id in of_reports:
                absent[node.name] = f"it cannot be built of these deliveries: {node.detail}"
            elif not node.is_sound:
                raise GateError(f"{node.name} cannot be built of these deliveries: {node.detail}", where=str(site.root))
    site.marker.unlink(missing_ok=True)
    return units, absent


def _with_seed(statement: Statement, seeds: Mapping[str, Path]) -> Statement:
    """A seed with the rows of a file, where there is one for it."""
    if statement.kind != SEED or statement.name not in seeds:
        return statement
    return replace(statement, sql=f"from read_parquet({literal(str(seeds[statement.name]))})")


def landing_differences(
    pack: Path, issued: Mapping[str, Any], place: str, listener: Listener
) -> tuple[list[str], list[str], int]:
    """Rebuild the tables of an issued report from a home or a landing. Writes nothing there.

    Returns those with other rows, those that cannot be built again, and how many were compared.
    """
    with tempfile.TemporaryDirectory(prefix="trainledger-rebuild-") as scratch:
        settings = _settings_of(issued, place, Path(scratch))
        root = settings.home / "rebuilt"
        home = Home(settings, Site(root, root / "dbt", settings.memory_limit, is_kept=False))
        home.landing.is_kept = False  # these deliveries counted, and what is made of them goes with the folder
        with open_folder(pack / "data", ELECTED) as publication:
            named = named_in(publication)
            known = tuple(_restated(publication))
            stated = publication.rows("select * from ops.dim_deliveries where is_elected order by source_name, partition")
        election = replace(elect(home.sources, home.landing, view_of(issued, named)), restated=known)
        if missing := sorted(named - {name_of(member.generation) for member in election.members}):
            what = "the landing has no delivery"
            return [f"{source} {partition}: {what} {content}" for source, partition, _, content in missing], [], 0
        # the same code has the same seeds, and a pack chooses none
        is_same = code_version() == issued["build"]["code_version"]
        seeds = {} if is_same else other_seeds(pack / "data" / "seeds", home.root)
        units, absent = build_tables(home, election, seeds, listener, is_the_last=True)
        differences, left_out, count = _compare(pack, issued, home, absent, Path(scratch))
        differences += _grouped_otherwise(stated, home.landing, election)
        # another version of a connector may sum up the same rows otherwise: then tables alone are compared
        is_read_alike = {row["connector_version"] for row in stated} == {
            one.contents.connector_version for one in election.members
        }
        if is_same and is_read_alike and units != issued["build"]["units"]:
            differences.append(f"{ISSUE}: its deliveries and configuration give other fingerprints of the build than it states")
        others, unknown = recorded_otherwise(pack, issued, cited(named, home.sources), home.landing.store.issued())
        return [*differences, *others], [*left_out, *unknown], count


def _grouped_otherwise(stated: Sequence[Mapping[str, Any]], landing: Landing, election: Election) -> Iterator[str]:
    """Deliveries of which the landing states otherwise than the pack whether they are groups, of what, and what is kept."""
    landed = {(one.generation.source, one.generation.content_hash): one.generation for one in election.members}
    for row in stated:
        generation = landed.get((row["source_name"], row["content_hash"]))
        if generation is None or "grouped_by" not in row:  # packs of before have not the column
            continue
        of_pack, of_landing = (row["grouped_by"], row["grouped_rows"], row["is_raw_kept"]), grouping_of(landing, generation)
        if of_pack != of_landing:
            place = f"data/ops/dim_deliveries.parquet: {row['source_name']} {row['partition']}"
            yield f"{place} is {_in_words(*of_pack)}; in the landing it is {_in_words(*of_landing)}"


def _in_words(grouped_by: str | None, rows: int | None, is_raw_kept: bool | None) -> str:
    kept = ", which are kept" if is_raw_kept else ""
    return f"grouped by {grouped_by}, of {rows} rows{kept}" if grouped_by else "the provider's rows"


def _compare(
    pack: Path, issued: Mapping[str, Any], home: Home, absent: Mapping[str, str], scratch: Path
) -> tuple[list[str], list[str], int]:
    """The tables of a build with those of a pack, by their digests, and its figures with those that the report prints.

    By another version of the code than the pack names a table is compared where the SQL is equal that makes it and what it reads.
    """
    code, code_then = code_version(), issued["build"]["code_version"]
    is_same, then = code == code_then, issued["build"].get("statements", {})
    remark = "with the same code" if is_same else f"built with code {code[:12]}, issued with {code_then[:12]}"
    version = read_json(pack / "code" / "version.json").get("trainledger")
    install = f"Install trainledger {version} (code {code_then[:12]}) to compare them all; this is code {code[:12]}."
    schemas = {table.name: table.schema for table in published_tables(modelling.project(home.root))}
    now = {} if is_same else statements.digests(home.root)
    tables = {name: digest for name, digest in issued["build"]["tables"].items() if name not in absent}
    comparable = {name for name in tables if is_same or (name in then and now.get(name) == then[name])}
    with duckdb.connect(str(home.site.build_file), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        others = {
            name
            for name, digest in tables.items()
            if name not in schemas or table_digest(connection, schemas[name], name).digest != digest
        }
        differences = [
            f"data/marts/{name}.parquet: the landing gives other rows ({remark})" for name in sorted(others & comparable)
        ]
        left_out = [
            f"data/marts/{name}.parquet is not compared: {absent[name]}"
            for name in sorted(issued["build"]["tables"].keys() & absent.keys())
        ]
        left_out += [
            f"data/marts/{name}.parquet is not compared: its SQL is another here. {install}"
            for name in sorted(others - comparable)
        ]
        if not is_same and not left_out:
            left_out.append(f"The tables were built again by another version of the code. {install}")
    if not differences and not others:
        names = {name: schema for name, schema in schemas.items() if name not in absent}
        differences += _other_figures(pack, home.site.build_file, names, scratch)
    return differences, left_out, len(tables) - len(others - comparable)


def _other_figures(pack: Path, build_file: Path, schemas: Mapping[str, str], scratch: Path) -> Iterator[str]:
    """Figures that the report prints and that its SQL does not give of the tables that were built again."""
    named = {(file.parent.name, file.stem) for file in (pack / "data").rglob("*.parquet")}
    rebuilt = sorted(name for schema, name in named if schema == "marts" and name in schemas)
    # deliveries, gates and the like: of the act of building
    others = [f"{schema}.{name}" for schema, name in named if schema != "marts" or name not in schemas]
    with duckdb.connect(config=door.settings(scratch / "spill")) as connection:
        connection.execute("set TimeZone = 'UTC'")
        load(connection, pack / "data", only=others)
        build = quoted(build_file.stem)  # by which its own views name it
        connection.execute(f"attach {literal(str(build_file))} as {build} (read_only)")
        views = {name for (name,) in connection.execute("select view_name from duckdb_views() where not internal").fetchall()}
        for name in rebuilt:  # a view is laid out once, and asked many times
            kind = "table" if name in views else "view"
            connection.execute(f"create {kind} marts.{quoted(name)} as from {build}.{schemas[name]}.{quoted(name)}")
        door.lock(connection)
        asked = door.Door(connection)
        for item in asked_items(read_json(pack / "report" / REPORT)):
            for text in other_values(asked, None, item):
                yield f"{text} (of the tables that the landing gives)"


def _restated(publication: Publication) -> Iterator[Restated]:
    """What was recorded of earlier reports: an input of the build."""
    asked = {
        "fct_restatements": ", before, after, delta",
        "fct_restated_texts": ", before, after, null as delta, true as is_text",
    }
    for table, columns in asked.items():  # packs of before have not both
        sql = f"select report_id, datapoint_id, cause{columns} from marts.{table} order by all"
        yield from (Restated(*row.values()) for row in publication.rows_if_there(sql))


def _settings_of(issued: Mapping[str, Any], place: str, scratch: Path) -> Settings:
    """A configuration of what the pack states its figures depend on, over a landing, with a home of its own."""
    landing = place
    if "://" not in place:
        folder = Path(place).absolute()
        landing = str(folder / "landing" if (folder / "landing").is_dir() else folder)
        if not Path(landing).is_dir():
            remedy = "Give the folder `home:` or `landing:` names."
            raise UsageError("there is no home and no landing", where=place, remedy=remedy)
    rules = issued["rules"]
    document = {
        "organisation": {"name": issued["organisation"], "reporting_currency": rules["reporting_currency"]},
        "home": str(scratch / "home"),
        "landing": landing,
        "run_tag_keys": list(rules["run_tag_keys"]),
        "carbon_weights": rules["carbon_weights"],
        "least_difference": rules.get("least_difference", "0.05"),  # packs of before have none
        "hosts": rules.get("hosts", {}),  # packs of before have none
        "meters": rules.get("meters", {}),  # packs of before have none
        "scope3_electricity": dict(zip(("method", "reason"), rules.get("scope3_electricity", ()), strict=False)),
        "fiscal_year_start": rules.get("fiscal_year_start", 1),
        "sources": [{**source, "location": str(scratch)} for source in issued["sources"]],
    }
    (scratch / "home").mkdir()
    return settings_of(document, scratch / "trainledger.yaml")
