"""`trainledger prune`: what retention no longer keeps, shown or removed, one line each.

Deliveries are the landing's matter; besides them goes what killed writers left behind.
"""

from collections.abc import Callable

from dagster_project.base.locking import forget_dead_writer, writer_lock
from dagster_project.landing.retention import prune
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site

Say = Callable[[str], None]


def run(settings: Settings, *, yes: bool, wait: float, tell: Say, say: Say) -> None:
    """Remove, or without `yes` only list; the answer goes to `tell`, remarks to `say`."""
    home = Home.of(settings)
    issued = home.root / "reports" / "issued.jsonl"
    with writer_lock(home.root, "trainledger prune", wait):
        removals = prune(home.sources, home.landing, issued, yes=yes)
        if yes:
            for site in Site.all_below(home.root):
                forget_dead_writer(site.root)
    verb = "removed" if yes else "would remove"
    for removal in removals:
        tell(f"{verb} {removal.generation.path} (superseded {removal.superseded_at:%Y-%m-%d}, {removal.size} bytes)")
    if not removals:
        say("Nothing is to be removed.")
    elif not yes:
        say("Nothing was removed. Give --yes to remove.")
