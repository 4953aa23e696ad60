"""What a home holds, in bytes, and what of it goes when somebody prunes it. Dagster's runs are removed in assets/history.py."""

import os
from dataclasses import dataclass
from pathlib import Path

from dagster_project.base.locking import forget_dead_writer
from dagster_project.landing.retention import Removal, prune
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site


@dataclass(frozen=True)
class Holdings:
    """Bytes of a home. What can be freed of the landing is superseded, of the history above `history_megabytes`."""

    landing: int
    cache: int
    published: int
    history: int | None  # null where it could not be counted
    history_limit: int
    free_of_landing: int
    free_of_history: int


def holdings_of(home: Home, history: int | None) -> Holdings:
    """Count what the folders hold; a landing in S3 by its records, Dagster's history by who knows where it lies."""
    generations = [one for source in home.sources for one in home.landing.read(source.name).generations]
    return Holdings(
        landing=sum(landed.size for one in generations for landed in one.objects),
        cache=bytes_below(home.settings.cache),
        published=bytes_below(home.site.published),
        history=history,
        history_limit=home.settings.history_megabytes * 1_000_000,
        free_of_landing=sum(removal.size for removal in remove_superseded(home, yes=False)),
        free_of_history=above_bound(home, history),
    )


def above_bound(home: Home, history: int | None) -> int:
    """Bytes of Dagster's history above its bound."""
    return max(0, (history or 0) - home.settings.history_megabytes * 1_000_000)


def remove_superseded(home: Home, *, yes: bool) -> list[Removal]:
    """What retention removes; with `yes` it is, and so is what killed writers left. The caller holds the lock then."""
    removals = prune(home.sources, home.landing, home.root / "reports" / "issued.jsonl", yes=yes)
    if yes:
        for site in Site.all_below(home.root):
            forget_dead_writer(site.root)
    return removals


def bytes_below(folder: Path) -> int:
    """Bytes of all files below a folder, one that has two names once; what another process removes meanwhile is not counted."""
    found: dict[tuple[int, int], int] = {}
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif not entry.is_symlink():
                        stat = entry.stat()
                        found[stat.st_dev, stat.st_ino] = stat.st_size
        except FileNotFoundError:
            continue
    return sum(found.values())
