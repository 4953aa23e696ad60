"""`trainledger prune`: what retention no longer keeps, shown or removed, one line each.

Deliveries are the landing's matter; besides them go what killed writers left behind and the oldest runs of Dagster's history.
"""

from collections.abc import Callable

from dagster_project.base.locking import writer_lock
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.upkeep import free_of_history, remove_superseded

Say = Callable[[str], None]


def run(settings: Settings, *, yes: bool, wait: float, tell: Say, say: Say) -> None:
    """Remove, or without `yes` only list; the answer goes to `tell`, remarks to `say`."""
    home = Home.of(settings)
    with writer_lock(home.root, "trainledger prune", wait):
        removals = remove_superseded(home, yes=yes)
        if (above := free_of_history(home)) and yes:
            from dagster_project.assets.upkeep import shorten_history  # here: it imports Dagster

            shorten_history(home)
            above -= free_of_history(home)
    verb = "removed" if yes else "would remove"
    for removal in removals:
        tell(f"{verb} {removal.generation.path} (superseded {removal.superseded_at:%Y-%m-%d}, {removal.size} bytes)")
    if above:
        tell(f"{verb} the oldest runs of Dagster's history ({above} bytes above {settings.history_megabytes} MB)")
    if not removals and not above:
        say("Nothing is to be removed.")
    elif not yes:
        say("Nothing was removed. Give --yes to remove.")
