"""Which bundle has a generation: those of a source and day are opened once, for thousands of objects are read from one.

Each kind of landing says which bundles there are and opens one; it is asked again for what none of the opened ones has.
"""

from collections.abc import Mapping
from datetime import date
from typing import Protocol

from dagster_project.landing.bundles import BUNDLES, ENDING, Bundle, day_of
from dagster_project.landing.records import Generation

Stamp = tuple[int, int]  # of a file or folder: when it changed, in nanoseconds, and its size


class BundleStore(Protocol):
    """What reading bundles needs of a store."""

    def bundles(self, source: str) -> dict[str, Stamp]:
        """Each bundle of a source, with its stamp."""
        ...

    def bundle(self, source: str, name: str) -> Bundle:
        """A bundle, to be read."""
        ...


class OpenBundles:
    """The bundles of each source and day that were opened: thousands of objects are read from one."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, date], dict[tuple[str, Stamp], Bundle]] = {}

    def of(self, store: BundleStore, generation: Generation, listed: Mapping[str, Stamp] | None = None) -> Bundle | None:
        """The bundle that has a generation, if one has; `listed`: the bundles to look into, else those there are now."""
        source, day = generation.source, day_of(generation)
        opened = self._opened.setdefault((source, day), {})
        if found := next((one for one in opened.values() if one.has(generation)), None):
            return found
        for name, stamp in (store.bundles(source) if listed is None else listed).items():
            if name.startswith(f"{BUNDLES}/{day}-") and (name, stamp) not in opened:
                opened[name, stamp] = store.bundle(source, name)
        return next((one for one in opened.values() if one.has(generation)), None)


def is_bundle(name: str) -> bool:
    """Whether a file beside partitions is a bundle, and none that is being written."""
    return name.endswith(ENDING) and not name.startswith(".")
