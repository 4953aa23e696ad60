"""What is wrong now, as far as the landing, the disk and the end of a run show it: each cause with a key that stays the same.

What the published figures show is ledger.py. Nothing is remembered or sent here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from dagster_project.alerts.cause import Cause, cause
from dagster_project.alerts.watched_run import Watched
from dagster_project.landing.lateness import late_sources
from dagster_project.settings import Settings
from dagster_project.settings.alerts import Alerts
from dagster_project.warehouse.gates import REPORT
from dagster_project.warehouse.home import Home

LATE, HOME, GATES = "late", "home", "gates"  # scopes


def of_sources(settings: Settings, run: Watched) -> Iterator[Cause]:
    """Deliveries that could not be read, were refused or are held back."""
    for problem in run.problems:
        names: dict[str, Any] = {"source": problem.source, "text": problem.text}
        place = f"source/{problem.source}"
        what = f"{problem.partition} of {problem.source}" if problem.partition else problem.source
        yield cause(settings, "source", f"{place}/{problem.partition}", scope=place, group=place, what=what, **names)


def of_run(settings: Settings, run: Watched) -> Iterator[Cause]:
    """Gates that did not pass, or whatever else made a run fail."""
    if run.failed and run.failed.gates:
        for gate in (gate for gate in run.failed.gates if not gate.startswith(REPORT)):  # of_reports names those
            text, remedy = run.failed.text, run.failed.remedy
            yield cause(settings, "gate", f"gate/{gate}", scope=GATES, gate=gate, text=text, remedy=remedy)
    elif run.failed:
        text = run.failed.text or "It left no message"
        remedy = run.failed.remedy or "Look at its messages, then run it again."
        yield cause(settings, "run", f"run/{run.job}", scope=f"run/{run.job}", job=run.job, text=text, remedy=remedy)


def of_reports(settings: Settings, absent: dict[str, str]) -> Iterator[Cause]:
    """Report tables that the publication goes without."""
    for table, text in absent.items():
        yield cause(settings, "report_table", f"table/{table}", scope=GATES, table=table, text=text)


def of_lateness(home: Home, at: datetime, broken: set[str]) -> Iterator[Cause]:
    """Sources whose next delivery should be there; of one that is broken, that is the first cause."""
    sources = [source for source in home.sources if source.name not in home.settings.expected_missing]
    for late in late_sources(sources, home.landing, at):
        if late.level == "fail":
            event = "carbon" if late.missing else "stale"
            yield cause(
                home.settings,
                event,
                f"{event}/{late.source}/{late.missing}",
                scope=LATE,
                is_news=late.source not in broken,
                source=late.source,
                month=late.missing,
                text=str(late),
            )


def of_disk(home: Home, alerts: Alerts) -> Iterator[Cause]:
    """A disk with less room than the limit."""
    free = shutil.disk_usage(next(place for place in (home.root, *home.root.parents) if place.exists())).free
    if free < alerts.least_free:
        shown = f"{free / 1000**3:.1f} GB"
        yield cause(home.settings, "disk", "disk", scope=HOME, free=shown, limit=alerts.disk_free, home=home.root)
