"""What is to be built, and the marker of a build under way.

`building.json` exists from the decision to build until the publication: found by the next refresh, the build before was
interrupted or refused, and everything is built again.
"""

import json
import secrets
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from datetime import date

from dagster_project import clock, durable
from dagster_project.code import code_version
from dagster_project.election.units import SHARED, months_to_build, overall_fingerprint, turned_months
from dagster_project.failures import UsageError
from dagster_project.months import first_day
from dagster_project.warehouse import on_spark
from dagster_project.warehouse.site import Site


@dataclass(frozen=True, slots=True)
class Build:
    """What a build is of, as its marker keeps it."""

    build_id: str
    started_at: str
    fingerprint: str
    code_version: str
    units: dict[str, str]
    months: list[str]  # first days of the months that are built again
    is_full: bool
    reads_all: bool = False  # all landed bytes are compared with their hashes, also those that no longer count
    engine: str = "duckdb"
    is_whole: bool = True  # false: single models were run; such a state is never published
    turned: list[str] = field(default_factory=list)  # months of which only the status is new: their bill or carbon turned final

    @property
    def month_dates(self) -> list[date]:
        """First days of the months that are built again."""
        return [date.fromisoformat(month) for month in self.months]

    @property
    def turned_dates(self) -> list[date]:
        """First days of the months of which only the status is new."""
        return [date.fromisoformat(month) for month in self.turned]


def is_current(site: Site, units: dict[str, str]) -> bool:
    """Whether the publication is of exactly these units. Imports nothing heavy."""
    publication = site.publication()
    return not site.marker.exists() and publication is not None and publication["fingerprint"] == overall_fingerprint(units)


def start(site: Site, units: dict[str, str], *, full: bool = False, also: Collection[str] = (), engine: str = "duckdb") -> Build:
    """Decide what to build and leave the marker. `also` are months, as '2026-04', to build again whether they changed or not.

    On Spark every build is a full one, and so is the first on DuckDB after it, whose file has no models below the marts.
    """
    on_spark.require(engine)
    code, publication = code_version(), site.publication()
    is_full = (
        full
        or on_spark.SPARK in (engine, (publication or {}).get("engine"))
        or site.marker.exists()
        or publication is None
        or not site.build_file.exists()
        or publication["code_version"] != code
    )
    published = {} if is_full or publication is None else publication["units"]
    months = {*months_to_build(units, published), *_known(units, also)}
    turned = {*turned_months(units, published)} - months
    months |= _moved_by_status(site, turned)
    fingerprint, now = overall_fingerprint(units), clock.now()
    build = Build(
        # the random end keeps two builds of the same second and fingerprint apart
        build_id=f"{now:%Y%m%dT%H%M%SZ}-{fingerprint[:8]}-{secrets.token_hex(3)}",
        started_at=now.isoformat(),
        fingerprint=fingerprint,
        code_version=code,
        units=units,
        months=[month.isoformat() for month in sorted(months)],
        is_full=is_full,
        reads_all=full,
        turned=[month.isoformat() for month in sorted(turned - months)],
        engine=engine,
    )
    _mark(site, build)
    return build


def _moved_by_status(site: Site, months: Collection[date]) -> set[date]:
    """Months in which a record holds a machine for longer than its bill has it: a final bill cuts what is beyond.

    So there the status moves energy, and such a month is built as if its bill had changed. The last build knows where; its months
    are otherwise as they were.
    """
    if not months:
        return set()
    import duckdb

    with duckdb.connect(str(site.build_file), read_only=True) as connection:
        rows = connection.execute("select distinct usage_month from intermediate.int_held_slices where billed_to < slice_to")
        return {month for (month,) in rows.fetchall()} & set(months)


def _known(units: dict[str, str], months: Collection[str]) -> set[date]:
    """The asked months as dates; one without any data is an error that names those there are."""
    there = {name.rpartition("/")[2] for name in units if name != SHARED}
    missing = sorted(set(months) - there)
    if missing:
        span = f"The ledger has {min(there)} to {max(there)}." if there else "The ledger has no month yet."
        raise UsageError(f"there is nothing of {', '.join(missing)} to build again", remedy=span)
    return {first_day(month) for month in months}


def current(site: Site) -> Build | None:
    """The build under way, if there is one."""
    return Build(**json.loads(site.marker.read_bytes())) if site.marker.exists() else None


def mark_partial(site: Site) -> None:
    """Single models are being run by hand: what they leave is not a build, and the next refresh builds everything."""
    build = current(site) or Build("partial", clock.now().isoformat(), "", "", {}, [], True)
    _mark(site, replace(build, is_whole=False))


def _mark(site: Site, build: Build) -> None:
    site.root.mkdir(parents=True, exist_ok=True)
    durable.write_json(site.marker, asdict(build))
