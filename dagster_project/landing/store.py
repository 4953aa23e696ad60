"""Where generations live: a local folder or a bucket. Keeps and finds them; knows nothing of what is in them.

A generation is visible whole or not at all. Locally it is staged beside the landing and renamed into place; in a bucket its
objects go up first and `_generation.json` last, put only where there is none, so that two writers cannot both win. It lies in a
folder of its own or, with others of its day, in a bundle. Who looks reads the folders first and the bundles after them: what is
moved meanwhile is in one or in both, and counts once.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from connectors.deliveries import Delivery
from dagster_project.base import durable
from dagster_project.base.failures import SourceError
from dagster_project.landing.bundles import BUNDLES, Bundle
from dagster_project.landing.opened_bundles import OpenBundles, Stamp, is_bundle
from dagster_project.landing.records import (
    ACCEPTED,
    ISSUED,
    RECORD,
    REFUSED,
    TOMBSTONE,
    Acceptance,
    Generation,
    IssuedLine,
    LandedObject,
    RefusalRecord,
    Tombstone,
    decode,
    encode,
    export_of,
    safe_name,
)
from dagster_project.landing.verifying import hash_of

Beside = Tombstone | RefusalRecord | Acceptance | IssuedLine
GONE: Stamp = (0, 0)


@dataclass(slots=True)
class SourceLanding:
    """All the landing holds of one source."""

    generations: list[Generation] = field(default_factory=list)
    tombstones: list[Tombstone] = field(default_factory=list)
    refusals: list[RefusalRecord] = field(default_factory=list)
    leftovers: list[Generation] = field(default_factory=list)  # their tombstone stands, their removal was cut short
    acceptances: list[Acceptance] = field(default_factory=list)


def source_landing(records: Iterable[tuple[str, bytes]]) -> SourceLanding:
    """Sort out records by the names of their files, and with generations whose tombstone stands set apart."""
    landed = SourceLanding()
    for path, data in records:
        if path.endswith(f"/{RECORD}"):
            landed.generations.append(decode(data, Generation, path))
        elif path.endswith(TOMBSTONE):
            landed.tombstones.append(decode(data, Tombstone, path))
        elif path.endswith(ACCEPTED):
            landed.acceptances.append(decode(data, Acceptance, path))
        else:
            landed.refusals.append(decode(data, RefusalRecord, path))
    gone = {tombstone.generation.path for tombstone in landed.tombstones}
    landed.leftovers = [generation for generation in landed.generations if generation.path in gone]
    landed.generations = [generation for generation in landed.generations if generation.path not in gone]
    return joined([landed])


def joined(parts: Iterable[SourceLanding]) -> SourceLanding:
    """The records of several partitions as one, in a fixed order."""
    landed = SourceLanding()
    for part in parts:
        landed.generations += part.generations
        landed.tombstones += part.tombstones
        landed.refusals += part.refusals
        landed.leftovers += part.leftovers
        landed.acceptances += part.acceptances
    landed.generations.sort(key=_place)
    twice = {id(later) for one, later in pairwise(landed.generations) if _place(one) == _place(later)}
    if twice:  # it is in a bundle, and its own folder was not removed yet
        landed.generations = [generation for generation in landed.generations if id(generation) not in twice]
    landed.tombstones.sort(key=lambda tombstone: (tombstone.generation.partition, tombstone.generation.order))
    landed.refusals.sort(key=lambda record: (record.partition, record.identity))
    landed.acceptances.sort(key=lambda one: (one.partition, one.accepted_at, one.content_hash))
    return landed


def _place(generation: Generation) -> tuple[str, tuple[datetime, str]]:
    return generation.partition, generation.order


class LocalLanding:
    """A landing in a local folder. landing.bucket has the same methods."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.uri = str(root)
        self.staging = root / ".staging"  # on the same disk as what is committed
        self._opened = OpenBundles()

    def read(self, source: str) -> SourceLanding:
        """Every record of a source."""
        folders = [landed for _, landed in self.read_folders(source, self._partitions(source))]
        return joined([*folders, *(self.read_bundle(source, name) for name in self.bundles(source))])

    def read_partition(self, source: str, partition: str) -> SourceLanding:
        """The records in the folder of a partition."""
        return joined(landed for _, landed in self.read_folders(source, [safe_name(partition)]))

    def read_folders(self, source: str, names: Collection[str]) -> Iterator[tuple[str, SourceLanding]]:
        """The records of some partitions, by the names of their folders. What goes meanwhile was pruned, or is in a bundle."""
        for name in names:
            records = self._records(self.root / source / name)
            found = ((path.as_posix(), data) for path in records if (data := _bytes_of(path)) is not None)
            yield name, source_landing(found)

    def bundles(self, source: str) -> dict[str, Stamp]:
        """Each bundle of a source, with its time and size."""
        names = (f"{BUNDLES}/{name}" for name, _ in _entries(self.root / source / BUNDLES) if is_bundle(name))
        return {name: stamp for name in names if (stamp := stamp_of(f"{self.root}/{source}/{name}"))}

    def read_bundle(self, source: str, name: str) -> SourceLanding:
        """The records of a bundle."""
        return source_landing(self.bundle(source, name).records())

    def bundle(self, source: str, name: str) -> Bundle:
        """A bundle, to be read."""
        path = self.root / source / name
        return Bundle(path, str(path))

    def put_bundle(self, source: str, name: str, staged: Path) -> None:
        """Make a staged bundle one of a source, on disk when this returns."""
        target = self.root / source / name
        is_new = not target.parent.exists()
        target.parent.mkdir(exist_ok=True)
        durable.sync(staged)
        staged.replace(target)
        durable.sync(target.parent)
        if is_new:
            durable.sync(target.parent.parent)

    def files_of(self, generation: Generation) -> tuple[bytes, dict[str, bytes]] | None:
        """The record and the objects of a generation in its own folder; None where something of them is gone."""
        folder = self.root / generation.path
        found = {name: _bytes_of(folder / name) for name in (RECORD, *(landed.file for landed in generation.objects))}
        files = {name: data for name, data in found.items() if data is not None}
        return (files.pop(RECORD), files) if len(files) == len(found) else None

    def _records(self, folder: Path) -> Iterator[Path]:
        for name, is_folder in _entries(folder):
            if name == REFUSED and is_folder:
                yield from (path for path in (folder / REFUSED).iterdir() if path.suffix == ".json")
            elif name.endswith((TOMBSTONE, ACCEPTED)):
                yield folder / name
            elif is_folder and (folder / name / RECORD).exists():
                yield folder / name / RECORD

    def folders(self, source: str) -> dict[str, Stamp]:
        """The folder of each partition, with the time at which something was put into it or taken out."""
        return {name: stamp_of(f"{self.root}/{source}/{name}") or GONE for name in self._partitions(source)}

    def _partitions(self, source: str) -> list[str]:
        return [name for name, is_folder in _entries(self.root / source) if is_folder and name != BUNDLES]

    def stamps(self, source: str, folder: str) -> dict[str, Stamp]:
        """Of the records, and of the folders into which one can be put without a trace in the partition's."""
        paths = [*self._records(self.root / source / folder)]
        with_record = {path.parent for path in paths if path.name == RECORD}
        for name, is_folder in _entries(self.root / source / folder):
            if is_folder and (path := self.root / source / folder / name) not in with_record:
                paths.append(path)
        return {path.relative_to(self.root).as_posix(): stamp_of(path) or GONE for path in paths}

    def is_as(self, stamps: dict[str, Stamp]) -> bool:
        """Whether all of these still have the same time and size."""
        return all(stamp_of(f"{self.root}/{path}") == stamp for path, stamp in stamps.items())

    def commit(self, generation: Generation, folder: Path, read_next: set[str]) -> None:
        """Write the record last, make all of it durable, and rename the folder into place. What the build reads is in it."""
        (folder / RECORD).write_bytes(encode(generation))  # nobody looks into a staged folder
        for path in folder.iterdir():
            durable.sync(path)
        durable.sync(folder)
        target = self.root / generation.path
        above = (target.parent, target.parent.parent, self.root)
        is_new = [not path.exists() for path in above]
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
        for path, child_is_new in zip(above, (True, *is_new), strict=False):
            if child_is_new:  # a folder into which nothing was put has nothing to lose
                durable.sync(path)

    def put_record(self, record: Beside) -> None:
        """Write or replace a record that lies beside generations."""
        durable.put(self.root / record.path, encode(record))

    def issued(self) -> list[IssuedLine]:
        """Of every report that was issued from it, the line of the chain."""
        paths = sorted((self.root / ISSUED).glob("*.json"))
        return [decode(path.read_bytes(), IssuedLine, path.as_posix()) for path in paths]

    def remove(self, generation: Generation) -> None:
        """Move the folder out of sight, then delete it."""
        with folder_in(self.staging) as hidden:
            (self.root / generation.path).rename(hidden / "generation")
            durable.sync((self.root / generation.path).parent)

    def remove_bundled(self, generations: Iterable[Generation]) -> None:
        """Remove the folders of generations that are in a bundle, and of their partitions those without anything else."""
        with folder_in(self.staging) as hidden:
            above = set[Path]()
            for number, generation in enumerate(generations):
                folder = self.root / generation.path
                names = [name for name, _ in _entries(folder.parent)]
                moved = folder.parent if names == [folder.name] else folder
                with suppress(FileNotFoundError):
                    moved.rename(hidden / f"{number}")
                    above.add(moved.parent)
            for folder in (hidden, *above):  # else a power cut could bring back a folder without its files
                durable.sync(folder)

    def lay(self, generation: Generation, landed: LandedObject, path: Path) -> None:
        """Put an object at a path, to be read: a link to where it lies, or its bytes out of a bundle."""
        self._lay(generation, landed.file, path)

    def lend(self, generation: Generation, folder: Path) -> None:
        """Link the files of a generation into a new folder, or write them there out of a bundle."""
        folder.mkdir(parents=True)
        for name in (RECORD, *(landed.file for landed in generation.objects)):
            self._lay(generation, name, folder / name)

    def _lay(self, generation: Generation, name: str, path: Path) -> None:
        own = self.root / generation.path / name
        if own.exists():
            path.symlink_to(own.absolute())
        elif (data := self._bundled(generation, name)) is not None:
            path.write_bytes(data)
        else:
            raise _gone(own)

    def object_path(self, generation: Generation, landed: LandedObject) -> Path:
        """Objects that an engine reads are read where they are; none of a bundle is."""
        path = self.root / generation.path / landed.file
        if not path.exists():
            raise _gone(path)
        return path

    @contextmanager
    def opened(self, generation: Generation, landed: LandedObject) -> Iterator[Path]:
        """An object of a generation that is in no bundle, to be read for a moment."""
        yield self.object_path(generation, landed)

    def found_hash(self, generation: Generation, landed: LandedObject) -> str | None:
        """The sha256 of an object as it lies in the landing; None when it is gone."""
        if (found := hash_of(self.root / generation.path / landed.file)) is not None:
            return found
        data = self._bundled(generation, landed.file)
        return None if data is None else hashlib.sha256(data).hexdigest()

    hash_to_read = found_hash  # a build reads objects where they are

    def bundle_of(self, generation: Generation) -> str:
        """The bundle that a generation is in; '' where it has a folder of its own."""
        if (self.root / generation.path / RECORD).exists():
            return ""
        found = self._opened.of(self, generation)
        return found.where if found else ""

    def _bundled(self, generation: Generation, name: str) -> bytes | None:
        """A file of a generation that is in a bundle."""
        found = self._opened.of(self, generation)
        return found.file(generation, name) if found else None

    def recover(self) -> None:
        """Empty the staging folder, and delete temporary names of records."""
        clear(self.staging)
        for depth in (f"{ISSUED}/.*.tmp", "*/*/.*.tmp", f"*/*/{REFUSED}/.*.tmp"):
            for leftover in self.root.glob(depth):
                leftover.unlink()


