"""`trainledger prune`: what retention no longer keeps, shown or removed, one line each.

Deliveries are the landing's matter; besides them go what killed writers left behind and the oldest runs of Dagster's history.
"""

import re
from collections.abc import Callable

from dagster_project.base.locking import writer_lock
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.upkeep import above_bound, bytes_below, remove_superseded

Say = Callable[[str], None]
ON_A_SERVER = re.compile(r"^storage:", re.MULTILINE)  # in dagster.yaml, as a deployment has it


def bytes_of_history(home: Home, say: Say) -> int | None:
    """Bytes of Dagster's history in its folder or on the server that keeps it; None, and why, where that does not answer."""
    folder = home.root / ".dagster"
    settings = folder / "dagster.yaml"
    if not settings.exists() or not ON_A_SERVER.search(settings.read_text(encoding="utf-8")):
        return bytes_below(folder)
    from dagster_project.assets import upkeep  # here: it imports Dagster

    try:
        return upkeep.bytes_of_history(home)
    except Exception as error:
        reason = f"{type(error).__name__}: {next(iter(str(error).splitlines()), 'no message')}"
        say(f"Dagster's history is on the server that {settings} names and is not counted: {reason}")
        return None


def run(settings: Settings, *, yes: bool, wait: float, tell: Say, say: Say) -> None:
    """Remove, or without `yes` only list; the answer goes to `tell`, remarks to `say`."""
    home = Home.of(settings)
    with writer_lock(home.root, "trainledger prune", wait):
        removals = remove_superseded(home, yes=yes)
        if (above := above_bound(home, bytes_of_history(home, say))) and yes:
            from dagster_project.assets.upkeep import shorten_history  # here: it imports Dagster

            shorten_history(home)
            above -= above_bound(home, bytes_of_history(home, say))
    verb = "removed" if yes else "would remove"
    for removal in removals:
        tell(f"{verb} {removal.generation.path} (superseded {removal.superseded_at:%Y-%m-%d}, {removal.size} bytes)")
    if above:
        tell(f"{verb} the oldest runs of Dagster's history ({above} bytes above {settings.history_megabytes} MB)")
    if not removals and not above:
        say("Nothing is to be removed.")
    elif not yes:
        say("Nothing was removed. Give --yes to remove.")
