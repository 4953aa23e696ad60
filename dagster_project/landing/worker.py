"""Deriving inside the limits of one delivery: in a worker, or small JSON and text in this process under a watch.

A worker costs 0.3 CPU seconds to start and can be killed whatever it does; most deliveries are a run record of some hundred
bytes, whose reading ends by itself or between two steps of Python. Bills, carbon and tables are read by Arrow, which damaged
bytes may end with its process, however few they are: a footer whose column has another type than its schema did.

A worker talks with its parent over one pipe, in values of Python; a second pipe ends with the parent, and then it ends too. It
knows nothing of limits but that it may be killed at any instant: what it had written lies in the folder of its delivery, which
goes.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from functools import cached_property
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import finalize

import psutil

from connectors.errors import ConnectorError
from dagster_project.base.failures import is_out_of_memory, machine_failure
from dagster_project.base.kinds import KINDS, Kind
from dagster_project.landing.deriving.contents import Contents
from dagster_project.landing.fetching import Fetched
from dagster_project.landing.limits import TICK_S, Allowance, use_of, watched

if TYPE_CHECKING:
    from dagster_project.landing.deriving.derive import Deriver
    from dagster_project.settings import DeliveryLimits

SMALL = 1 << 20  # bytes of what is read in this process
BY_ARROW = frozenset({"bill", "carbon", "inputs"})  # facts whose files are tables


class Worker:
    """The parent's side: a process that is started once and reads deliveries one after another."""

    def __init__(self, spill: Path, memory_limit: str) -> None:
        """`spill` and `memory_limit` are those of its engine."""
        asked, its_asked = Pipe()
        alive, its_alive = os.pipe()  # the worker reads the first end, which ends when this process does
        command = [sys.executable, "-P", "-m", __name__, str(its_asked.fileno()), str(alive), str(spill), memory_limit]
        self._process = subprocess.Popen(command, pass_fds=(its_asked.fileno(), alive), stdin=subprocess.DEVNULL)
        its_asked.close()
        os.close(alive)
        self._asked, self._seen = asked, psutil.Process(self._process.pid)
        self.close = finalize(self, _end, self._process, asked, its_alive)

    def derive(self, fetched: Sequence[Fetched], allowance: Allowance) -> list[Contents]:
        """As Deriver.derive; TooCostlyError when it takes more than `allowance`, and the worker is ended then."""
        begun = use_of(self._seen)
        try:
            self._asked.send(fetched)
            while not self._asked.poll(TICK_S):
                if error := allowance.exceeded(begun, use_of(self._seen)):
                    self.close()
                    raise error
            answer: list[Contents] | BaseException = self._asked.recv()
        except (EOFError, OSError, psutil.NoSuchProcess) as error:
            self.close()
            raise _ended(allowance, self._process.returncode) from error
        if isinstance(answer, BaseException):
            raise answer
        return answer


class LimitedDeriver:
    """Derives deliveries as Deriver does; TooCostlyError ends the reading of one that takes more than it may."""

    def __init__(self, spill: Path, memory_limit: str, limits: DeliveryLimits) -> None:
        """`spill` and `memory_limit` are those of the engines, `limits` those of each delivery."""
        self._spill, self._memory_limit, self._limits = spill, memory_limit, limits

    @cached_property
    def here(self) -> Deriver:
        """What derives small deliveries, made when the first one comes."""
        from dagster_project.landing.deriving.derive import Deriver

        return Deriver(self._spill, self._memory_limit)

    @cached_property
    def _worker(self) -> Worker:
        return Worker(self._spill, self._memory_limit)

    def derive(self, fetched: Sequence[Fetched]) -> list[Contents]:
        """As Deriver.derive, in the process that fits the size of the delivery; several are small together."""
        size = sum(path.stat().st_size for one in fetched for path in one.files.values())
        first = fetched[0].delivery
        what = f"{fetched[0].store_uri}/{(first.manifest or first.objects[0]).key}"
        allowance = Allowance.of(self._limits, what, size, self._memory_limit)
        try:
            if not is_read_here(fetched, size):
                return self._worker.derive(fetched, allowance)
            here = self.here
            with watched(allowance, here.interrupt):
                return here.derive(fetched)
        except BaseException:
            self.close()  # they may have been ended inside a statement; the next delivery starts them again
            raise

    def close(self) -> None:
        """Give up the engine of this process, and end the worker."""
        self.__dict__.pop("here", None)
        if worker := self.__dict__.pop("_worker", None):
            worker.close()


def is_read_here(fetched: Sequence[Fetched], size: int) -> bool:
    """Whether deliveries of one kind are read in this process: together small, and no tables."""
    are_tables = KINDS[Kind(fetched[0].delivery.kind)].fact in BY_ARROW
    return size <= SMALL and not are_tables and not any(key.lower().endswith(".parquet") for one in fetched for key in one.files)


def _ended(allowance: Allowance, code: int) -> ConnectorError:
    how = signal.Signals(-code).name if code < 0 else f"exit {code}"
    return ConnectorError(
        f"{allowance.what}: the process that read it ended ({how}).",
        remedy="The next refresh tries again. If it stays, lower `delivery_limits.memory` below what this machine has free.",
    )


def _end(process: subprocess.Popen[bytes], asked: Connection, alive: int) -> None:
    asked.close()
    os.close(alive)
    process.kill()
    process.wait()


def _serve(asked: Connection, spill: Path, memory_limit: str) -> None:
    """Derive what the parent sends, until it hangs up."""
    from dagster_project.landing.deriving.derive import Deriver  # an interrupt is ignored by now

    deriver = Deriver(spill, memory_limit)
    while True:
        try:
            fetched = asked.recv()
        except EOFError:
            return
        try:
            answer: list[Contents] | BaseException = deriver.derive(fetched)
        except BaseException as error:
            error.add_note("".join(traceback.format_exception(error)))  # for `--debug`: a traceback cannot be sent
            answer = _blamed(error, fetched[0])
            deriver = Deriver(spill, memory_limit)  # some errors end an engine
        _send(asked, answer)


def _blamed(error: BaseException, fetched: Fetched) -> BaseException:
    """The error to send. What caused it cannot be sent, so whether delivery or machine is to blame is decided here."""
    if is_out_of_memory(error):
        return MemoryError(*error.args)
    return machine_failure(error, fetched.made) or error


def _send(asked: Connection, answer: list[Contents] | BaseException) -> None:
    try:
        asked.send(answer)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:  # it holds what cannot be sent
        asked.send(RuntimeError(f"{answer!r:.2000} ({error})"))


def _end_with(alive: int) -> None:
    os.read(alive, 1)
    os._exit(1)


def main(arguments: Sequence[str]) -> None:
    """Run as the worker: descriptors of the two pipes, folder of the engine, limit of its memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted parent ends it
    asked, alive, spill, memory_limit = arguments
    threading.Thread(target=_end_with, args=(int(alive),), daemon=True).start()
    _serve(Connection(int(asked)), Path(spill), memory_limit)


if __name__ == "__main__":
    main(sys.argv[1:])
