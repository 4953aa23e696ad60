"""Signals as events of a loop: each wakes it once and is handled there, never in the middle of something."""

from __future__ import annotations

import contextlib
import os
import signal

TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class Signals:
    """Takes the signals of this process while it is entered, and keeps them until they are asked for."""

    def __init__(self) -> None:
        self._before: dict[int, object] = {}
        self.descriptor, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Signals:
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        # what `nohup` or a shell's `&` asked to be ignored stays so
        taken = [number for number in TAKEN if signal.getsignal(number) is not signal.SIG_IGN]
        for number in (*taken, signal.SIGCHLD):
            self._before[number] = signal.signal(number, lambda number, frame: None)  # which came is read from the pipe
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        signal.set_wakeup_fd(self._wakeup)
        os.close(self.descriptor)
        os.close(self._write)

    def came(self) -> list[int]:
        """The signals since the last call; the end of a child wakes, and is none."""
        came = bytearray()
        with contextlib.suppress(BlockingIOError):  # the pipe is empty
            while numbers := os.read(self.descriptor, 4096):
                came += numbers
        return [number for number in came if number in TAKEN]
