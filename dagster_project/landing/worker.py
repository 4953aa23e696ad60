"""A process of its own that derives large deliveries, so that one that takes too much is ended and nothing else is.

Talks with its parent over one pipe, in values of Python; a second pipe ends with the parent, and then the worker ends too. Knows
nothing of limits but that it may be killed at any instant: what it had written lies in the folder of its delivery, which goes.
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
from multiprocessing.connection import Connection
from pathlib import Path
from weakref import finalize

import psutil

from connectors.errors import ConnectorError
from dagster_project.base.failures import is_out_of_memory, machine_failure
from dagster_project.landing.deriving.contents import Contents
from dagster_project.landing.fetching import Fetched
from dagster_project.landing.limits import TICK_S, Allowance, Use


class Worker:
    """The parent's side: a process that is started once and reads deliveries one after another."""

    def __init__(self, spill: Path, memory_limit: str) -> None:
        """`spill` and `memory_limit` are those of its engine."""
        asked, its_asked = _pipe()
        alive, its_alive = os.pipe()  # the worker reads the first end, which ends when this process does
        command = [sys.executable, "-P", "-m", __name__, str(its_asked.fileno()), str(alive), str(spill), memory_limit]
        self._process = subprocess.Popen(command, pass_fds=(its_asked.fileno(), alive), stdin=subprocess.DEVNULL)
        its_asked.close()
        os.close(alive)
        self._asked, self._seen = asked, psutil.Process(self._process.pid)
        self.close = finalize(self, _end, self._process, asked, its_alive)

    def derive(self, fetched: Fetched, store_uri: str, version: str, allowance: Allowance) -> Contents:
        """As Deriver.derive; TooCostlyError when it takes more than `allowance`, and the worker is ended then."""
        begun = Use.of(self._seen)
        try:
            self._asked.send((fetched, store_uri, version))
            while not self._asked.poll(TICK_S):
                if error := allowance.exceeded(begun, Use.of(self._seen)):
                    self.close()
                    raise error
            answer: Contents | BaseException = self._asked.recv()
        except (EOFError, OSError, psutil.NoSuchProcess) as error:
            self.close()
            raise _ended(allowance, self._process.returncode) from error
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _pipe() -> tuple[Connection, Connection]:
    from multiprocessing import Pipe

    return Pipe()


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
    from dagster_project.landing.deriving.derive import Deriver

    deriver = Deriver(spill, memory_limit)
    while True:
        try:
            fetched, store_uri, version = asked.recv()
        except EOFError:
            return
        try:
            answer: Contents | BaseException = deriver.derive(fetched, store_uri, version)
        except BaseException as error:
            error.add_note("".join(traceback.format_exception(error)))  # for `--debug`: a traceback cannot be sent
            answer = _blamed(error, fetched)
            deriver = Deriver(spill, memory_limit)  # some errors end an engine
        _send(asked, answer)


def _blamed(error: BaseException, fetched: Fetched) -> BaseException:
    """The error to send. What caused it cannot be sent, so whether delivery or machine is to blame is decided here."""
    if is_out_of_memory(error):
        return MemoryError(*error.args)
    return machine_failure(error, fetched.made) or error


def _send(asked: Connection, answer: Contents | BaseException) -> None:
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
