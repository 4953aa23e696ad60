"""`trainledger prune`: what retention no longer keeps, shown or removed, one line each.

Deliveries are the landing's matter; besides them go the validations of old builds, and what killed writers left behind.
"""

import shutil
from collections.abc import Callable
from datetime import timedelta

from dagster_project import clock
from dagster_project.landing.opening import open_landing
from dagster_project.landing.retention import prune
from dagster_project.locking import forget_dead_writer, writer_lock
from dagster_project.settings import Settings
from dagster_project.warehouse.site import Site
from dagster_project.warehouse.validations import outdated

Say = Callable[[str], None]


def run(settings: Settings, *, yes: bool, wait: float, tell: Say, say: Say) -> None:
    """Remove, or without `yes` only list; the answer goes to `tell`, remarks to `say`."""
    issued = settings.home / "reports" / "issued.jsonl"
    days = max(source.retention.open_month_days for source in settings.sources)
    with writer_lock(settings.home, "trainledger prune", wait):
        removals = prune(settings.sources, open_landing(settings), issued, yes=yes)
        cited = issued.read_text(encoding="utf-8") if issued.exists() else ""
        folders = list(outdated(settings.home, cited, clock.now() - timedelta(days=days)))
        if yes:
            for folder in folders:
                shutil.rmtree(folder)
            for site in Site.all_below(settings.home):
                forget_dead_writer(site.root)
    verb = "removed" if yes else "would remove"
    for removal in removals:
        tell(f"{verb} {removal.generation.path} (superseded {removal.superseded_at:%Y-%m-%d}, {removal.size} bytes)")
    for folder in folders:
        tell(f"{verb} {folder.relative_to(settings.home)} (validations of a build that is no longer published)")
    if not (removals or folders):
        say("Nothing is to be removed.")
    elif not yes:
        say("Nothing was removed. Give --yes to remove.")
