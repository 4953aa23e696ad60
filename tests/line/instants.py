"""Instants at which a refresh is killed: drawn once, and found again by what the refresh does to the file system."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SEED = 20260422


@dataclass(frozen=True)
class Instant:
    """Wait for the `nth` sign of `marker`, then `delay` seconds, then kill."""

    phase: str
    marker: str
    nth: int
    delay: float
    is_first_refresh: bool = False  # nothing was ever published
    is_parent_only: bool = False

    def __str__(self) -> str:
        whom = "refresh-only" if self.is_parent_only else "group"
        first = "-first" if self.is_first_refresh else ""
        return f"{self.phase}-{self.marker}{self.nth or ''}+{self.delay * 1000:.0f}ms-{whom}{first}"


# phase, marker, draws, longest delay in seconds, whether nothing was published before
PLAN = (
    ("landing", "staged", 6, 0.06, False),
    ("landing", "staged", 2, 0.06, True),
    ("landing", "judged", 1, 0.02, False),  # a verdict is there, the others not yet
    ("build", "building", 1, 2.0, True),
    ("build", "building", 6, 2.0, False),
    ("build", "written", 2, 1.0, True),  # while tables are written into a new file
    ("publish", "new_file", 2, 0.25, False),
    ("publish", "new_parts", 2, 0.25, False),
    ("publish", "file", 1, 0.01, False),
    ("publish", "link", 1, 0.01, False),
    ("publish", "record", 1, 0.02, False),
)


def draw() -> list[Instant]:
    generator = random.Random(SEED)
    instants = [
        Instant(phase, marker, generator.randint(1, 4) if marker == "staged" else 0, generator.uniform(0, longest), is_first)
        for phase, marker, count, longest, is_first in PLAN
        for _ in range(count)
    ]
    parents = set(generator.sample(range(len(instants)), len(instants) // 2))
    return [
        Instant(one.phase, one.marker, one.nth, one.delay, one.is_first_refresh, number in parents)
        for number, one in enumerate(instants)
    ]


def killed_in_turn(instants: list[Instant]) -> list[list[Instant]]:
    """The same instants as refreshes that follow each other: one killed while landing, but for the last of its sort, is followed
    by one that is killed later on, so that it also meets what a dead refresh left. The others are killed once."""
    turns = []
    for is_first in (False, True):
        mine = [one for one in instants if one.is_first_refresh == is_first]
        landing, later = ([one for one in mine if (one.phase == "landing") == is_landing] for is_landing in (True, False))
        paired = list(zip(landing[:-1], later, strict=False))
        turns += [[*pair] for pair in paired] + [[one] for one in (*landing[len(paired) :], *later[len(paired) :])]
    return turns


def identity(path: Path) -> object:
    """What shows a replaced file from the one before; None when there is none."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def has_changed(path: Path) -> Callable[[], bool]:
    before = identity(path)
    return lambda: identity(path) not in (None, before)


def has_another(folder: Path, pattern: str) -> Callable[[], bool]:
    before = set(folder.glob(pattern))
    return lambda: bool(set(folder.glob(pattern)) - before)


def nth_staged(staging: Path, nth: int) -> Callable[[], bool]:
    seen: set[str] = set()

    def is_there() -> bool:
        if staging.is_dir():
            seen.update(path.name for path in staging.iterdir())
        return len(seen) >= nth

    return is_there


def sign_of(instant: Instant, home: Path) -> Callable[[], bool]:
    """A question to the file system that becomes true when the phase has come that far."""
    published = home / "published"
    return {
        "staged": lambda: nth_staged(home / "landing/.staging", instant.nth),
        "building": lambda: has_changed(home / "building.json"),
        "written": lambda: has_changed(home / "build.duckdb.wal"),
        "judged": lambda: has_another(home / "cache/derived", "*/*/*/*/validation.json"),
        "new_file": lambda: has_another(published, ".*.duckdb"),
        "new_parts": lambda: has_another(published, ".parquet-*"),
        "file": lambda: has_changed(published / "trainledger.duckdb"),
        "link": lambda: has_changed(published / "parquet"),
        "record": lambda: has_changed(published / "PUBLICATION.json"),
    }[instant.marker]()
