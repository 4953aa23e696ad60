"""Many events, one commit: the only place that reaches below Dagster's public interface.

Dagster's SQLite storage opens a connection and commits two or three times for every event; a refresh has some hundred
of them. Inside this context the storage of one instance keeps its connection to each file, and all that was written is
committed at the end, or none of it. tests/run_side/test_run_story.py names what a release of Dagster moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dagster as dg

OPENS_A_FILE = "_connect"  # of SqliteEventLogStorage: (name of a file) -> a connection with a transaction begun
LOCK = "_db_lock"  # held by it while a connection is open


@contextmanager
def one_commit(instance: dg.DagsterInstance) -> Iterator[None]:
    """Keep every event of this instance for one commit per file. A storage that is not SQLite keeps its own ways."""
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
