"""Programs that print a line per measurement: started, read as they print, started again when they end, with longer and longer
pauses.

They are in a process session of their own, so that Ctrl-C is the job's alone; they end with the recorder, by the closed pipe at
the latest.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_LONGEST_LINE = 64 << 20  # what the connectors take
_PAUSES = (5.0, 15.0, 60.0, 300.0)
_READ = 1 << 20


@dataclass(eq=False)
class Program:
    """One of them. `take` gets each whole line without its end."""

    name: str
    arguments: Sequence[str]
    take: Callable[[bytes], None]
    monotonic: Callable[[], float]
    say: Callable[[str], None]
    shows_errors: bool = False
    due: float | None = 0.0  # when it is to be started; None while it runs
    waits_for: Sequence[signal.Signals] = ()  # signals that it asks for itself, and so must not end it while it starts
    _process: subprocess.Popen[bytes] | None = None
    _rest: bytearray = field(default_factory=bytearray)
    _pauses: int = 0
    _is_stopped: bool = False

    @property
    def descriptor(self) -> int | None:
        """Where its lines come from; None while it does not run."""
        return self._process.stdout.fileno() if self._process and self._process.stdout else None

    def start(self) -> bool:
        """Start it where that is due, and return whether it was."""
        if self.due is None or self.monotonic() < self.due:
            return False
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self.waits_for)
        try:
            self._process = subprocess.Popen(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if self.shows_errors else subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._pause(f"cannot be started: {error.strerror}")
            return False
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.due = None
        os.set_blocking(self._process.stdout.fileno(), False)  # type: ignore[union-attr]
        return True

    def read(self) -> bool:
        """Take what it printed; False once it has ended."""
        descriptor = self.descriptor
        if descriptor is None:
            return False
        try:
            data = os.read(descriptor, _READ)
        except BlockingIOError:
            return True
        if not data:
            self._end()
            return False
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = bytes(self._rest) + line if self._rest else line
            self._rest.clear()
            if whole.strip():
                self._pauses = 0
                self.take(whole)
        if len(self._rest) + len(rest) > _LONGEST_LINE:
            self.say(f"{self.name} prints a line of more than {_LONGEST_LINE >> 20} MB, which is left out")
            self._rest.clear()
        else:
            self._rest += rest
        return True

    def stop(self) -> None:
        """Ask it to end; it may still print."""
        self._is_stopped = True
        if self._process and self._process.poll() is None:
            self._process.terminate()

    def drop(self) -> None:
        """Let go of it, whatever it does."""
        if self._process:
            if self._process.poll() is None:
                self._process.kill()
            if self._process.stdout:
                self._process.stdout.close()
        self._process, self.due = None, None

    def _end(self) -> None:
        process, self._process = self._process, None
        self._rest.clear()  # a line without its end is half a line
        if process is not None:
            if process.stdout:
                process.stdout.close()
            if process.poll() is None:  # alive, and prints no more
                process.terminate()
            self._pause(f"ended with {process.wait()}")

    def _pause(self, what: str) -> None:
        pause = _PAUSES[min(self._pauses, len(_PAUSES) - 1)]
        if self._pauses in (0, len(_PAUSES) - 1) and not self._is_stopped:
            self.say(f"{self.name} {what}; it is started again in {pause:.0f} s")
        self._pauses += 1
        self.due = self.monotonic() + pause
