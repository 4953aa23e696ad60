"""`trainledger prune`: what retention no longer keeps, shown or removed, one line each."""

from collections.abc import Callable

from dagster_project.landing.opening import open_landing
from dagster_project.landing.retention import prune
from dagster_project.locking import writer_lock
from dagster_project.settings import Settings

Say = Callable[[str], None]


def run(settings: Settings, *, yes: bool, wait: float, tell: Say, say: Say) -> None:
    """Remove, or without `yes` only list; the answer goes to `tell`, remarks to `say`."""
    with writer_lock(settings.home, "trainledger prune", wait):
        removals = prune(settings.sources, open_landing(settings), settings.home / "reports" / "issued.jsonl", yes=yes)
    for removal in removals:
        since = f"superseded {removal.superseded_at:%Y-%m-%d}, {removal.size} bytes"
        tell(f"{'removed' if yes else 'would remove'} {removal.generation.path} ({since})")
    if not removals:
        say("Nothing is to be removed.")
    elif not yes:
        say("Nothing was removed. Give --yes to remove.")
