"""Compaction: small deliveries of one source and day, each in a folder of its own, become one bundle. No figure moves by it.

A thousand nodes that deliver every half hour leave 48,000 folders a day, and each look asks the disk for every one of them. A
bundle is made whole, compared with the hashes of its members, put in place, and only then do their folders go; so at any instant
each delivery lies in its folder, in a bundle, or in both, and counts once. Identity, hashes, `published_at` and `landed_at` are
those of its record, which moves along byte for byte; so as-of answers, and what our code made of it, stay as they were.

What retention may remove by itself (bills, carbon) stays in folders, and so does Parquet, which the engine reads where it lies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from dagster_project.base import clock
from dagster_project.landing.bundles import Bundle, Member, bundle_name, day_of, write_bundle
from dagster_project.landing.deriving.contents import JUDGED
from dagster_project.landing.records import Generation, decode
from dagster_project.landing.store import folder_in

if TYPE_CHECKING:
    from dagster_project.landing.index import Found
    from dagster_project.landing.land import Landing
    from dagster_project.settings import SourceSettings

SMALL = 1 << 20  # bytes of a delivery that goes into a bundle
MANY = 1000  # deliveries in folders of their own, from which on a refresh compacts a source by itself
MOST, MOST_BYTES = 4096, 1 << 30  # deliveries and bytes of a bundle


@dataclass(frozen=True)
class Compacted:
    """A bundle that was made."""

    source: str
    day: date
    bundle: str
    deliveries: int
    size: int

    def __str__(self) -> str:
        return f"Compacted {self.deliveries} deliveries of {self.source}, {self.day}, into {self.bundle} ({self.size} bytes)"


def compact(sources: Iterable[SourceSettings], landing: Landing, *, by_itself: bool = False) -> Iterator[Compacted]:
    """Compact what is small; `by_itself` only sources with MANY deliveries in folders. The caller holds the lock.

    Of a day that is not over, more will come: by itself it is compacted when it has that many alone.
    """
    for source in sources:
        if source.facts.fact in JUDGED:
            continue
        found = landing.known.divided(source.name)
        if by_itself and len(found.in_folders) < MANY:
            continue
        loose = _without_bundled(landing, found)
        days: dict[date, list[Generation]] = {}
        for generation in loose:
            if _is_small(generation):
                days.setdefault(day_of(generation), []).append(generation)
        today = clock.now().date()
        for day, generations in sorted(days.items()):
            least = MANY if by_itself and day >= today else 2
            for some in _portions(generations):
                if len(some) >= least and (done := _bundle(landing, source.name, day, some)):
                    yield done
        landing.known.read(source.name)
    landing.known.save(keeps_contents=True)


def _is_small(generation: Generation) -> bool:
    objects = generation.objects
    is_read_where_it_lies = any(landed.file.lower().endswith(".parquet") for landed in objects)
    return sum(landed.size for landed in objects) <= SMALL and not is_read_where_it_lies


def _without_bundled(landing: Landing, found: Found) -> list[Generation]:
    """What has a folder alone; of what is in a bundle too, as after a kill, the folder goes."""
    bundled = {one.path for one in found.in_bundles}
    landing.store.remove_bundled(one for one in found.in_folders if one.path in bundled)
    return [one for one in found.in_folders if one.path not in bundled]


def _portions(generations: list[Generation]) -> Iterator[list[Generation]]:
    """The deliveries of a day in their order, as many together as a bundle may have."""
    portion, size = list[Generation](), 0
    for generation in sorted(generations, key=lambda one: (one.partition, one.order)):
        its = sum(landed.size for landed in generation.objects)
        if portion and (len(portion) == MOST or size + its > MOST_BYTES):
            yield portion
            portion, size = [], 0
        portion.append(generation)
        size += its
    yield portion


def _bundle(landing: Landing, source: str, day: date, generations: list[Generation]) -> Compacted | None:
    """Put some deliveries into one bundle, and then remove their folders. One whose bytes differ from its record stays."""
    store = landing.store
    with folder_in(store.staging) as folder:
        staged = folder / "bundle"
        while True:
            found = ((one, store.files_of(one)) for one in generations)
            members = write_bundle(staged, ((Member(one, files[0]), files[1]) for one, files in found if files))
            differing = set(_differing(Bundle(staged, str(staged)), members))
            if not differing:
                break
            generations = [one.generation for one in members if one.generation.path not in differing]
        if len(members) < 2:
            return None
        name, size = bundle_name(day, members), staged.stat().st_size
        store.put_bundle(source, name, staged)
    store.remove_bundled(one.generation for one in members)
    return Compacted(source, day, name, len(members), size)


def _differing(bundle: Bundle, members: Iterable[Member]) -> Iterator[str]:
    """The generations that a bundle does not have as they were landed."""
    for generation, record in members:
        objects = ((bundle.file(generation, landed.file), landed.sha256) for landed in generation.objects)
        is_same = all(data is not None and hashlib.sha256(data).hexdigest() == expected for data, expected in objects)
        if not is_same or decode(record, Generation, generation.path) != generation:
            yield generation.path
