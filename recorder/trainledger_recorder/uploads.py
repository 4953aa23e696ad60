"""Starts the process that uploads, whenever something waits, and again after a failure with longer and longer pauses."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trainledger_recorder import helper_command
from trainledger_recorder.targets import Options

_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 300.0


@dataclass
class Uploads:
    """Of a recorder: at most one process at a time."""

    parent: Path
    own: str | None
    target: str
    options: Options
    monotonic: Callable[[], float]
    say: Callable[[str], None]
    spread: Callable[[], float] = field(default=lambda: random.uniform(0.5, 1.5))  # a thousand nodes must not come at once
    _process: subprocess.Popen[str] | None = None
    _is_asked: bool = True  # an earlier recorder may have left something
    _failures: int = 0
    _not_before: float = 0.0
    _last_why: str = ""

    def ask(self, *, now: bool = False) -> None:
        """Something new waits. `now`: whatever failed before, try at once."""
        self._is_asked = True
        if now:
            self._not_before = 0.0

    def due(self) -> float | None:
        """When the next try is; None while one runs or nothing waits."""
        return self._not_before if self._is_asked and self._process is None else None

    @property
    def is_done(self) -> bool:
        """Whether all that was asked for arrived."""
        return not self._is_asked and self._process is None

    def turn(self) -> None:
        """See whether the process ended, and start one that is due."""
        if self._process is not None and self._process.poll() is not None:
            self._ended(self._process)
        due = self.due()
        if due is not None and self.monotonic() >= due:
            self._start()

    def drop(self) -> None:
        """End a process that takes too long. What it has not delivered stays in the spool."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        asked = {"parent": str(self.parent), "own": self.own, "target": self.target, "options": asdict(self.options)}
        self._is_asked = False
        self._process = subprocess.Popen(
            helper_command("uploading", asked),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def _ended(self, process: subprocess.Popen[str]) -> None:
        lines = [line for line in (process.stderr.read() if process.stderr else "").splitlines() if line.strip()]
        if process.stderr:
            process.stderr.close()
        self._process = None
        if process.returncode == 0:
            for line in lines:
                self.say(line)
            if self._failures:
                self.say(f"what waited is delivered to {self.target}")
            self._failures, self._last_why = 0, ""
            return
        self._is_asked = True
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self._failures) * self.spread()
        self._not_before, self._failures = self.monotonic() + pause, min(self._failures + 1, 16)
        why = lines[-1] if lines else f"the upload ended with {process.returncode}"
        if why != self._last_why:  # an hour without network is one line
            self.say(f"nothing can be delivered now, lines wait in {self.parent}: {why}")
            self._last_why = why
