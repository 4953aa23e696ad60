"""Tables built again of named deliveries: those that an issued report names, or some of them and some of today's.

Such a build is for a comparison: only models are run, its tests were run when its deliveries were published, and it is published
nowhere. With the seeds of a pack it uses those of them that today's project still lays out alike.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from dagster_project.code import code_version
from dagster_project.election.election import Election, elect
from dagster_project.election.units import fingerprints, months_to_build, turned_months
from dagster_project.election.winners import Name, View
from dagster_project.evidence.pack import seeds_of, write_seeds
from dagster_project.failures import GateError, UsageError
from dagster_project.landing.land import Landing
from dagster_project.landing.opening import open_landing
from dagster_project.landing.restated import Restated
from dagster_project.publishing.digest import literal, quoted, table_digest
from dagster_project.publishing.tables import published_tables
from dagster_project.settings import Settings
from dagster_project.settings.document import settings_of
from dagster_project.warehouse import builds, modelling
from dagster_project.warehouse.building import Listener, create_raw, no_listener, opened
from dagster_project.warehouse.site import Site
from reports.publication import Publication, open_folder

NOT_BUILT = frozenset({"test", "unit_test"})


def named_in(publication: Publication) -> frozenset[Name]:
    """The deliveries that count in a publication."""
    sql = "select source_name, partition, published_at, content_hash from ops.dim_deliveries where is_elected"
    return frozenset(tuple(row.values()) for row in publication.rows(sql))


def view_of(said: Mapping[str, Any], named: frozenset[Name]) -> View:
    """What an issued report knew: its deliveries, at the instant for which its months were final or not."""
    asked = {name: datetime.fromisoformat(text) for name, text in said["view"].items() if text}
    return View(**(asked or {"as_of": datetime.fromisoformat(said["build"]["started_at"])}), named=named)


def other_seeds(pack_seeds: Path, home: Path) -> list[str]:
    """Seeds of a pack that have other rows than those of the project, in the same columns."""
    import duckdb

    other = []
    manifest = modelling.project(home)
    with tempfile.TemporaryDirectory(prefix="trainledger-seeds-") as scratch, duckdb.connect() as connection:
        write_seeds(manifest, Path(scratch))
        for name in (node["name"] for node in seeds_of(manifest)):
            was, now = pack_seeds / f"{name}.parquet", Path(scratch) / f"{name}.parquet"
            if not was.is_file():
                continue
            old, new = (f"read_parquet({literal(str(path))})" for path in (was, now))
            if connection.execute(f"describe from {old}").fetchall() != connection.execute(f"describe from {new}").fetchall():
                continue  # today's models cannot read it: what that moves is the code's
            differing = f"(from {old} except all from {new}) union all (from {new} except all from {old})"
            if connection.execute(f"select 1 from ({differing}) limit 1").fetchall():
                other.append(name)
    return other


def build_tables(
    site: Site,
    settings: Settings,
    landing: Landing,
    election: Election,
    *,
    months_before: str | None = None,
    seeds: Mapping[str, Path] | None = None,
    last: Mapping[str, str] | None = None,
    listener: Listener = no_listener,
) -> dict[str, str]:
    """Build the models of an election at a site, all months or those before one ('2026-07'), with some seeds from elsewhere.

    `last` are the units that the site was built of before, with the same seeds: then only months that differ are built. Returns
    the units.
    """
    units = fingerprints(settings.rules, election)
    build = builds.start(site, units, full=True)
    months = [month for month in build.months if not months_before or month[:7] < months_before]
    if last is not None:
        differing = {*months_to_build(units, dict(last)), *turned_months(units, dict(last))}
        months = [month for month in months if date.fromisoformat(month) in differing]
    build = replace(build, months=months, is_full=last is None, reads_all=False)
    create_raw(site, build, settings, landing, election)
    modelling.lend_parse_state(modelling.parsed_project(settings.home), site.target)

    def run(*arguments: str) -> None:
        on_node = lambda done: listener("models", done.number, done.total, done.name)  # noqa: E731
        whole = ("--full-refresh",) if last is None else ()
        modelling.run_dbt([*arguments, *whole], site.build_file, site.target, on_node, site.memory_limit)
        results = json.loads((site.target / "run_results.json").read_bytes())["results"]
        if broken := [result for result in results if result["status"] not in ("success", "pass")]:
            raise GateError(
                f"{broken[0]['unique_id']} cannot be built of these deliveries: {broken[0]['message']}", where=str(site.root)
            )

    if last is not None:
        run("run")
    elif not seeds:
        run("build", "--exclude-resource-type", "test", "--exclude-resource-type", "unit_test")
    else:
        run("seed")
        with opened(site) as connection:
            for name, file in sorted(seeds.items()):
                place = f"seeds.{quoted(name)}"
                connection.execute(f"delete from {place}")
                connection.execute(f"insert into {place} by name from read_parquet({literal(str(file))})")
        run("run")
    site.marker.unlink(missing_ok=True)
    return units


def landing_differences(
    pack: Path, said: Mapping[str, Any], place: str, listener: Listener = no_listener
) -> tuple[list[str], int]:
    """Rebuild the tables of an issued report from a home or a landing; name those with other rows. Writes nothing there."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="trainledger-rebuild-") as scratch:
        settings = _settings_of(said, place, Path(scratch))
        landing = open_landing(settings)
        with open_folder(pack / "data") as publication:
            named = named_in(publication)
            is_known = not publication.missing("marts.fct_restatements")
            sql = "select report_id, datapoint_id, cause, before, after, delta from marts.fct_restatements order by all"
            known = tuple(Restated(*row.values()) for row in publication.rows(sql)) if is_known else ()
        election = replace(elect(settings.sources, landing, view_of(said, named)), restated=known)
        missing = named - {_name(member.generation) for member in election.members}
        if missing:
            return [
                f"{source} {partition}: the landing has no delivery {content}"
                for source, partition, _, content in sorted(missing)
            ], 0
        site = Site(settings.home / "rebuilt", settings.home / "rebuilt" / "dbt", settings.memory_limit)
        project = settings.home
        changed = other_seeds(pack / "data" / "seeds", project)
        seeds = {name: pack / "data" / "seeds" / f"{name}.parquet" for name in changed}
        build_tables(site, settings, landing, election, seeds=seeds, listener=listener)
        differences = []
        if said["build"]["code_version"] != code_version():
            remark = f"built with code {code_version()[:12]}, issued with {said['build']['code_version'][:12]}"
        else:
            remark = "with the same code"
        schemas = {table.name: table.schema for table in published_tables(modelling.project(project))}
        with duckdb.connect(str(site.build_file), read_only=True) as connection:
            for name, digest in said["build"]["tables"].items():
                if name not in schemas or table_digest(connection, schemas[name], name).digest != digest:
                    differences.append(f"data/marts/{name}.parquet: the landing gives other rows ({remark})")
        return differences, len(said["build"]["tables"])


