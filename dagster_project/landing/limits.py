"""What reading one delivery may take, and the end of a reading that takes more: it is refused as `too_costly`.

A hostile or broken file must stop neither the other sources nor the machine. Time grows with the size of a delivery, memory does
not: what a bill needs beyond `memory_limit` goes to the disk. Which process reads a delivery is landing.worker's matter.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import psutil

from connectors.errors import TooCostlyError

if TYPE_CHECKING:
    from dagster_project.settings import DeliveryLimits

UNIT = 1 << 20  # bytes of a delivery: for each, also a begun one, the times of the configuration
TICK_S = 0.2


Use = tuple[float, float, int]  # of a process so far: CPU seconds, time on the clock, bytes of memory


def use_of(process: psutil.Process) -> Use:
    """What a process has used, read from the system; psutil.NoSuchProcess when it has ended."""
    times = process.cpu_times()
    return times.user + times.system, time.monotonic(), process.memory_info().rss


def bytes_of(memory: str) -> int:
    """Bytes of an amount of memory as the configuration and DuckDB write it: '1500MB', '2GiB'."""
    unit = memory.lstrip("0123456789")
    power = "KMGT".index(unit[0]) + 1
    return int(memory.removesuffix(unit)) * int((1024 if "i" in unit else 1000) ** power)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be used from a beginning on."""

    what: str
    cpu_s: int
    wall_s: int
    memory_bytes: int

    @classmethod
    def of(cls, limits: DeliveryLimits, what: str, size: int, memory_limit: str) -> Allowance:
        """For a delivery of `size` bytes, named `what`; the engine's own `memory_limit` comes on top."""
        units = max(1, ceil(size / UNIT))
        return cls(what, limits.cpu_s * units, limits.wall_s * units, bytes_of(limits.memory) + bytes_of(memory_limit))

    def exceeded(self, begun: Use, now: Use) -> TooCostlyError | None:
        """The error that names what was exceeded; None as long as nothing is."""
        cpu_s, wall_s, memory_bytes = (after - before for before, after in zip(begun, now, strict=True))
        if memory_bytes > self.memory_bytes:
            used = f"more than {self.memory_bytes >> 20} MiB of memory"
        elif cpu_s > self.cpu_s:
            used = f"more than {self.cpu_s} CPU seconds"
        elif wall_s > self.wall_s:
            used = f"more than {self.wall_s} seconds"
        else:
            return None
        return TooCostlyError(f"{self.what}: reading it took {used}.")


class _Stop(BaseException):
    """Raised in the reading thread from outside; no `except Exception` of a connector may keep it."""


@contextmanager
def watched(allowance: Allowance, interrupt: Callable[[], None]) -> Iterator[None]:
    """End the block with TooCostlyError when this process uses more than it may.

    Works between two steps of Python, and inside a statement of the engine by `interrupt`. Nothing can end one long call of C
    code in this process: what is large is therefore read in another one.
    """
    reader, done, lock = threading.get_ident(), threading.Event(), threading.Lock()
    process = psutil.Process()
    begun, found = use_of(process), list[TooCostlyError]()

    def watch() -> None:
        while not done.wait(TICK_S):
            error = allowance.exceeded(begun, use_of(process))
            with lock:
                if error and not done.is_set():
                    found.append(error)
                    _raise_in(reader, _Stop)
                    interrupt()
                    return

    threading.Thread(target=watch, name="delivery-limits", daemon=True).start()
    try:
        yield
        with lock:  # from here on nothing is raised from outside
            done.set()
    except BaseException as error:
        if not found:
            raise
        raise found[0] from (None if isinstance(error, _Stop) else error)
    finally:
        done.set()
        _raise_in(reader, None)  # what was asked for at the last moment is not raised in what comes after


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error) if error else None)
