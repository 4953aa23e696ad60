"""What a refresh or a run of Dagster leaves for the alerts: what it looked at, and how it ended.

The command line and Dagster both work inside `watched`, and both end with its messages. Light on purpose: where no alerts are
configured, nothing else of this room is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dagster_project.base.failures import GateError, LockHeldError, TrainledgerError, UsageError, machine_failure

if TYPE_CHECKING:
    from dagster_project.landing.planning import Problem
    from dagster_project.warehouse.home import Home

Say = Callable[[str], None]


class Failed(NamedTuple):
    """How a run failed."""

    text: str
    remedy: str
    gates: tuple[str, ...] = ()  # those that did not pass, where this is why


@dataclass(slots=True)
class Watched:
    """One run of a job; `refresh` is a job of the command line too."""

    job: str
    looked: frozenset[str] = frozenset()  # sources of which all that could not be taken is in `problems`
    problems: Sequence[Problem] = ()
    is_done: bool = False  # it came to its end; neither done nor failed: it never began, or a person ended it
    failed: Failed | None = None

    def look(self, sources: Iterable[str], problems: Sequence[Problem]) -> None:
        """Every one of these sources was looked at, with these problems."""
        self.looked, self.problems = frozenset(sources), problems


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
