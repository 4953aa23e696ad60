"""Which runs are alive: each holds an operating-system lock of its own from before it waits for the writer lock.

The lock ends with the run's process.
Dagster's tables show no difference between a run that waits for the writer lock and one that was killed while it did: neither has
begun a step. What to do about a dead run is the matter of internals.py.
"""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
from filelock import FileLock, Timeout

from dagster_project.base import modes

LOCKED = {"trainledger/lock": "held while it lives"}  # tag of a run that has taken its lock
_HELD: list[FileLock] = []  # to the end of the process: a run is over in Dagster's tables only after its resources are


def hold_life(instance: dg.DagsterInstance, run: dg.DagsterRun, home: Path) -> None:
    """Take the lock of a run, and only then let it be known as one that has a lock."""
    lock = _lock(home, run.run_id)
    lock.acquire()
    _HELD.append(lock)
    instance.add_run_tags(run.run_id, LOCKED)


def lifeless(instance: dg.DagsterInstance, home: Path) -> Iterator[str]:
    """The ids of runs whose process is gone and that have not ended."""
    for path in sorted(_folder(home).glob("*")):
        lock = _lock(home, path.name)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        try:
            run = instance.get_run_by_id(path.name)  # after its lock was free: until then it may have come to its end
            if run is None or run.is_finished:
                path.unlink(missing_ok=True)
            elif run.tags.items() >= LOCKED.items():
                yield path.name
        finally:
            lock.release()


def _folder(home: Path) -> Path:
    return home / ".dagster" / "alive"


def _lock(home: Path, run_id: str) -> FileLock:
    with modes.owner_alone():
        _folder(home).mkdir(parents=True, exist_ok=True)
    return FileLock(_folder(home) / run_id, mode=modes.OWNER)
