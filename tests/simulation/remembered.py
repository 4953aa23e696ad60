"""What a disk holds at an instant, and what of it a power cut may forget: kept in memory, and written out again.

The rules are those of a file system with a journal, on its bad days. A file is as it was closed once it was forced, else it
may be lost or cut off. A rename or a removal is sure once the folder with the name was forced, else each may be undone, the
last first.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import stat
from dataclasses import dataclass, replace
from pathlib import Path

BY_THE_ENGINE = ("build.duckdb", "build.duckdb.wal")  # DuckDB forces its commits to disk itself


@dataclass(frozen=True)
class Entry:
    """A file with its bytes, a link with what it names, or a folder."""

    mode: int
    changed_ns: int
    data: bytes = b""
    is_forced: bool = True

    @property
    def is_file(self) -> bool:
        """Whether it has bytes that can be torn."""
        return stat.S_ISREG(self.mode)


@dataclass(frozen=True)
class Change:
    """A rename, or a removal where `target` is none, that was not forced; and what was there before."""

    source: str
    target: str | None
    before: Entry | None


@dataclass(frozen=True)
class State:
    """Every entry by its place below a folder, and the changes of names that may be undone."""

    entries: dict[str, Entry]
    changes: tuple[Change, ...] = ()

    def after_power_cut(self, draw: random.Random) -> State:
        """One of the states in which the disk may be found."""
        entries = dict(self.entries)
        for change in reversed(self.changes):
            if draw.random() < 0.5:
                _undo(entries, change)
        for place, entry in sorted(entries.items()):
            if entry.is_file and not entry.is_forced and draw.random() < 0.5:
                if draw.random() < 0.3:
                    del entries[place]
                else:
                    entries[place] = replace(entry, data=entry.data[: draw.randint(0, len(entry.data))])
        return State(entries)

    def write(self, root: Path) -> None:
        """Let a folder be as it was."""
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        for place, entry in sorted(self.entries.items()):
            path = root / place
            if stat.S_ISDIR(entry.mode):
                path.mkdir()
            elif stat.S_ISLNK(entry.mode):
                path.symlink_to(os.fsdecode(entry.data))
            else:
                path.write_bytes(entry.data)
                path.chmod(stat.S_IMODE(entry.mode))
        for place, entry in sorted(self.entries.items(), reverse=True):  # a folder after what is put into it
            if not stat.S_ISLNK(entry.mode):
                (root / place).chmod(stat.S_IMODE(entry.mode))
                os.utime(root / place, ns=(entry.changed_ns, entry.changed_ns))

    def digest(self, *left_out: str) -> str:
        """Equal where names and bytes are; what lies below some places counts for nothing."""
        found = hashlib.sha256()
        for place, entry in sorted(self.entries.items()):
            if not place.startswith(left_out):
                found.update(f"{place}\0{stat.S_IFMT(entry.mode)}\0{hashlib.sha256(entry.data).hexdigest()}\n".encode())
        return found.hexdigest()


class Memory:
    """Of a folder in which a command works, what was forced to the disk so far."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._forced = {path.lstat().st_ino for path in root.rglob("*")} if root.exists() else set()
        self._changes: list[Change] = []
        self._read: dict[tuple[int, int, int], bytes] = {}
        self._same: dict[bytes, bytes] = {}

    def force(self, path: Path, number: int) -> None:
        """A file's bytes, or the names in a folder, are on the disk."""
        if path.is_dir() and path.is_relative_to(self.root):  # the folder with the new name decides on a rename
            self._changes = [one for one in self._changes if (self.root / (one.target or one.source)).parent != path]
        self._forced.add(number)

    def touch(self, path: Path) -> None:
        """A file is about to be written."""
        if path.exists():
            self._forced.discard(path.stat().st_ino)

    def rename(self, source: Path, target: Path) -> None:
        """An entry gets another name."""
        if os.path.lexists(source):
            self._changes.append(Change(self._place(source), self._place(target), self._entry(target)))

    def remove(self, path: Path) -> None:
        """A name goes. The next file may get its number."""
        if entry := self._entry(path):
            self._changes.append(Change(self._place(path), None, entry))
            if path.lstat().st_nlink == 1:
                self._forced.discard(path.lstat().st_ino)

    def state(self) -> State:
        """All there is."""
        found = {self._place(path): self._entry(path) for path in self.root.rglob("*")} if self.root.exists() else {}
        return State({place: entry for place, entry in found.items() if entry}, tuple(self._changes))

    def _place(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else f"../{path.name}"

    def _entry(self, path: Path) -> Entry | None:
        try:
            found = path.lstat()
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(found.st_mode):
            return Entry(found.st_mode, found.st_mtime_ns, os.fsencode(path.readlink()))
        if stat.S_ISDIR(found.st_mode):
            return Entry(found.st_mode, found.st_mtime_ns)
        key = found.st_ino, found.st_mtime_ns, found.st_size
        is_forced = found.st_ino in self._forced or path.name in BY_THE_ENGINE
        if is_forced and ".duckdb" not in path.name:  # others may change within one tick of the clock
            data = self._read.get(key) or self._read.setdefault(key, path.read_bytes())
        else:
            data = path.read_bytes()
            data = self._same.setdefault(hashlib.sha256(data).digest(), data)  # one copy of what stays as it is for many effects
        return Entry(found.st_mode, found.st_mtime_ns, data, is_forced)


def _undo(entries: dict[str, Entry], change: Change) -> None:
    """As if a rename or a removal had not been, where there is room for the name that it had."""
    source, target = change.source, change.target
    above = source.rpartition("/")[0]
    if source in entries or source.startswith("../") or (above and above not in entries):
        return
    if target is None:
        if change.before:
            entries[source] = change.before
        return
    for place in [place for place in entries if place == target or place.startswith(f"{target}/")]:
        entries[source + place[len(target) :]] = entries.pop(place)
    if change.before:
        entries[target] = change.before
