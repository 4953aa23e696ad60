"""The spool: what a recorder has written and not yet delivered, on the disk of its machine, below a bound.

Every recorder has a folder of its own, its session, which it holds by a lock that dies with it:

    <spool>/<hash of the target>/<start>-<process>/lock
                                                  /open/<key>        lines as they come, plain: readable after any kill
                                                  /ready/<key>       finished, waiting; packed by whoever uploads
                                                  /record.json       the run record and its key
                                                  /record.sent       which state of it was delivered
                                                  /registration.json the run's registration and its key, until it is delivered

Keys end in the session and a number that only grows, so a clock that is set back gives no name twice, and delivering late keeps
the order.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import mmap
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from trainledger_recorder.errors import UsageError
from trainledger_recorder.files import write, write_json

_ORDER = re.compile(r"-(\d{6,})\.jsonl(?:\.gz)?$")


def default_spool() -> Path:
    """A folder of this user on this machine's own disk; a home is often shared by all nodes."""
    return Path("/var/tmp") / f"trainledger-record-{os.getuid()}"


def target_folder(spool: Path, target: str) -> Path:
    """Where the sessions of one target lie: what waits for one bucket is never delivered to another."""
    return spool / hashlib.sha256(target.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Ready:
    """A finished file. `key` is where it goes, without what packing adds."""

    path: Path
    key: str
    size: int


class Session:
    """The folder of one recorder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open_files, self.ready_files = folder / "open", folder / "ready"
        self.record, self._sent = folder / "record.json", folder / "record.sent"
        self._registration = folder / "registration.json"
        self._lock: int | None = None

    @classmethod
    def begin(cls, parent: Path, now: datetime) -> Session:
        """Make a session and hold it. Its folders must be this user's own, or root's: /var/tmp is everybody's."""
        parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        parent.mkdir(mode=0o700, exist_ok=True)
        for folder, owners in ((parent.parent, (os.getuid(), 0)), (parent, (os.getuid(),))):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners:
                raise UsageError(f"the spool belongs to another user ({folder})", "Give a folder of your own with --spool.")
        name = f"{now.astimezone(timezone.utc):%Y%m%dT%H%M%S}-{os.getpid()}-{os.urandom(3).hex()}"
        hidden = cls(parent / f".{name}")  # not taken for a dead one before it is held
        hidden.folder.mkdir(mode=0o700)
        hidden.hold()
        session = cls(hidden.folder.rename(parent / name))
        session._lock = hidden._lock
        return session

    @property
    def name(self) -> str:
        """Its name among those of its target; they sort by their start."""
        return self.folder.name

    def hold(self) -> bool:
        """Take the session, unless a living process has it."""
        try:
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:  # another process finished with it meanwhile
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def release(self) -> None:
        """Let go of it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def touch(self) -> None:
        """Show that its recorder lives: where it is killed, this is the last that is known of it."""
        if self._lock is not None:
            os.utime(self._lock)

    def last_seen(self) -> datetime:
        """When its recorder was last known to live."""
        lock = self.folder / "lock"
        newest = max(path.stat().st_mtime for path in (lock, *_files(self.open_files)))
        return datetime.fromtimestamp(newest, timezone.utc)

    def ready(self) -> list[Ready]:
        """Finished files in the order in which they were finished."""
        found = []
        for path in _files(self.ready_files):
            if path.name.endswith(".tmp"):
                continue
            with contextlib.suppress(FileNotFoundError):  # delivered, or dropped, meanwhile
                key = path.relative_to(self.ready_files).as_posix().removesuffix(".gz")
                found.append(Ready(path, key, path.stat().st_size))
        return sorted(found, key=lambda one: (_order(one.key), one.key))

    def finish(self, path: Path) -> None:
        """Make an open file a finished one; an empty one is nothing."""
        target = self.ready_files / path.relative_to(self.open_files)
        if not path.stat().st_size:
            path.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)

    def recover(self) -> None:
        """Finish what a killed recorder left open; a line that the kill cut is left out."""
        for path in _files(self.open_files):
            _cut_after_last_line(path)
            self.finish(path)

    def write_record(self, key: str, document: dict[str, object]) -> None:
        """Replace the run record that waits."""
        write_json(self.record, {"key": key, "document": document})

    def waiting_record(self) -> tuple[str, dict[str, object], str] | None:
        """The run record with its key and its hash, where this state of it was not delivered."""
        try:
            text = self.record.read_bytes()
        except FileNotFoundError:
            return None
        digest = hashlib.sha256(text).hexdigest()
        if self._sent.exists() and self._sent.read_text() == digest:
            return None
        record = json.loads(text)
        return record["key"], record["document"], digest

    def record_was_sent(self, digest: str) -> None:
        """Remember which state of the record was delivered."""
        write(self._sent, digest)

    def write_registration(self, key: str, document: dict[str, object]) -> None:
        """Let a registration wait."""
        write_json(self._registration, {"key": key, "document": document})

    def waiting_registration(self) -> tuple[str, dict[str, object]] | None:
        """The registration with its key, until it was delivered."""
        try:
            found = json.loads(self._registration.read_bytes())
        except FileNotFoundError:
            return None
        return found["key"], found["document"]

    def registration_was_sent(self) -> None:
        """It is delivered once: a second time would give it a later time."""
        self._registration.unlink(missing_ok=True)

    def is_empty(self) -> bool:
        """Whether everything was delivered."""
        is_known = self.waiting_record() is None and self.waiting_registration() is None
        return is_known and not _files(self.ready_files) and not _files(self.open_files)

    def remove(self) -> None:
        """Remove the session, which must be held."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.release()


def sessions(parent: Path) -> list[Session]:
    """All sessions of a target, the oldest first."""
    try:
        return [Session(path) for path in sorted(parent.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def held(parent: Path, own: str | None) -> Iterator[list[Session]]:
    """One's own session and those whose recorder is dead, which are taken meanwhile; the oldest first."""
    taken = [one for one in sessions(parent) if one.name != own and one.hold()]
    mine = [Session(parent / own)] if own else []
    try:
        yield sorted([*taken, *mine], key=lambda one: one.name)
    finally:
        for one in taken:
            one.release()


def trim(parent: Path, limit: int) -> list[Ready]:
    """Drop the oldest finished files until the whole target's spool is below its bound, and return them."""
    every = sessions(parent)
    waiting = [one for session in every for one in session.ready()]
    total = sum(one.size for one in waiting) + sum(_size(path) for session in every for path in _files(session.open_files))
    dropped = []
    for one in waiting:
        if total <= limit:
            break
        one.path.unlink(missing_ok=True)
        total -= one.size
        dropped.append(one)
    return dropped


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _files(folder: Path) -> list[Path]:
    return [Path(base) / name for base, _, names in os.walk(folder) for name in names]


def _order(key: str) -> int:
    found = _ORDER.search(key)
    return int(found[1]) if found else 0


def _cut_after_last_line(path: Path) -> None:
    """Shorten a file to its last whole line. Lines may be long, so it is mapped and not read."""
    if path.stat().st_size:  # nothing cannot be mapped
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            end = text.rfind(b"\n") + 1
        os.truncate(path, end)
