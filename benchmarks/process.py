"""Run a command and know what it cost: CPU seconds of the whole process tree, wall, peak memory, bytes written.

CPU seconds count processes that were waited for, as the kernel does: dbt and other helpers of a command are among them. Wall time
is noted and no goal rests on it, as machines are shared.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_EVERY_S = 0.1
BLOCK = 512  # ru_oublock counts in these, whatever the disk's own size


@dataclass(frozen=True, slots=True)
class Run:
    """What one command cost, and the end of what it printed."""

    cpu_s: float
    wall_s: float
    peak_mb: float | None  # None where the system does not tell
    bytes_written: int
    exit_code: int
    output: str


class CommandFailed(Exception):
    """A measured command ended badly: its measure has a reason and no figure."""


def run(
    command: Sequence[str | Path], cwd: Path, environment: Mapping[str, str] | None = None, *, ok: Sequence[int] = (0,)
) -> Run:
    """Run to the end. Raises CommandFailed with the last lines of its output on another exit code than those of `ok`."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    peak, stated = _Peak(process.pid), bytearray()
    listener = threading.Thread(target=lambda: stated.extend(process.stdout.read() if process.stdout else b""), daemon=True)
    listener.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)  # or Popen would wait for a process that is gone
    listener.join(timeout=5)  # a process left behind may keep the pipe open
    output = stated.decode(errors="replace")
    done = Run(usage.ru_utime + usage.ru_stime, wall, peak.end(), usage.ru_oublock * BLOCK, process.returncode, output)
    if done.exit_code not in ok:
        raise CommandFailed(f"{' '.join(str(part) for part in command[-4:])} ended with {done.exit_code}: {output[-600:]}")
    return done


class _Peak:
    """Watches a process and its descendants; shared pages count once (proportional set size)."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._stop = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> float | None:
        self._stop.set()
        self._thread.join()
        return round(self._most / 1024, 1) if self._most else None

    def _watch(self) -> None:
        if sys.platform != "linux":
            return
        while not self._stop.wait(SAMPLE_EVERY_S):
            self._most = max(self._most, sum(map(_kilobytes, _tree(self._pid))))


def _tree(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        found.append(current := waiting.pop())
        for children in Path(f"/proc/{current}/task").glob("*/children"):
            try:
                waiting += map(int, children.read_text().split())
            except OSError:  # it ended meanwhile
                continue
    return found


def _kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
