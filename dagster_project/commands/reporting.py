"""Reports on request: of the last publication, or of an as-of build that is made for the question and never touches
`published/`.

Rendering is reports/, which reads one published file and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.failures import UsageError
from dagster_project.locking import writer_lock
from dagster_project.publishing.reporting import render_quarter
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Site, build_all, is_current
from dagster_project.warehouse.line import Line

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
        """What the cover says of it; the published file itself does not know."""
        if self.as_of:
            return f"As of {self.as_of:%Y-%m-%dT%H:%M:%SZ}: with the deliveries that had been landed by then."
        if self.as_published:
            return f"As published by {self.as_published:%Y-%m-%dT%H:%M:%SZ}: with the deliveries providers had published by then."
        return None


def site_of(line: Line, asked: Asked, wait: float, say: Say) -> Site:
    """The site whose publication answers: the home's own, or that of an instant, which is built when it is not there yet."""
    home, instant = line.settings.home, asked.as_of or asked.as_published
    if instant is None:
        return Site.of_home(home)
    site = Site.of_instant(home, "as-of" if asked.as_of else "as-published", instant)
    with writer_lock(site.root, f"trainledger report, {asked.note}", wait):
        election = line.elect(as_of=asked.as_of, as_published=asked.as_published)
        if not is_current(line, site, election):
            say(f"Building below {site.root}; the publication is not touched.")
            build_all(line, site, election, full=True)
    return site


def quarterly_report(settings: Settings, quarter: str, asked: Asked, out: Path | None, wait: float, say: Say) -> QuarterlyReport:
    """The report of a quarter as published, or as of an instant."""
    site = site_of(Line(settings), asked, wait, say)
    return render_quarter(site.published_file, out or site.root / "reports", quarter, settings.organisation.name, asked.note)
