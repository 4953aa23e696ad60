"""What was read of a source's landing, kept in one file, so that a look at 20,000 deliveries opens one file instead of 40,000.

The records in the landing stay the truth: this is a cache, derived from them, and may be deleted at any time. Nothing of it is
believed because it is written here. Before a partition's records are taken from it, its folder and each of its records must still
have the time and size that they had when they were read (in S3: the same keys and ETags); what our code made of a generation
counts while its folder on the shelf is as it was. Whatever differs is read again, for itself. So a crash between a generation and
this file, a folder that a person removed, a home that was copied: all cost a few more reads and never an answer.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dagster_project.base import durable, modes
from dagster_project.landing.deriving.contents import Contents
from dagster_project.landing.opened_bundles import Stamp
from dagster_project.landing.records import Generation
from dagster_project.landing.shelf import Shelf
from dagster_project.landing.store import LocalLanding, SourceLanding, joined, stamp_of
from dagster_project.landing.versions import records_version

if TYPE_CHECKING:
    from dagster_project.landing.bucket import BucketLanding

# A change within one tick of a disk's clock leaves no new time behind, and some disks tick by 2 s: what is younger is read again
SETTLED = 2_000_000_000


class Place(msgspec.Struct, frozen=True, array_like=True):
    """The folder of a partition: its records, and the stamps that it and they had."""

    folder: Stamp
    files: dict[str, Stamp]
    landed: SourceLanding


class Shelved(msgspec.Struct, frozen=True, array_like=True):
    """What the code made of a generation, and the stamp of the folder it lies in."""

    folder: Stamp
    contents: Contents


class Kept(msgspec.Struct, array_like=True):
    """The file. A version of the code that reads records otherwise begins with an empty one."""

    version: str
    places: dict[str, Place] = {}
    shelved: dict[str, Shelved] = {}  # by the folder


class Found(NamedTuple):
    """The generations that have a folder of their own, and those in bundles. One may be in both."""

    in_folders: list[Generation]
    in_bundles: list[Generation]


class Index:
    """The records of each source and what was made of them, as they were read last."""

    def __init__(self, folder: Path, store: "LocalLanding | BucketLanding", shelf: Shelf) -> None:
        self._folder, self._store, self._shelf = folder, store, shelf
        self._known: dict[str, Kept] = {}  # by source: its file
        self._used: dict[str, Kept] = {}  # of the known entries those that still hold, and new ones
        self._found: dict[str, Found] = {}  # by source, as last read
        # by source: the bundles there were, and their generations by partition
        self._bundled: dict[str, tuple[dict[str, Stamp], dict[str, list[Generation]]]] = {}

    def read(self, source: str) -> SourceLanding:
        """Every record of a source: those of unchanged partitions as known, the others from the landing."""
        since = time.time_ns() - SETTLED
        store, folders = self._store, self._store.folders(source)
        used = self._used_of(source)
        known = used.places or self._known[source].places
        same = {
            name: place
            for name, stamp in folders.items()
            if (place := known.get(name)) and place.folder == stamp and store.is_as(place.files)
        }
        used.places = same
        found = [place.landed for place in same.values()]
        for name, landed in store.read_folders(source, folders.keys() - same.keys()):
            found.append(landed)
            files = store.stamps(source, name)
            if all(at < since for at, _ in (folders[name], *files.values())):
                same[name] = Place(folders[name], files, landed)
        # after the folders, for what was moved meanwhile. A bundle is named by its hash: one just written is known as well
        in_bundles = []
        for name, stamp in store.bundles(source).items():
            place = known.get(name)
            same[name] = place if place and place.folder == stamp else Place(stamp, {}, store.read_bundle(source, name))
            in_bundles.append(same[name].landed)
        self._found[source] = Found(
            [one for landed in found for one in landed.generations], [one for landed in in_bundles for one in landed.generations]
        )
        return joined([*found, *in_bundles])

    def read_partition(self, source: str, partition: str) -> SourceLanding:
        """The records of one partition, those in bundles too."""
        folder, bundles = self._store.read_partition(source, partition), self._store.bundles(source)
        if not bundles:
            return folder
        known = self._bundled.get(source)
        if known is None or known[0] != bundles:
            by_partition: dict[str, list[Generation]] = {}
            for one in self.divided(source).in_bundles:
                by_partition.setdefault(one.partition, []).append(one)
            known = self._bundled[source] = bundles, by_partition
        return joined([folder, SourceLanding(generations=known[1].get(partition, []))])

    def divided(self, source: str) -> Found:
        """The generations of a source by where they lie now."""
        self.read(source)
        return self._found[source]

    def contents(self, generation: Generation, version: str) -> Contents | None:
        """What a version of the connector made of a generation, if that is on the shelf."""
        path, used = f"{generation.path}/{version}", self._used_of(generation.source)
        stamp = stamp_of(f"{self._shelf.root}/{path}")
        known = used.shelved.get(path) or self._known[generation.source].shelved.get(path)
        if known and known.folder == stamp:
            used.shelved[path] = known
            return known.contents
        contents = self._shelf.find(generation, version) if stamp else None
        if contents and stamp and stamp[0] < time.time_ns() - SETTLED:
            used.shelved[path] = Shelved(stamp, contents)
        return contents

    def save(self, *, keeps_contents: bool = False) -> None:
        """Write what was used, where that is not what the files say; without it the next look reads it again.

        Who asked for no contents keeps those that are known.
        """
        for source, used in self._used.items():
            known = self._known[source]
            if keeps_contents:
                used.shelved = known.shelved | used.shelved
            if _is_new(used.places, known.places) or _is_new(used.shelved, known.shelved):
                with modes.owner_alone():
                    durable.put(self._path(source), msgspec.msgpack.encode(used))
                self._known[source] = Kept(used.version, dict(used.places), dict(used.shelved))

    def _used_of(self, source: str) -> Kept:
        if source not in self._used:
            self._known[source], self._used[source] = _loaded(self._path(source)), Kept(records_version())
        return self._used[source]

    def _path(self, source: str) -> Path:
        return self._folder / f"{source}.msgpack"


def _loaded(path: Path) -> Kept:
    with suppress(FileNotFoundError, msgspec.MsgspecError):
        kept = msgspec.msgpack.decode(path.read_bytes(), type=Kept)
        if kept.version == records_version():
            return kept
    return Kept(records_version())


def _is_new(used: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    return len(used) != len(known) or any(known.get(name) is not entry for name, entry in used.items())
