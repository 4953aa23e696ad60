"""A disk that fails at a chosen effect, and that at a power cut forgets what was not forced to it.

Every effect of our own Python below one folder is counted where the interpreter itself states it, in its audit events: files
opened, renames, removals, folders, links, modes, lists, children; forcing to disk has no event, so os.fsync and os.fdatasync
are watched by name. An interface of our own that all code must go through would have to be kept to by hand, in our modules and
in whatever library writes for them (shutil, tempfile, filelock, pathlib); the interpreter forgets none, and the product
carries no indirection. test_effects.py makes an effect of each kind and sees each counted. The clock is `base/clock.py`'s
TRAINLEDGER_NOW, which a history sets forward and back.

What an engine writes by itself (DuckDB, pyarrow) has no event. Such files are opaque: they are there from their closing on,
and lost or torn by a power cut unless our code forced them. Of one file the engine itself states that a commit is durable, the
writer's own database: `build.duckdb` with its log is left as it is.
"""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.simulation.remembered import Memory, State

TAKES_ROOM = {"os.mkdir", "os.symlink", "os.link"}  # and a file that is opened for writing
TWO_PATHS = {"os.rename", "os.symlink", "os.link"}
CHANGES = {*TAKES_ROOM, "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "os.utime"}
LISTS = {"os.listdir", "os.scandir"}
CHILDREN = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
Result = TypeVar("Result")
_watching: list[Disk] = []  # at most one: an audit hook stays for the life of the process


class Crash(BaseException):
    """The power went: what follows it in the code, `finally` too, is undone when the disk is as it was left."""


@dataclass(frozen=True)
class Effect:
    """One effect: its kind, which is the name of its audit event, and its file."""

    kind: str
    path: Path


@dataclass
class Disk:
    """Everything below `root`, for one command."""

    root: Path
    seed: int
    effects: list[Effect] = field(default_factory=list)  # that change something, in their order
    looked: list[Effect] = field(default_factory=list)  # lists and children
    before_each: Callable[[Effect], None] = lambda effect: None
    _fails_at: int = 0
    _is_full: bool = False
    _unreadable: str = ""
    _left: State | None = None

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)
        self._memory = Memory(self.root)

    def run(self, action: Callable[[], Result]) -> Result:
        """Do something whose effects are counted."""
        with self._watched():
            return action()

    def cut(self, action: Callable[[], Any], at: int) -> bool:
        """Do something with the power going before an effect, from 1; False when it ended before, and the power goes then."""
        self._fails_at = at
        with suppress(Crash):
            self.run(action)
        is_reached, left = self._left is not None, self._left or self._memory.state()
        left.after_power_cut(self._draw).write(self.root)
        return is_reached

    def states(self, action: Callable[[], Any], every: int = 1) -> list[tuple[str, State]]:
        """Do something, and the state of the disk before its effects, the first and every so-manieth, and after the last."""
        found: list[tuple[str, State]] = []

        def keep(effect: Effect) -> None:
            if len(self.effects) % every == 1 % every:
                found.append((f"effect {len(self.effects)}, {effect.kind} {effect.path.name}", self._memory.state()))

        self.before_each = keep
        self.run(action)
        return [*found, ("the end", self._memory.state())]

    def fill(self, action: Callable[[], Any], at: int) -> None:
        """Do something with no room from an effect on; the caller judges the error that this ends in."""
        self._fails_at, self._is_full = at, True
        self.run(action)

    def fail_to_read(self, action: Callable[[], Result], name: str) -> Result:
        """Do something while files and folders with this in their path give an error of the device."""
        self._unreadable = name
        return self.run(action)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        originals = {name: getattr(os, name) for name in ("fsync", "fdatasync")}

        def forcing(original: Callable[[int], None]) -> Callable[[int], None]:
            def force(descriptor: Any) -> None:
                original(descriptor)
                number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
                self._memory.force(Path(f"/proc/self/fd/{number}").readlink(), os.fstat(number).st_ino)

            return force

        for name, original in originals.items():
            setattr(os, name, forcing(original))
        _watching.append(self)
        try:
            yield
        finally:
            _watching.pop()
            for name, original in originals.items():
                setattr(os, name, original)

    def seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count an effect, and fail where this disk does."""
        if event == "open":
            self._opened(*arguments)
        elif event in LISTS:
            self._looked(event, _path(arguments[0] if arguments[0] is not None else "."))
        elif event in CHILDREN:
            self.looked.append(Effect(event, Path(os.fsdecode(arguments[0])) if arguments else Path()))
        else:
            folder = -1 if event == "os.truncate" else arguments[-1]
            source = _path(arguments[0], folder)
            target = _path(arguments[1], folder) if event in TWO_PATHS else source
            if source.is_relative_to(self.root) or target.is_relative_to(self.root):
                self._effect(Effect(event, target), takes_room=event in TAKES_ROOM)
                self._note(event, source, target)

    def _note(self, event: str, source: Path, target: Path) -> None:
        if event == "os.rename":
            self._memory.rename(source, target)
        elif event in {"os.remove", "os.rmdir"}:
            self._memory.remove(source)
        elif event == "os.truncate":
            self._memory.touch(source)

    def _looked(self, event: str, path: Path) -> None:
        self.looked.append(Effect(event, path))
        if self._unreadable and self._unreadable in str(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    def _opened(self, name: Any, mode: str | None, flags: int) -> None:
        if isinstance(name, int):
            return
        path = _path(name)
        if self._unreadable and self._unreadable in str(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        if flags & WRITES and path.is_relative_to(self.root):
            self._effect(Effect("open", path), takes_room=True)
            self._memory.touch(path)

    def _effect(self, effect: Effect, takes_room: bool) -> None:
        self.effects.append(effect)
        self.before_each(effect)
        if self._fails_at and len(self.effects) >= self._fails_at:
            if not self._is_full:
                self._left = self._left or self._memory.state()
                raise Crash
            if takes_room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(effect.path))


def _path(name: Any, folder: Any = -1) -> Path:
    text = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else str(Path(f"/proc/self/fd/{name}").readlink())
    if isinstance(folder, int) and folder >= 0 and not text.startswith("/"):
        return Path(f"/proc/self/fd/{folder}").readlink() / text
    return Path(text).absolute()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and (event == "open" or event in CHANGES or event in LISTS or event in CHILDREN):
        _watching[-1].seen(event, arguments)


sys.addaudithook(_hook)
