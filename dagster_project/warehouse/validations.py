"""Validations that are kept beside builds, and which of them retention removes: those of builds that nothing speaks of any more.

A build's name begins with the time at which it started, so no file's date is asked.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dagster_project.warehouse import builds
from dagster_project.warehouse.site import Site


def outdated(home: Path, cited: str, before: datetime) -> Iterator[Path]:
    """Folders of validations, of the home and of earlier views, whose builds started before an instant.

    The published build's stay, those of one under way, and whatever `cited`, the chain of issued reports, names.
    """
    for site in Site.all_below(home):
        publication, current = site.publication(), builds.current(site)
        kept = {publication["build_id"] if publication else None, current.build_id if current else None}
        for folder in sorted(site.evidence("any").parent.glob("*")):
            started = _started(folder.name)
            if started and started < before and folder.name not in kept and folder.name not in cited:
                yield folder


def _started(build_id: str) -> datetime | None:
    """When a build began; None where a name is no build's."""
    try:
        return datetime.strptime(build_id.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
