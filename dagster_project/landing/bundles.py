"""A bundle: small deliveries of one source and day in one file, `_bundles/<day>-<hash>.zip`, an ordinary ZIP that packs nothing.

A member has the name that its file had below the source's folder, so `unzip BUNDLE -d landing/<source>` gives the folders back as
they were, and its bytes lie in the file as they came: an object is a range of bytes and keeps its sha256. Records come last, so
that all of them are read in one piece. A bundle never changes: it is named by the hash of its records, which hold the hashes of
everything else. Which deliveries go into one is decided in landing.compacting; where it lies is the store's matter.
"""

from __future__ import annotations

import hashlib
import mmap
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, date
from pathlib import Path
from typing import NamedTuple

from dagster_project.base.failures import SourceError
from dagster_project.landing.records import RECORD, Generation

BUNDLES = "_bundles"  # in a source's folder; the folder of a partition never begins with '_'
ENDING = ".zip"
_LOCAL_HEADER = 30  # bytes before a member's name; its last four are the lengths of name and extra field
_NO_TIME = (1980, 1, 1, 0, 0, 0)  # the same members are the same bytes


class Member(NamedTuple):
    """A generation of a bundle, and its record byte for byte."""

    generation: Generation
    record: bytes


def day_of(generation: Generation) -> date:
    """The day in UTC at which it was published: the day whose bundles it may be in."""
    return generation.published_at.astimezone(UTC).date()


def bundle_name(day: date, members: Iterable[Member]) -> str:
    """Where a bundle lies below its source's folder."""
    digest = hashlib.sha256(b"".join(one.record for one in members)).hexdigest()
    return f"{BUNDLES}/{day}-{digest[:16]}{ENDING}"


def inner_path(generation: Generation) -> str:
    """The folder of a generation below its source's."""
    return generation.path.removeprefix(f"{generation.source}/")


def write_bundle(path: Path, files: Iterable[tuple[Member, dict[str, bytes]]]) -> list[Member]:
    """Write a bundle of some generations, each given with its objects by the names of their files, and return them."""
    members: list[Member] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as bundle:
        for one, objects in files:
            for name, data in objects.items():
                bundle.writestr(zipfile.ZipInfo(f"{inner_path(one.generation)}/{name}", _NO_TIME), data)
            members.append(one)
        for one in members:
            bundle.writestr(zipfile.ZipInfo(f"{inner_path(one.generation)}/{RECORD}", _NO_TIME), one.record)
    return members


class Bundle:
    """A bundle on the disk, opened to be read."""

    def __init__(self, path: Path, where: str) -> None:
        """`where`: its name in messages."""
        self.where = where
        try:
            with zipfile.ZipFile(path) as bundle:
                infos = bundle.infolist()
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (zipfile.BadZipFile, ValueError) as error:
            raise self._damaged(str(error)) from None
        if wrong := next((info.filename for info in infos if info.compress_type != zipfile.ZIP_STORED), None):
            raise self._damaged(f"{wrong} is compressed")
        self._places = {info.filename: (info.header_offset, info.file_size, info.CRC) for info in infos}

    def records(self) -> Iterator[tuple[str, bytes]]:
        """The record of each generation, by its name in the bundle."""
        for name, (_, _, checksum) in self._places.items():
            if name.endswith(f"/{RECORD}"):
                data = self.read(name)
                if data is None or zlib.crc32(data) != checksum:
                    raise self._damaged(f"{name} has other bytes")
                yield f"{self.where}/{name}", data

    def has(self, generation: Generation) -> bool:
        """Whether it has a generation."""
        return f"{inner_path(generation)}/{RECORD}" in self._places

    def file(self, generation: Generation, name: str) -> bytes | None:
        """The bytes of a generation's file, unchecked; None where the bundle has none of that name."""
        return self.read(f"{inner_path(generation)}/{name}")

    def read(self, name: str) -> bytes | None:
        """The bytes of a member; None where there is none."""
        if name not in self._places:
            return None
        offset, size, _ = self._places[name]
        header = self._bytes[offset : offset + _LOCAL_HEADER]
        begin = offset + _LOCAL_HEADER + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        return self._bytes[begin : begin + size]

    def _damaged(self, what: str) -> SourceError:
        return SourceError(
            f"a bundle of landed deliveries is damaged: {what}",
            where=self.where,
            remedy="Restore the file from a backup, or remove it to land its deliveries again.",
        )
