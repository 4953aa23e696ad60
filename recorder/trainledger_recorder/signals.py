"""Signals as events of a loop: each wakes it once and is handled there, never in the middle of something."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType

TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class Signals:
    """Takes the signals of this process while it is entered, and keeps them until they are asked for."""

    def __init__(self) -> None:
        self._came: list[int] = []
        self._before: dict[int, object] = {}
        self.descriptor, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Signals:
        for number in TAKEN:
            if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup`, and a shell's `&`, ask for it
                self._before[number] = signal.signal(number, self._take)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda number, frame: None)  # wakes, and is nothing
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self.descriptor)
        os.close(self._write)

    def came(self) -> list[int]:
        """The signals since the last call."""
        with contextlib.suppress(BlockingIOError):  # the pipe is empty
            while os.read(self.descriptor, 4096):
                pass
        came, self._came = self._came, []
        return came

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._came.append(number)
