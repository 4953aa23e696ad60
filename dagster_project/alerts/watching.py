"""The end of a refresh or of a run of Dagster: its alerts are sent.

The command line and Dagster both work inside `watched`, and both end with its messages. Light on purpose: where no alerts are
configured, nothing else of this room is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dagster_project.alerts.watched_run import Failed, Say, Watched
from dagster_project.base.failures import GateError, LockHeldError, TrainledgerError, UsageError, machine_failure

if TYPE_CHECKING:
    from dagster_project.warehouse.home import Home


@contextmanager
def watched(home: Home, job: str, say: Say) -> Iterator[Watched]:
    """Send, when the block ends, what begins and ends with it. No message, sent or not, changes how the block ends."""
    run = Watched(job)
    try:
        yield run
    except Exception as error:
        run.failed = failure(error, home)
        report(home, run, say)
        raise
    run.is_done = run.failed is None
    report(home, run, say)


def report(home: Home, run: Watched, say: Say) -> None:
    """Send what begins and ends with a run that is over."""
    if home.settings.alerts:
        from dagster_project.alerts.sending import send_alerts

        send_alerts(home, home.settings.alerts, run, say)


def failure(error: Exception, home: Home) -> Failed | None:
    """What to report of an error; nothing of a wrong option or of another writer, who ends with messages too."""
    if isinstance(error, UsageError | LockHeldError):
        return None
    known = error if isinstance(error, TrainledgerError) else machine_failure(error, home.root)
    if known is None:
        return Failed(f"{type(error).__name__}: {error}", "")
    text = f"{known.what} ({known.where})" if known.where else known.what
    gates = (known.gates or ("build",)) if isinstance(known, GateError) else ()
    return Failed(text, known.remedy or "", gates)
