"""What is recorded: a command that the recorder starts, a process that runs already, or whatever runs until somebody ends the
recorder.

Each knows when it began, when it ended and how, and what a signal to the recorder means to it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from trainledger_recorder.files import text_of

NOT_FOUND, NOT_EXECUTABLE = 127, 126  # what shells and `timeout` answer


@dataclass(frozen=True)
class Ending:
    """How it ended: the state of the attempt, and the recorder's own exit code."""

    state: str
    exit_code: int


class Subject:
    """What is recorded. As such nothing in particular, until a signal ends the recorder: a sidecar, or a prolog whose epilog ends
    it."""

    token: str | None = None  # of a process that runs already: the same again for a recorder that is started again beside it
    descriptor: int | None = None  # readable when it ended; None: ask

    def __init__(self, now: datetime) -> None:
        self.started_at = now
        self._signalled: int | None = None

    def ended(self) -> Ending | None:
        """How it ended; None while it goes on."""
        return Ending("unknown", 0) if self._signalled else None

    def take(self, number: int) -> None:
        """A signal came for the recorder."""
        if number in (signal.SIGINT, signal.SIGTERM):
            self._signalled = number


class Command(Subject):
    """A command with the recorder's own streams, terminal and process group, as under `timeout` or `nohup`."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], now: datetime) -> None:
        super().__init__(now)
        # a recorder takes these; a command must begin with what its starter meant. An ignored one (nohup) stays ignored
        self._process = subprocess.Popen(arguments, env=dict(environment))
        self.descriptor = _descriptor_of(self._process.pid)

    def ended(self) -> Ending | None:
        code = self._process.poll()
        if code is None:
            return None
        state = "succeeded" if code == 0 else "stopped" if self._signalled else "failed"
        return Ending(state, code if code >= 0 else 128 - code)

    def take(self, number: int) -> None:
        """Pass it on, but what the terminal sends to everybody in front of it has arrived."""
        super().take(number)
        if not (number in (signal.SIGINT, signal.SIGQUIT) and _is_in_front()):
            self._process.send_signal(number)


class Process(Subject):
    """A process that somebody else started: not ours to signal, and only its parent learns how it ended."""

    def __init__(self, number: int, now: datetime, proc: Path = Path("/proc")) -> None:
        with contextlib.suppress(PermissionError):  # somebody else's, which may be watched
            os.kill(number, 0)
        self._number, self._proc = number, proc
        self.descriptor = _descriptor_of(number)
        self._ticks = self._start_ticks()
        super().__init__(self._started_at(now))
        boot = text_of(proc / "sys/kernel/random/boot_id").replace("-", "")[:12]
        self.token = f"process-{boot}-{number}-{self._ticks}"

    def ended(self) -> Ending | None:
        if self.descriptor is None:
            has_ended = self._start_ticks() != self._ticks
        else:
            has_ended = bool(select.select([self.descriptor], [], [], 0)[0])
        return Ending("unknown", 0) if has_ended else super().ended()

    def _start_ticks(self) -> str | None:
        """When it began, in ticks since the boot: a number that is used again is another process. A zombie has ended."""
        fields = text_of(self._proc / str(self._number) / "stat").rpartition(")")[2].split()
        return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None

    def _started_at(self, now: datetime) -> datetime:
        booted = [line.split()[1] for line in text_of(self._proc / "stat").splitlines() if line.startswith("btime ")]
        if not booted or not self._ticks:
            return now
        seconds = int(booted[0]) + int(self._ticks) / os.sysconf("SC_CLK_TCK")
        return min(now, datetime.fromtimestamp(0, timezone.utc) + timedelta(seconds=seconds))


def _descriptor_of(number: int) -> int | None:
    try:
        return os.pidfd_open(number)
    except (OSError, AttributeError):  # an older kernel, a sandbox, another system
        return None


def _is_in_front() -> bool:
    """Whether a terminal sends its signals to this process group, and so to the command as well."""
    with contextlib.suppress(OSError):
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    return False