def _gone(path: Path) -> SourceError:
    return SourceError("a landed object is gone", where=str(path), remedy="Restore it, or remove its generation's folder.")


def _bytes_of(path: Path) -> bytes | None:
    """The bytes of a file; None where it has gone."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def stamp_of(path: Path | str) -> Stamp | None:
    """When a file changed, or the entries of a folder, and its size; None when it is not there."""
    try:
        status = os.stat(path)  # noqa: PTH116  # a Path costs more than the question
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_mtime_ns, status.st_size


def _entries(folder: Path) -> list[tuple[str, bool]]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)


@contextmanager
def folder_in(staging: Path) -> Iterator[Path]:
    """A new folder on the disk it will be renamed on; what is still there at the end goes."""
    staging.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="delivery-", dir=staging) as folder:  # after a commit it has moved
        yield Path(folder)


def clear(folder: Path) -> None:
    """Delete everything in a folder of leftovers."""
    for path in folder.iterdir() if folder.is_dir() else ():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def same_bytes_before(landed: SourceLanding, delivery: Delivery, content_hash: str) -> Generation | None:
    """The generation of its export before a delivery in its partition, if it has the same bytes: then the delivery is no news.

    The one before it, not any: A, B, A is news. So is A after a refused B: the source is whole again.
    """
    mine = (delivery.published_at, content_hash)
    place = delivery.partition, export_of(delivery.manifest.key if delivery.manifest else "")
    known = [*landed.generations, *(tombstone.generation for tombstone in landed.tombstones)]
    before = max((g for g in known if (g.partition, g.export) == place and g.order <= mine), key=lambda g: g.order, default=None)
    if before is None or before.content_hash != content_hash:
        return None
    refused_since = any(
        record.partition == delivery.partition
        and record.withdrawn_at is None
        and before.published_at < (record.published_at or record.refused_at)
        and (record.published_at is None or record.published_at < delivery.published_at)
        for record in landed.refusals
    )
    return None if refused_since and before.order != mine else before
