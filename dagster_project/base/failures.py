"""Failures the product raises on purpose: what, where, remedy, and the exit code the command line gives for them.

TrainledgerError
├── GateError       1  a gate, check or verification differs
├── UsageError      2  wrong use or configuration
├── SourceError     3  a source cannot be read, or its newest delivery is quarantined
├── LockHeldError   4  another process writes; trying again later can help
└── MachineError    2  disk, memory, descriptors or rights of this machine

Anything else that reaches the command line is a bug (70). Errors of reading exports are connectors.errors.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar


class TrainledgerError(Exception):
    """Something a person can act on. `where` is a file, object or setting; `remedy` shows what to do."""

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
    """A gate, a check or a verification differs from what it must be; `gates` names those of a build."""

    exit_code = 1
    gates: tuple[str, ...] = ()


class UsageError(TrainledgerError):
    """The command or trainledger.yaml asks for something that cannot be."""

    exit_code = 2


class SourceError(TrainledgerError):
    """A source cannot be read, or what it delivered is quarantined. The others are published."""

    exit_code = 3


class LockHeldError(TrainledgerError):
    """Another process holds the writer lock."""

    exit_code = 4


class MachineError(TrainledgerError):
    """Disk, memory, descriptors or rights of this machine: no source is to blame, and nothing more can be done now."""

    exit_code = 2


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # another place would not help
_OF_MACHINE = (*_FULL, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG)
# SQLite and DuckDB say it in words, also through SQLAlchemy and through dbt; a text in somebody's data states nothing
_SPEAKERS = frozenset({"OperationalError", "DatabaseError", "IOException", "FatalException", "ModelsError"})
_WORDS = re.compile(
    "no space left on device|disk quota exceeded|read-only file system|too many open files|database or disk is full"
    "|disk i/o error|readonly database|unable to open database file|cannot allocate memory|permission denied",
    re.I,
)
_MEMORY = "Raise `memory_limit` in the configuration if this machine has more."
_REMEDY = "Make room, or give the rights or limits that are missing, then run the command again; the last publication stays."


def machine_failure(error: BaseException, folder: Path | None = None) -> MachineError | None:
    """What an error, or what caused it, states of this machine; None where it is not to blame.

    `folder` is named with its free bytes where the error names no file of its own.
    """
    for cause in _causes(error):
        kind = type(cause).__name__
        if isinstance(cause, MemoryError) or kind == "OutOfMemoryException":
            return MachineError("the memory of this machine is used up", where=_room(folder), remedy=f"{_MEMORY} {_REMEDY}")
        if isinstance(cause, OSError) and cause.errno in _OF_MACHINE:
            named = Path(os.fsdecode(cause.filename)) if isinstance(cause.filename, str | bytes) else folder
            return MachineError(f"this machine cannot go on: {os.strerror(cause.errno)}", where=_room(named), remedy=_REMEDY)
        if kind in _SPEAKERS and (words := _WORDS.search(str(cause))):
            return MachineError(f"this machine cannot go on: {words[0]}", where=_room(folder), remedy=_REMEDY)
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or what caused it, is that more memory was wanted than there is: Python's own, or DuckDB's limit."""
    return any(isinstance(one, MemoryError) or type(one).__name__ == "OutOfMemoryException" for one in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, what caused it, what caused that, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _room(path: Path | None) -> str:
    """A path with the free bytes of its disk."""
    path = (path or Path.cwd()).absolute()
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    return f"{path}, {shutil.disk_usage(there).free} bytes free"


def meant(word: str, known: Iterable[str]) -> str:
    """The known word that a misspelt one is nearest to, as the end of a sentence; nothing where none is near."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.75)
    return f"; did you mean '{near[0]}'?" if near else ""


@contextmanager
def writing_to(target: Path) -> Iterator[None]:
    """Name the place that a person asked to be written to, when it cannot be."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in _FULL and (failure := machine_failure(error, target)):
            raise failure from error
        remedy = "Give a place in a folder that is there and that you may write to."
        raise UsageError(f"this cannot be written: {error.strerror or error}", where=str(target), remedy=remedy) from error
