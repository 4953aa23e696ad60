"""Where generations live: a local folder or s3://bucket/prefix. Keeps and finds them; knows nothing of what is in them.

A generation is visible whole or not at all. Locally it is staged beside the landing and renamed into place; on S3 its
objects go up first and `_generation.json` last, put with If-None-Match, so that two writers cannot both win.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dagster_project import durable
from dagster_project.failures import SourceError
from dagster_project.landing.records import (
    RECORD,
    REFUSED,
    TOMBSTONE,
    Generation,
    LandedObject,
    RefusalRecord,
    Tombstone,
    decode,
    encode,
    safe_name,
)


@dataclass(slots=True)
class SourceLanding:
    """All the landing holds of one source."""

    generations: list[Generation] = field(default_factory=list)
    tombstones: list[Tombstone] = field(default_factory=list)
    refusals: list[RefusalRecord] = field(default_factory=list)
    leftovers: list[Generation] = field(default_factory=list)  # their tombstone stands, their removal was cut short

    def add(self, path: str, data: bytes) -> None:
        """Take in one record by the name of its file."""
        if path.endswith(f"/{RECORD}"):
            self.generations.append(decode(data, Generation, path))
        elif path.endswith(TOMBSTONE):
            self.tombstones.append(decode(data, Tombstone, path))
        else:
            self.refusals.append(decode(data, RefusalRecord, path))

    def tidied(self) -> SourceLanding:
        """In a fixed order, and with generations whose tombstone stands set apart."""
        gone = {tombstone.generation.path for tombstone in self.tombstones}
        self.leftovers = [generation for generation in self.generations if generation.path in gone]
        self.generations = sorted((g for g in self.generations if g.path not in gone), key=lambda g: (g.partition, g.order))
        self.tombstones.sort(key=lambda tombstone: (tombstone.generation.partition, tombstone.generation.order))
        self.refusals.sort(key=lambda record: (record.partition, record.identity))
        return self


class LandingStore(Protocol):
    """A place for generations."""

    uri: str
    staging: Path  # a local folder on the same disk as what is committed or mirrored

    def read(self, source: str, partition: str | None = None) -> SourceLanding:
        """Every record of a source, or of one of its partitions."""

    def commit(self, generation: Generation, folder: Path, read_next: set[str]) -> None:
        """Make the staged folder visible as this generation, whole or not at all. `read_next` are files the build will read."""

    def put_record(self, path: str, data: bytes) -> None:
        """Write or replace one small record outside a generation."""

    def remove(self, generation: Generation) -> None:
        """Remove a generation's files; its tombstone already stands."""

    def object_path(self, generation: Generation, landed: LandedObject) -> Path:
        """A local path of one landed object."""

    def recover(self) -> list[str]:
        """Remove what killed processes left; say what went."""


class LocalLanding:
    """A landing in a local folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.uri = str(root)
        self.staging = root / ".staging"

    def read(self, source: str, partition: str | None = None) -> SourceLanding:
        """Every record of a source, or of one of its partitions."""
        landed = SourceLanding()
        for path in self._records(source, partition):
            landed.add(path.as_posix(), path.read_bytes())
        return landed.tidied()

    def _records(self, source: str, partition: str | None) -> Iterator[Path]:
        for folder in _folders(self.root / source) if partition is None else [self.root / source / safe_name(partition)]:
            for name, is_folder in _entries(folder):
                if name == REFUSED and is_folder:
                    yield from (path for path in (folder / REFUSED).iterdir() if path.suffix == ".json")
                elif name.endswith(TOMBSTONE):
                    yield folder / name
                elif is_folder and (folder / name / RECORD).exists():
                    yield folder / name / RECORD

    def commit(self, generation: Generation, folder: Path, read_next: set[str]) -> None:
        """Write the record last, make all of it durable, and rename the folder into place."""
        durable.write(folder / RECORD, encode(generation))
        for path in folder.iterdir():
            durable.sync(path)
        durable.sync(folder)
        target = self.root / generation.path
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
        for made in (target.parent, target.parent.parent, self.root):
            durable.sync(made)

    def put_record(self, path: str, data: bytes) -> None:
        """Write or replace one small record."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        durable.write(target, data)

    def remove(self, generation: Generation) -> None:
        """Move the folder out of sight, then delete it."""
        self.staging.mkdir(parents=True, exist_ok=True)
        hidden = Path(tempfile.mkdtemp(prefix="removed-", dir=self.staging))
        (self.root / generation.path).rename(hidden / "generation")
        durable.sync((self.root / generation.path).parent)
        shutil.rmtree(hidden)

    def object_path(self, generation: Generation, landed: LandedObject) -> Path:
        """Objects are read where they are."""
        path = self.root / generation.path / landed.file
        if not path.exists():
            raise SourceError("a landed object is gone", where=str(path), remedy="Restore it, or remove its generation's folder.")
        return path

    def recover(self) -> list[str]:
        """Empty the staging folder, and delete temporary names of records."""
        gone = clear(self.staging)
        for depth in ("*/*/.*.tmp", f"*/*/{REFUSED}/.*.tmp"):
            for leftover in self.root.glob(depth):
                leftover.unlink()
                gone.append(str(leftover))
        return gone


def tombstone_path(generation: Generation) -> str:
    """A tombstone's file below the landing, beside the folder it stands for."""
    return f"{generation.source}/{safe_name(generation.partition)}/{generation.name}{TOMBSTONE}"


def _folders(folder: Path) -> list[Path]:
    return [folder / name for name, is_folder in _entries(folder) if is_folder]


def _entries(folder: Path) -> list[tuple[str, bool]]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)


def clear(folder: Path) -> list[str]:
    """Delete everything in a folder of leftovers."""
    if not folder.is_dir():
        return []
    gone = sorted(folder.iterdir())
    for path in gone:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return [str(path) for path in gone]
