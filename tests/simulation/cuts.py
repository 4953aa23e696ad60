"""One refresh, and the power going at its effects on the disk: what must hold for readers, and after the next refresh.

The refresh runs once, and the state of the disk before each effect is kept. Of each, what was not forced may be lost; then
readers must find one publication whole, and the next refresh must end in the bytes of one to which nothing happened. A commit
goes on from equal states once: equal but for what no reader knows and the next refresh removes unread, or equal once all is
landed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dagster_project.base import durable
from dagster_project.warehouse import builds
from tests.line.kit import published_bytes
from tests.simulation.disk import Disk
from tests.simulation.remembered import Memory, State
from tests.simulation.shallow import DEAD, Numbered, landed_bytes, leftovers

FILE, LINK = "published/trainledger.duckdb", "published/parquet"
OF_THIS_PROCESS = ("cache/landed", ".writer.json")  # when entries changed, and who writes


class KnownError(BaseException):
    """What is built from here was built before."""


@dataclass(frozen=True)
class Cuts:
    """What was done: effects of the refresh, states of the disk that differ, and builds that went on from one of them."""

    effects: int
    states: int
    builds: int


def each_is_mended(
    home: Path, patch: pytest.MonkeyPatch, refresh: Callable[[], bool], *, cuts: int, every: int = 1, goes_on_once: bool = True
) -> Cuts:
    """Cut the power `cuts` times at every so-manieth effect of a refresh, each time another way. `refresh` states if it built."""
    patch.setattr(durable, "os", Numbered(DEAD))
    disk = Disk(home, seed=0)
    states = disk.states(refresh, every)
    expected = published_bytes(home), landed_bytes(home)
    old, new = published(states[0][1]), published(states[-1][1])
    assert not {*old} & {*new}, "the news must change the file and the Parquet"
    seen, begun = set[str](), _go_on_once(home, patch) if goes_on_once else set[str]()
    for at, (effect, state) in enumerate(states, start=1):
        for number in range(cuts):
            left = state.after_power_cut(random.Random(f"{at} {number}"))
            where = f"a power cut before {effect} of {len(disk.effects)}"
            file, parquet = published(left)
            assert file in (old[0], new[0]), f"readers find a torn file after {where}"
            assert parquet in (old[1], new[1]), f"readers find Parquet of two publications after {where}"
            assert effect != "the end" or (file, parquet) == new, f"what was published is lost after {where}"
            if (digest := left.digest(*(unread(left) if goes_on_once else ()))) in seen:
                continue
            seen.add(digest)
            left.write(home)
            patch.setattr(durable, "os", Numbered(DEAD + at))  # the next process has a number of its own
            try:
                has_built = refresh()
            except KnownError:
                continue
            assert not has_built or leftovers(home) == [], where  # else all was published, and the next publication clears
            assert (published_bytes(home), landed_bytes(home)) == expected, where
    return Cuts(len(disk.effects), len(seen), len(begun))


def published(state: State) -> tuple[str, str]:
    """What readers find, as hashes: the file, and the Parquet behind the link."""
    folder = f"published/{state.entries[LINK].data.decode()}/"
    parquet = {place.removeprefix(folder): one for place, one in state.entries.items() if place.startswith(folder)}
    return State({FILE: state.entries[FILE]} if FILE in state.entries else {}).digest(), State(parquet).digest()


def unread(state: State) -> tuple[str, ...]:
    """Places of an unfinished publication, which the next one removes unread."""
    current = state.entries[LINK].data.decode()
    names = {place.split("/")[1] for place in state.entries if place.startswith("published/.")}
    return tuple(f"published/{name}" for name in names if name != current)


def _go_on_once(home: Path, patch: pytest.MonkeyPatch) -> set[str]:
    """Let no build begin on a home on which one began already; the homes on which one did."""
    begun, start = set[str](), builds.start

    def begin(*of: Any, **asked: Any) -> builds.Build:
        state = Memory(home).state()
        digest = state.digest(*OF_THIS_PROCESS, *unread(state))
        if digest in begun:
            raise KnownError
        begun.add(digest)
        return start(*of, **asked)

    patch.setattr(builds, "start", begin)
    return begun
