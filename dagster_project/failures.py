"""Failures the product raises on purpose: what, where, remedy, and the exit code the command line gives for them.

TrainledgerError
├── GateError       1  a gate, check or verification differs
├── UsageError      2  wrong use or configuration
├── SourceError     3  a source cannot be read, or its newest delivery is quarantined
└── LockHeldError   4  another process writes; trying again later can help

Anything else that reaches the command line is a bug (70). Errors of reading exports are connectors.errors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar


class TrainledgerError(Exception):
    """Something a person can act on. `where` is a file, object or setting; `remedy` says what to do."""

    exit_code: ClassVar[int] = 70

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        advice = f" {self.remedy}" if self.remedy else ""
        return f"{self.what}{place}.{advice}"


class GateError(TrainledgerError):
    """A gate, a check or a verification differs from what it must be."""

    exit_code = 1


class UsageError(TrainledgerError):
    """The command or trainledger.yaml asks for something that cannot be."""

    exit_code = 2


class SourceError(TrainledgerError):
    """A source cannot be read, or what it delivered is quarantined. The others are published."""

    exit_code = 3


class LockHeldError(TrainledgerError):
    """Another process holds the writer lock."""

    exit_code = 4


@contextmanager
def writing_to(target: Path) -> Iterator[None]:
    """Name the place that a person asked to be written to, when it cannot be."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        remedy = "Give a place in a folder that is there and that you may write to."
        raise UsageError(f"this cannot be written: {error.strerror or error}", where=str(target), remedy=remedy) from error
