"""One build, from elected generations to a publication: its marker, its raw views, dbt, gates, publish.

The steps are functions of their own because Dagster runs them as assets; `build_all` runs the same steps in a row for an
as-of build, which never touches `published/`. `building.json` exists while a build is under way: found at the start, the
build before was interrupted or refused, and everything is built again. Whoever builds the home holds the writer lock.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project import clock, durable
from dagster_project.failures import GateError
from dagster_project.publishing.publish import COMMIT_RECORD, FILE_NAME, Identity, publish
from dagster_project.publishing.tables import published_tables
from dagster_project.warehouse import gates, modelling

if TYPE_CHECKING:
    import duckdb

    from dagster_project.election.election import Election
    from dagster_project.warehouse.line import Line


@dataclass(frozen=True, slots=True)
class Site:
    """Where builds happen: the home, or a folder below home/asof with a build file and a publication of its own."""

    root: Path
    target: Path

    @classmethod
    def of_home(cls, home: Path) -> Site:
        """The line's own site."""
        return cls(home, home / "cache" / "dbt")

    @classmethod
    def of_instant(cls, home: Path, kind: str, instant: datetime) -> Site:
        """The site of an as-of build; `kind` is as-of or as-published."""
        root = home / "asof" / f"{kind}-{instant:%Y%m%dT%H%M%S.%fZ}"
        return cls(root, root / "dbt")

    @property
    def build_file(self) -> Path:
        """The writer's DuckDB file."""
        return self.root / "build.duckdb"

    @property
    def marker(self) -> Path:
        """Present while a build is under way."""
        return self.root / "building.json"

    @property
    def published(self) -> Path:
        """The readers' folder."""
        return self.root / "published"

    @property
    def published_file(self) -> Path:
        """The readers' DuckDB file."""
        return self.published / FILE_NAME

    def evidence(self, build_id: str) -> Path:
        """Where validations of a build are kept."""
        return self.root / "evidence" / build_id

    def publication(self) -> dict[str, Any] | None:
        """The last commit record, if the file it speaks of is there."""
        record = self.published / COMMIT_RECORD
        return json.loads(record.read_bytes()) if record.exists() and self.published_file.exists() else None


@dataclass(frozen=True, slots=True)
class Build:
    """What a build is of, as its marker keeps it."""

    build_id: str
    started_at: str
    fingerprint: str
    code_version: str
    units: dict[str, str]
    months: list[str]
    is_full: bool
    is_whole: bool = True  # false: single models were run; such a state is never published

    @property
    def month_dates(self) -> list[date]:
        """First days of the months that are built again."""
        return [date.fromisoformat(month) for month in self.months]


def is_current(line: Line, site: Site, election: Election) -> bool:
    """Whether the publication is of exactly this election, settings and code. Imports nothing heavy."""
    publication = site.publication()
    return not site.marker.exists() and publication is not None and publication["fingerprint"] == line.fingerprint(election)


def start(line: Line, site: Site, election: Election, *, full: bool = False) -> Build:
    """Decide what to build and leave the marker."""
    from dagster_project.code import code_version
    from dagster_project.election.units import overall_fingerprint

    units, code, publication = line.units(election), code_version(), site.publication()
    is_full = (
        full or site.marker.exists() or publication is None or not site.build_file.exists() or publication["code_version"] != code
    )
    fingerprint, now = overall_fingerprint(units), clock.now()
    build = Build(
        # the random end keeps two builds of the same second and fingerprint apart
        build_id=f"{now:%Y%m%dT%H%M%SZ}-{fingerprint[:8]}-{secrets.token_hex(3)}",
        started_at=now.isoformat(),
        fingerprint=fingerprint,
        code_version=code,
        units=units,
        months=[month.isoformat() for month in line.months_to_build(election, full=is_full)],
        is_full=is_full,
    )
    _mark(site, build)
    return build


def _mark(site: Site, build: Build) -> None:
    site.root.mkdir(parents=True, exist_ok=True)
    durable.write_json(site.marker, asdict(build))


def current(site: Site) -> Build | None:
    """The build under way, if there is one."""
    return Build(**json.loads(site.marker.read_bytes())) if site.marker.exists() else None


def mark_partial(site: Site) -> None:
    """Single models are being run by hand: what they leave is not a build, and the next refresh builds everything."""
    build = current(site) or Build("partial", clock.now().isoformat(), "", "", {}, [], True)
    _mark(site, replace(build, is_whole=False))


@contextmanager
def opened(site: Site) -> Iterator[duckdb.DuckDBPyConnection]:
    """The writer's file, open for as long as the block runs."""
    import duckdb

    with duckdb.connect(str(site.build_file)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        yield connection


def create_raw(line: Line, site: Site, build: Build, election: Election) -> None:
    """Create what SQL reads: raw views, the deliveries of ops, and the row of this build. A full build starts on a new file."""
    from dagster_project.warehouse.delivery_table import write_deliveries

    if build.is_full:
        for path in (site.build_file, site.build_file.with_name(f"{site.build_file.name}.wal")):
            path.unlink(missing_ok=True)
    with opened(site) as connection:
        line.create_raw(connection, election, build.month_dates)
        write_deliveries(connection, line, election)
        gates.open_build(
            connection,
            build.build_id,
            datetime.fromisoformat(build.started_at).astimezone(UTC),
            build.fingerprint,
            build.code_version,
            is_full=build.is_full,
            months=build.month_dates,
        )


def dbt_arguments(build: Build | None) -> list[str]:
    """The dbt command of a build."""
    return [*modelling.BUILD_ARGUMENTS, *(["--full-refresh"] if build is None or build.is_full else [])]


def run_models(site: Site, build: Build) -> None:
    """Run dbt as a process of its own and record its gates."""
    (site.target / "run_results.json").unlink(missing_ok=True)  # an old result must not pass for this build's
    modelling.lend_parse_state(modelling.parsed_project(site.root), site.target)
    modelling.run_dbt(dbt_arguments(build), site.build_file, site.target)
    record_models(site, build)


def record_models(site: Site, build: Build) -> list[gates.GateResult]:
    """Turn the results dbt left in the target folder into gates of this build."""
    manifest = modelling.project(site.root)
    run_results = json.loads((site.target / "run_results.json").read_bytes())
    with opened(site) as connection:
        results = gates.dbt_gates(manifest, run_results, connection)
        gates.record(connection, build.build_id, results)
    return results


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
    identity = Identity(build.build_id, build.fingerprint, build.code_version, build.units)
    record = publish(site.build_file, site.published, tables, identity)
    site.marker.unlink(missing_ok=True)
    durable.sync(site.root)
    return record


def build_all(line: Line, site: Site, election: Election, *, full: bool = False) -> dict[str, Any]:
    """Run every step of a build in this process and publish it at its site."""
    build = start(line, site, election, full=full)
    create_raw(line, site, build, election)
    run_models(site, build)
    with opened(site) as connection:
        failed = gates.failed_gates(connection, build.build_id, {gates.MODELS_GATE})
    if not failed:  # expectations ask the marts, which a broken model leaves out
        run_expectations(site, build)
    return publish_build(site, build)
