"""The line before dbt, behind one door: plan, land, elect, fingerprint, create raw.

The run side (commands, Dagster assets, builds, publish) uses this class and nothing below it. Imports are inside the
methods: `plan`, `elect`, `units` and `publication` run in a refresh that finds nothing new, and such a refresh imports
neither Dagster nor dbt nor DuckDB nor polars nor pyarrow. No business rule lives here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dagster_project.settings import Settings, SourceSettings

if TYPE_CHECKING:  # the types of the signatures; their modules load when a method needs them
    import duckdb

    from connectors.deliveries import Delivery
    from dagster_project.election.election import Election
    from dagster_project.landing.land import Landed, Landing
    from dagster_project.landing.planning import Plan


class Line:
    """One configured line. Holds no lock: whoever lands or builds holds `home/.writer.lock`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def landing(self) -> Landing:
        """The landing of this line: a local folder or s3://bucket/prefix."""
        from dagster_project.landing.land import Landing

        return Landing(self.settings)

    def recover(self) -> list[str]:
        """Remove what a killed landing left behind; call it once after taking the writer lock. Returns what went."""
        return self.landing.recover()

    def plan(self, only: str | None = None) -> Plan:
        """What the sources hold that the landing does not: deliveries to land, new refusals, sources that cannot be read."""
        from dagster_project.landing.planning import make_plan

        return make_plan(self.settings, self.landing, only)

    def land(self, source: SourceSettings, delivery: Delivery) -> Landed:
        """Land one delivery: 'landed', 'unchanged', 'refused' (the content is wrong) or 'unreadable' (try again later)."""
        return self.landing.land(source, delivery)

    def land_all(self, plan: Plan, on_landed: Callable[[Landed], None] | None = None) -> list[Landed]:
        """Land a whole plan: every new delivery, oldest first, then its new refusals, then refusals that no longer stand."""
        from dagster_project.landing.planning import land_all

        return land_all(self.landing, plan, on_landed)

    def elect(self, as_of: datetime | None = None, as_published: datetime | None = None) -> Election:
        """Which generation of each partition counts, which of them are the book, which refusals are in force."""
        from dagster_project.election.election import elect

        return elect(self.settings, self.landing, as_of=as_of, as_published=as_published)

    def units(self, election: Election) -> dict[str, str]:
        """Fingerprint of every build unit, 'AWS/2026-04' -> sha256, and of '~shared' (run records, refusals, settings, code)."""
        from dagster_project.election.units import fingerprints

        return fingerprints(self.settings, election)

    def fingerprint(self, election: Election) -> str:
        """One sha256 over all units: equal to the publication's means there is nothing to build."""
        from dagster_project.election.units import overall_fingerprint

        return overall_fingerprint(self.units(election))

    def publication(self) -> dict[str, Any] | None:
        """What `publish` last wrote to home/published/PUBLICATION.json, or None before the first publication."""
        path = self.settings.home / "published" / "PUBLICATION.json"
        if not path.exists():
            return None
        return json.loads(path.read_bytes())

    def months_to_build(self, election: Election, full: bool = False) -> list[date]:
        """First days of the usage months whose units differ from the last good publication; all of them when full."""
        from dagster_project.election.units import months_to_build

        return months_to_build(self.units(election), None if full else self.publication())

    def create_raw(self, con: duckdb.DuckDBPyConnection, election: Election, months: list[date]) -> None:
        """Create schema raw (views over the elected Parquet and the small tables beside them) in a writable build file."""
        from dagster_project.warehouse.raw import create_raw

        create_raw(con, self.settings, self.landing, election, months)
