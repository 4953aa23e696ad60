"""Lines into files: one open file per kind, finished by size and by age, under the keys that the connectors read. Asked to go
by day, a file has the lines of one day in UTC, whose name its key begins with: who lists keys can pass over the days that it has.

A line is on the disk when it is written, so a killed recorder loses none. A full disk costs the lines that do not fit, which
are counted and named, and never what was written before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from trainledger_recorder.jobs import encoded
from trainledger_recorder.spool import Session


@dataclass
class _File:
    path: Path
    descriptor: int
    began: float  # of the clock that is never set
    day: str  # '' unless files go by day
    size: int = 0


@dataclass
class Writer:
    """The open files of a session."""

    session: Session
    run_id: str | None  # None: lines of a machine, whose runs are found by time
    host_id: str
    most_bytes: int
    most_seconds: float
    monotonic: Callable[[], float]
    say: Callable[[str], None]
    by_day: bool = False
    _open: dict[str, _File] = field(default_factory=dict)
    _number: int = 0
    _lost: int = 0
    _has_finished: bool = False

    def write(self, kind: str, line: bytes, moment: datetime) -> None:
        """Add a line, with its line end. It is written whole or not at all."""
        if self._lost and not self._fits():
            self._lost += 1
            return
        file = self._open.get(kind)
        if file and file.day != self._day_of(moment):
            self._finish(kind)
            file = None
        try:
            file = file or self._begin(kind, moment)
            self._append(file, line)
        except OSError as error:
            if not self._lost:
                self.say(
                    f"{self.session.folder} takes no more lines: {error.strerror}. The job goes on; what does not fit is lost."
                )
            self._lost += 1
            return
        if self._lost:
            self.say(f"{self._lost} lines were lost while the spool took none; it takes them again")
            self._lost = 0
        if file.size >= self.most_bytes:
            self._finish(kind)

    def due(self) -> float | None:
        """When the oldest open file is to be finished; None while there is none."""
        return min((file.began for file in self._open.values()), default=-1.0) + self.most_seconds if self._open else None

    def finish_old(self) -> None:
        """Finish files that are old enough."""
        for kind in [kind for kind, file in self._open.items() if self.monotonic() - file.began >= self.most_seconds]:
            self._finish(kind)

    def finish_all(self) -> None:
        """Finish every open file."""
        for kind in list(self._open):
            self._finish(kind)

    def came(self) -> bool:
        """Whether files were finished since the last call."""
        came, self._has_finished = self._has_finished, False
        return came

    def _fits(self) -> bool:
        """Whether there is room again for more than a line: not every line needs its own failure."""
        room = os.statvfs(self.session.folder)
        return room.f_bavail * room.f_frsize > 1 << 20

    def _day_of(self, moment: datetime) -> str:
        return f"{moment.astimezone(timezone.utc):%Y-%m-%d}" if self.by_day else ""

    def _begin(self, kind: str, moment: datetime) -> _File:
        day = self._day_of(moment)
        days = (f"day={day}",) if day else ()
        run = (f"run={encoded(self.run_id)}",) if self.run_id else ()
        folder = self.session.open_files.joinpath(kind, *days, *run, f"host={encoded(self.host_id)}")
        folder.mkdir(parents=True, exist_ok=True)
        self._number += 1
        token = self.session.name.partition("-")[2]
        path = folder / f"{moment.astimezone(timezone.utc):%Y-%m-%dT%H-%M-%SZ}-{token}-{self._number:06d}.jsonl"
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._open[kind] = file = _File(path, descriptor, self.monotonic(), day)
        return file

    def _append(self, file: _File, line: bytes) -> None:
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(file.descriptor, rest) :]
        except OSError:
            os.ftruncate(file.descriptor, file.size)  # no half line before the next whole one
            raise
        file.size += len(line)

    def _finish(self, kind: str) -> None:
        file = self._open.pop(kind)
        os.close(file.descriptor)
        self._has_finished = True
        try:
            self.session.finish(file.path)
        except OSError as error:  # it stays open, and is finished by the next start
            self.say(f"{file.path} could not be finished yet: {error.strerror}")
