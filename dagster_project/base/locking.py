"""One writer: an operating-system lock around every process that opens the build file, and who holds it.

The lock dies with its process, so nothing has to be cleaned after a crash. The side file is only for the wait message; it
decides nothing.
"""

import contextlib
import getpass
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from dagster_project.base import durable, modes
from dagster_project.base.failures import LockHeldError, writing_to

LOCK_NAME = ".writer.lock"
HOLDER_NAME = ".writer.json"


def _say(message: str) -> None:
    print(message, file=sys.stderr)


def holder(home: Path) -> str:
    """Say who holds the lock, as far as its side file shows."""
    try:
        holder = json.loads((home / HOLDER_NAME).read_text())
        return f"{holder['name']}, process {holder['pid']}: {holder['command']}"
    except (OSError, ValueError, KeyError, TypeError):  # between a holder's lock and its side file there is nothing to read
        return "a process that left no name"


@contextlib.contextmanager
def writer_lock(home: Path, command: str, wait: float = 0.0, say: Callable[[str], None] = _say) -> Iterator[None]:
    """Hold the writer lock of a home; inside one process it may be taken again.

    Raises LockHeldError, which names the holder, when it is still held after `wait` seconds.
    """
    with writing_to(home):
        home.mkdir(0o711, parents=True, exist_ok=True)
        # one object per path and process: a command takes it around the whole refresh, the Dagster run inside takes it again
        lock = FileLock(home / LOCK_NAME, mode=modes.OWNER, is_singleton=True, thread_local=False)
        _acquire(lock, home, wait, say)
    try:
        with modes.owner_alone():
            if lock.lock_counter == 1:
                _write_holder(home, command)
            yield
    finally:
        try:
            if lock.lock_counter == 1:
                (home / HOLDER_NAME).unlink(missing_ok=True)
        finally:
            lock.release()


def forget_dead_writer(home: Path) -> None:
    """Remove the side file of a writer that was killed: its lock died with it, and nothing should wait for it."""
    if (home / HOLDER_NAME).exists():
        with contextlib.suppress(LockHeldError), writer_lock(home, "trainledger"):  # held: the writer is alive
            pass


def _acquire(lock: FileLock, home: Path, wait: float, say: Callable[[str], None]) -> None:
    try:
        lock.acquire(timeout=0)
        return
    except Timeout:
        if wait > 0:
            say(f"Waiting up to {wait:g} s for the writer lock held by {holder(home)}.")
    try:
        lock.acquire(timeout=max(wait, 0), poll_interval=0.2)
    except Timeout:
        raise LockHeldError(
            f"The writer lock is held by {holder(home)}",
            where=str(home / LOCK_NAME),
            remedy="Try again when it is done, or give --wait SECONDS." if wait <= 0 else f"It was still held after {wait:g} s.",
        ) from None


def _write_holder(home: Path, command: str) -> None:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        name = f"user {os.getuid()}"
    durable.write_json(home / HOLDER_NAME, {"name": name, "pid": os.getpid(), "command": command})
