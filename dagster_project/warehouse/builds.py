"""What is to be built, and the marker of a build under way.

`building.json` exists from the decision to build until the publication: found by the next refresh, the build before was
interrupted or refused, and the next one goes on with its months on the same file, which knows what of it is done.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from dagster_project.base import clock, durable
from dagster_project.base.code import code_version
from dagster_project.base.failures import UsageError
from dagster_project.base.months import first_day
from dagster_project.election.units import SHARED, months_to_build, overall_fingerprint, turned_months
from dagster_project.warehouse import on_spark
from dagster_project.warehouse.gates import OPS_DDL
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:
    import duckdb

LOG = logging.getLogger("trainledger")


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
    is_forced: bool = False  # its months are built again whether anything changed or not
    engine: str = "duckdb"
    is_whole: bool = True  # false: single models were run; such a state is never published
    turned: list[str] = field(default_factory=list)  # months of which only the status is new: their bill or carbon turned final
    all_days: bool = False  # of what is built by day, all days of its months are built: days.py

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

    A full build begins a new file. On Spark every build is one, and so is the first on DuckDB after it, whose file has no models
    below the marts. A build that goes on with another's file also has the other's months: some may be half done.
    """
    on_spark.require(engine)
    publication, before = site.publication(), current(site)
    goes_on = before is not None and on_spark.SPARK not in (engine, before.engine) and _can_go_on(site, before)
    is_full = (
        full
        or on_spark.SPARK in (engine, (publication or {}).get("engine"))
        or not site.build_file.exists()
        or (not goes_on and (before is not None or publication is None))
    )
    published = {} if is_full or publication is None else publication["units"]
    months = {*months_to_build(units, published), *_known(units, also)}
    turned = {*turned_months(units, published)} - months
    if before and goes_on:
        months |= {*before.month_dates, *before.turned_dates, *turned}
    else:
        months |= _moved_by_status(site, turned)
    fingerprint, now = overall_fingerprint(units), clock.now()
    build = Build(
        # the random end keeps two builds of the same second and fingerprint apart
        build_id=f"{now:%Y%m%dT%H%M%SZ}-{fingerprint[:8]}-{secrets.token_hex(3)}",
        started_at=now.isoformat(),
        fingerprint=fingerprint,
        code_version=code_version(),
        units=units,
        months=[month.isoformat() for month in sorted(months)],
        is_full=is_full,
        reads_all=full or bool(before and goes_on and before.reads_all),
        is_forced=bool(also) or bool(before and goes_on and before.is_forced),
        turned=[month.isoformat() for month in sorted(turned - months)],
        engine=engine,
        all_days=is_full or bool(also) or before is not None,
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


def _can_go_on(site: Site, build: Build) -> bool:
    """Whether the build file is the one that a build left: a full one may have been killed before it began its own."""
    import duckdb

    if not build.is_whole or not site.build_file.exists() or not build.is_full:
        return build.is_whole and site.build_file.exists()
    try:
        with duckdb.connect(str(site.build_file)) as connection:
            begun = connection.execute("select count(*) from ops.builds where build_id = ?", [build.build_id]).fetchone()
    except duckdb.Error as error:
        LOG.warning("%s cannot be gone on with, everything is built again: %s", site.build_file, error)
        return False
    return begun != (0,)


def _known(units: dict[str, str], months: Collection[str]) -> set[date]:
    """The asked months as dates; one without any data is an error that names those there are."""
    there = {name.rpartition("/")[2] for name in units if name != SHARED}
    missing = sorted(set(months) - there)
    if missing:
        span = f"The ledger has {min(there)} to {max(there)}." if there else "The ledger has no month yet."
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise UsageError(f"there is nothing of {', '.join(missing[:3])}{more} to build again", remedy=span)
    return {first_day(month) for month in months}


def current(site: Site) -> Build | None:
    """The build under way, if there is one."""
    return Build(**json.loads(site.marker.read_bytes())) if site.marker.exists() else None


def open_build(connection: duckdb.DuckDBPyConnection, build: Build) -> None:
    """Note that a build began."""
    began = datetime.fromisoformat(build.started_at).astimezone(UTC).replace(tzinfo=None)
    months = ",".join(month[:7] for month in build.months)
    connection.execute(OPS_DDL)
    connection.execute(
        "insert into ops.builds values (?, ?, null, ?, ?, ?, ?, 'started')",
        [build.build_id, began, build.fingerprint, build.code_version, build.is_full, months],
    )


def mark_partial(site: Site) -> None:
    """Single models are being run by hand: what they leave is not a build, and the next refresh builds everything."""
    _mark(site, partial(site))


def partial(site: Site) -> Build:
    """The build under way, or one of nothing, as it is once single models are run in it."""
    build = current(site) or Build("partial", clock.now().isoformat(), "", "", {}, [], True)
    return replace(build, is_whole=False)


def _mark(site: Site, build: Build) -> None:
    site.root.mkdir(parents=True, exist_ok=True)
    durable.clear_unfinished(site.root)
    durable.write_json(site.marker, asdict(build))
