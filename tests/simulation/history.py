"""Drawn histories of an organisation: what its providers deliver, and what goes wrong while one of two homes reads it.

Both homes read the same exports at the same times, and their people decide alike. Nothing ever happens to one of them, and it
only lands; the other is refreshed under difficulties. After each step both landings hold the same bytes, and readers of the
other find the money that the history itself has added up. At the end the first home builds once, from nothing, or a new one
does of what the sources hold, where the last news was that all are whole: the published bytes are equal. What is drawn is in
events.py, here is what must hold.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from dagster_project.base import durable
from tests.landing.kit import Organisation
from tests.simulation.disk import Disk
from tests.simulation.shallow import (
    DEAD,
    NOTHING,
    SOURCES,
    Found,
    Numbered,
    found_by_readers,
    landed_bytes,
    leftovers,
    refresh,
)

BEGINNING = datetime(2026, 6, 9, 8)  # noqa: DTZ001  # UTC, as all times of the exports
LARGEST = 40_000_000  # bytes of a home of some deliveries


@dataclass
class Delivery:
    """A whole bill of an export and month, as its source had it."""

    published: datetime
    payer: str
    cost: Decimal


@dataclass
class Truth:
    """What a history knows by itself: every whole bill that was read, what was accepted, and the run records."""

    bills: dict[tuple[str, str], list[Delivery]] = field(default_factory=dict)
    accepted: set[Decimal] = field(default_factory=set)  # by cost, of which each is drawn once
    runs: dict[str, tuple[datetime, int]] = field(default_factory=dict)

    def elected(self, export: str, month: str) -> tuple[Delivery, list[Delivery]]:
        """What counts: the newest, but for what came of another payer and was not accepted; and what is held back of them."""
        first, *later = sorted(self.bills[export, month], key=lambda one: one.published)
        held: list[Delivery] = []
        for one in later:
            if one.payer == first.payer or one.cost in self.accepted:
                first, held = one, []
            else:
                held.append(one)
        return first, held

    @property
    def costs(self) -> list[tuple[str, str, Decimal]]:
        """Payer, month and cost."""
        found = [(month, self.elected(export, month)[0]) for export, month in self.bills]
        return sorted((one.payer, month, one.cost) for month, one in found)

    @property
    def tokens(self) -> list[tuple[str, int]]:
        """Run and tokens, as the newest record states them."""
        return sorted((name, tokens) for name, (_, tokens) in self.runs.items())


class History:
    """One history; `seed` draws all of it."""

    def __init__(self, folder: Path, seed: int, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.draw, self.patch = folder, random.Random(seed), patch
        self.tried = Organisation(folder, *SOURCES, home="./tried")
        self.spared = Organisation(folder, *SOURCES, home="./spared")
        self.truth = Truth()
        self.now = self.latest = BEGINNING
        self.steps: list[str] = []  # what happened, for whoever looks at a failure
        self.processes = 0
        self.before = NOTHING  # what readers found after the last step

    @property
    def home(self) -> Path:
        """The home to which things happen."""
        return self.folder / "tried"

    def step(self, event: Callable[[History], None], trouble: Callable[[History], None]) -> None:
        """Something changes, then both homes are refreshed, one of them under difficulties."""
        self.set_clock(self.now + timedelta(hours=self.draw.randint(1, 30)))
        self.happen(event)
        self.spared.refresh()
        self.happen(trouble)
        between = found_by_readers(self.home)
        has_built = self.refresh()
        self.check(between)
        assert not has_built or leftovers(self.home) == [], f"{leftovers(self.home)}: {self.steps}"  # else the next build clears

    def refresh(self) -> bool:
        """As a process of its own: what it leaves under its number, no later one takes for its own. Whether it built."""
        self.processes += 1
        with self.patch.context() as patch:
            patch.setattr(durable, "os", Numbered(DEAD + self.processes))
            return bool(refresh(self.tried.settings).build)

    def check(self, between: Found) -> None:
        """The same landings, the money of the history, whole publications for readers at any time, a bounded home."""
        tried, spared = landed_bytes(self.home), landed_bytes(self.folder / "spared")
        assert tried.keys() == spared.keys(), f"{sorted(tried.keys() ^ spared.keys())}: {self.steps}"
        assert [name for name in tried if tried[name] != spared[name]] == [], self.steps
        before, self.before = self.before, found_by_readers(self.home)
        if not self.truth.bills and not self.truth.runs:
            return
        assert self.before[1:] == (self.truth.costs, self.truth.costs, self.truth.tokens), self.steps
        for earlier, meanwhile, now in zip(before, between, self.before, strict=True):
            is_first = before.of_file == between.of_file == []  # a publication without a bill, while that could not be read
            assert is_first or meanwhile in (earlier, now), f"a reader found a mix: {self.steps}"
        size = sum(path.lstat().st_size for path in self.home.rglob("*"))
        assert size < LARGEST, f"{size} bytes: {self.steps}"

    def end(self, other: str) -> None:
        """The home that built at every step has the bytes of one that builds now, from nothing."""
        self.set_clock(self.latest + timedelta(hours=1))
        self.refresh()
        refresh(Organisation(self.folder, *SOURCES, home=other).settings)
        found = found_by_readers(self.home)
        assert found == found_by_readers(self.folder / other), self.steps
        assert found[1:] == (self.truth.costs, self.truth.costs, self.truth.tokens), self.steps

    def happen(self, what: Callable[[History], None]) -> None:
        """Do it, and remember it."""
        self.steps.append(f"{self.now:%m-%dT%H} {what.__name__}")
        what(self)

    def set_clock(self, now: datetime) -> None:
        """Let it be another time."""
        self.now, self.latest = now, max(now, self.latest)
        self.patch.setenv("TRAINLEDGER_NOW", f"{now.isoformat()}Z")

    def disk(self) -> Disk:
        """The disk of the home to which things happen, for one command."""
        return Disk(self.home, self.draw.getrandbits(32))

    def cut(self, action: Callable[[], object], effects: int) -> None:
        """The power goes at some effect of a command, that has about so many; and sometimes after it."""
        self.disk().cut(action, self.draw.randint(1, effects))
