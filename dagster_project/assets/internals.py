"""What reaches below Dagster's public interface, all of it: a Dagster that moves one of these parts moves it here.

Many events in one commit, the slots of runs that were killed, and the tag by which the page of a job finds its runs.
tests/run_side/test_run_story.py names the part that a release of Dagster moved.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock
from typing import Any

import dagster as dg

from dagster_project.assets.names import POOL

REPOSITORY = {".dagster/repository": "__repository__@dagster_project.definitions"}  # the page of a job lists runs that have it
OPENS_A_FILE = "_connect"  # of SqliteEventLogStorage: (name of a file) -> a connection with a transaction begun
LOCK = "_db_lock"  # held by it while a connection is open


@contextmanager
def one_commit(instance: dg.DagsterInstance) -> Iterator[None]:
    """Keep every event of this instance for one commit per file, or none of them. Not SQLite: a storage keeps its own ways.

    Dagster's SQLite storage opens a connection and commits two or three times for every event, and a refresh has some hundred.
    """
    storage: Any = instance.event_log_storage
    if not hasattr(storage, OPENS_A_FILE):
        yield
        return
    opens = getattr(storage, OPENS_A_FILE)
    with ExitStack() as stack:
        connections: dict[str, Any] = {}

        @contextmanager
        def kept(name: str) -> Iterator[Any]:
            if name not in connections:
                setattr(storage, LOCK, Lock())  # each open file holds one: another file must not wait for it
                opened: AbstractContextManager[Any] = opens(name)
                connections[name] = stack.enter_context(opened)
            yield connections[name]

        setattr(storage, OPENS_A_FILE, kept)
        try:
            yield
        finally:
            delattr(storage, OPENS_A_FILE)


def release_dead_runs(instance: dg.DagsterInstance) -> None:
    """Give back the pool slots of runs whose process was killed: who calls this holds the writer lock, so no live run has one."""
    storage = instance.event_log_storage
    for run_id in storage.get_concurrency_info(POOL).active_run_ids:
        storage.free_concurrency_slots_for_run(run_id)
        run = instance.get_run_by_id(run_id)
        if run and not run.is_finished:
            instance.report_run_failed(
                run, "Its process ended in the middle of a step. The next refresh builds everything again."
            )