def _name(generation: Any) -> Name:
    from dagster_project.election.winners import name_of

    return name_of(generation)


def _settings_of(said: Mapping[str, Any], place: str, scratch: Path) -> Settings:
    """A configuration of what the pack says its figures depend on, over a landing, with a home of its own."""
    landing = place
    if "://" not in place:
        folder = Path(place).absolute()
        landing = str(folder / "landing" if (folder / "landing").is_dir() else folder)
        if not Path(landing).is_dir():
            raise UsageError(
                "there is no home and no landing", where=place, remedy="Give the folder `home:` or `landing:` names."
            )
    rules = said["rules"]
    document = {
        "organisation": {"name": said["organisation"], "reporting_currency": rules["reporting_currency"]},
        "home": str(scratch / "home"),
        "landing": landing,
        "run_tag_keys": list(rules["run_tag_keys"]),
        "carbon_weights": rules["carbon_weights"],
        "sources": [{**source, "location": str(scratch)} for source in said["sources"]],
    }
    (scratch / "home").mkdir()
    return settings_of(document, scratch / "trainledger.yaml")


def seeds_at(pack_seeds: Path, names: Iterable[str]) -> dict[str, Path]:
    """The files of some seeds of a pack."""
    return {name: pack_seeds / f"{name}.parquet" for name in names}
