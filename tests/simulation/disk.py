"""A disk that fails at a chosen effect, and that at a crash forgets what was not forced to it.

It watches what Python does below one folder, by the interpreter's audit events and os.fsync: files opened for writing, renames,
removals, folders, links. What an engine writes by itself is found afterwards, and is lost or torn unless it was forced to disk.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

TAKES_ROOM = {"os.mkdir", "os.symlink", "os.link"}  # and a file that is opened for writing
EFFECTS = {*TAKES_ROOM, "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.truncate"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
Result = TypeVar("Result")
_watching: list[Disk] = []  # at most one: an audit hook stays for the life of the process


class Crash(BaseException):
    """The power went: what follows it in the code, `finally` too, changes nothing on the disk any more."""


class Disk:
    """Everything below `root`, for one command."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.effects = 0  # seen so far
        self._fails_at, self._is_full = 0, False
        self._unreadable = ""
        self._draw = random.Random(seed)
        self._durable = {path.stat().st_ino for path in root.rglob("*") if path.is_file() and not path.is_symlink()}
        self._renames: list[tuple[Path, Path, bytes | None]] = []  # not yet forced to the disk, with what they replaced

    def run(self, action: Callable[[], Result]) -> Result:
        """Do something whose effects are counted."""
        with self._watched():
            return action()

    def crash(self, action: Callable[[], Any], at: int) -> bool:
        """Do something with the power going at an effect, from 1; False when it ended before."""
        self._fails_at = at
        try:
            self.run(action)
        except Crash:
            self._forget()
            return True
        return False

    def fill(self, action: Callable[[], Any], at: int) -> None:
        """Do something with no room from an effect on; the caller judges the error that this ends in."""
        self._fails_at, self._is_full = at, True
        self.run(action)

    def fail_to_read(self, action: Callable[[], Result], name: str) -> Result:
        """Do something while files with this in their path give an error of the device."""
        self._unreadable = name
        return self.run(action)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        original = os.fsync

        def fsync(descriptor: int) -> None:
            original(descriptor)
            self._forced(descriptor)

        os.fsync = fsync  # no audit event has it
        _watching.append(self)
        try:
            yield
        finally:
            _watching.pop()
            os.fsync = original

    def seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count an effect, and fail where this disk does."""
        if event == "open":
            self._opened(*arguments)
        elif event in EFFECTS:
            source = _path(arguments[0], arguments[-1])
            target = _path(arguments[1], arguments[-1]) if event in {"os.rename", "os.symlink", "os.link"} else source
            if source.is_relative_to(self.root) or target.is_relative_to(self.root):
                self._effect(event in TAKES_ROOM)
                if event == "os.remove" and source.exists():
                    self._durable.discard(source.stat().st_ino)  # the next file may get this number
                if event == "os.rename":
                    self._renames.append((source, target, target.read_bytes() if target.is_file() else None))

    def _opened(self, name: Any, mode: str | None, flags: int) -> None:
        if isinstance(name, int):
            return
        path = _path(name, -1)
        if self._unreadable and self._unreadable in path.name:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        if flags & WRITES and path.is_relative_to(self.root):
            self._effect(takes_room=True)
            if path.exists():
                self._durable.discard(path.stat().st_ino)

    def _effect(self, takes_room: bool) -> None:
        self.effects += 1
        if self._fails_at and self.effects >= self._fails_at:
            if not self._is_full:
                raise Crash
            if takes_room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.root))

    def _forced(self, descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_dir():  # a rename is in two folders; the one that has the new name decides
            self._renames = [one for one in self._renames if one[1].parent != path]
        else:
            self._durable.add(os.fstat(descriptor).st_ino)

    def _forget(self) -> None:
        """Undo some of the renames that were not forced, the last first, and lose or tear some of such files."""
        for source, target, replaced in reversed(self._renames):
            if self._draw.random() < 0.5 and target.exists() and not source.exists() and source.parent.is_dir():
                shutil.move(target, source)
                if replaced is not None:
                    target.write_bytes(replaced)
        for path in sorted(self.root.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.stat().st_ino not in self._durable and self._draw.random() < 0.5:
                if self._draw.random() < 0.3:
                    path.unlink()
                else:
                    os.truncate(path, self._draw.randint(0, path.stat().st_size))


def _path(name: Any, folder: Any) -> Path:
    text = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else f"/proc/self/fd/{name}"
    if isinstance(folder, int) and folder >= 0 and not text.startswith("/"):
        return Path(f"/proc/self/fd/{folder}").readlink() / text
    return Path(text).absolute()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and (event == "open" or event in EFFECTS):
        _watching[-1].seen(event, arguments)


sys.addaudithook(_hook)
