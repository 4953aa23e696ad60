"""`trainledger report`: of the last publication, or of an as-of build that is made for the question and never touches
`published/`.

Rendering is reports/, which reads one published file and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.election.election import elect
from dagster_project.election.units import fingerprints
from dagster_project.failures import UsageError
from dagster_project.landing.opening import open_landing
from dagster_project.locking import writer_lock
from dagster_project.publishing.reporting import render_quarter
from dagster_project.settings import Settings
from dagster_project.warehouse import builds
from dagster_project.warehouse.building import Listener, build_all, no_listener
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:
    from reports.quarterly import QuarterlyReport

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """Of when a report is asked: of now, of what we knew at an instant, or of what providers had published by then."""

    as_of: datetime | None = None
    as_published: datetime | None = None

    def __post_init__(self) -> None:
        if self.as_of and self.as_published:
            raise UsageError("--as-of and --as-published ask two different questions", remedy="Give one of them.")

    @property
    def note(self) -> str | None:
        """What the cover tells of it; the published file itself does not know."""
        if self.as_of:
            return f"As of {self.as_of:%Y-%m-%dT%H:%M:%SZ}: with the deliveries that had been landed by then."
        if self.as_published:
            return f"As published by {self.as_published:%Y-%m-%dT%H:%M:%SZ}: with the deliveries providers had published by then."
        return None


def site_of(settings: Settings, asked: Asked, wait: float, say: Say, listener: Listener = no_listener) -> Site:
    """The site whose publication answers: the home's own, or that of an instant, which is built when it is not there yet."""
    instant = asked.as_of or asked.as_published
    if instant is None:
        return Site.of_home(settings.home)
    site = Site.of_instant(settings.home, "as-of" if asked.as_of else "as-published", instant)
    with writer_lock(site.root, f"trainledger report, {asked.note}", wait):
        landing = open_landing(settings)
        election = elect(settings.sources, landing, as_of=asked.as_of, as_published=asked.as_published)
        units = fingerprints(settings.rules, election)
        if not builds.is_current(site, units):
            say(f"Building below {site.root}; the publication is not touched.")
            built = build_all(site, builds.start(site, units, full=True), settings, landing, election, listener)
            if built.failure:
                raise built.failure
    return site


def quarterly_report(
    settings: Settings, quarter: str, asked: Asked, out: Path | None, wait: float, say: Say, listener: Listener = no_listener
) -> QuarterlyReport:
    """The report of a quarter as published, or as of an instant, in `out` or beside the publication."""
    from dagster_project.assets.story import tell_report  # here: other commands start without Dagster

    site = site_of(settings, asked, wait, say, listener)
    listener("report", 0, 1, quarter)
    report = render_quarter(site.published_file, out or site.root / "reports", quarter, settings.organisation.name, asked.note)
    listener("report", 1, 1, quarter)
    if asked.note is None:  # an earlier view is no report of the publication
        tell_report(settings, quarter, report.html, report.status, say)
    return report
