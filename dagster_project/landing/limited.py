"""Deriving inside the limits of one delivery: small ones in this process under a watch, large ones in a worker.

A worker costs 0.3 CPU seconds to start and can be killed whatever it does; most deliveries are a run record of some hundred
bytes, whose reading ends by itself or between two steps of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from connectors.errors import TooCostlyError
from dagster_project.landing.deriving.contents import Contents
from dagster_project.landing.deriving.derive import Deriver
from dagster_project.landing.fetching import Fetched
from dagster_project.landing.limits import Allowance, watched
from dagster_project.landing.worker import Worker
from dagster_project.settings.model import DeliveryLimits, bytes_of

Made = TypeVar("Made")
SMALL = 1 << 20  # bytes of a delivery that is read in this process


class LimitedDeriver:
    """Derives deliveries as Deriver does; TooCostlyError ends the reading of one that takes more than it may."""

    def __init__(self, spill: Path, memory_limit: str, limits: DeliveryLimits) -> None:
        """`spill` and `memory_limit` are those of the engines, `limits` those of each delivery."""
        self._spill, self._memory_limit, self._limits = spill, memory_limit, limits

    @cached_property
    def here(self) -> Deriver:
        """What derives small deliveries, made when the first one comes."""
        return Deriver(self._spill, self._memory_limit)

    @cached_property
    def _worker(self) -> Worker:
        return Worker(self._spill, self._memory_limit)

    def derive(self, fetched: Fetched, store_uri: str, version: str) -> Contents:
        """As Deriver.derive, in the process that fits the size of the delivery."""
        allowance, size = self._allowance([fetched], store_uri)
        if size <= SMALL:
            return self._watched(allowance, lambda: self.here.derive(fetched, store_uri, version))
        try:
            return self._worker.derive(fetched, store_uri, version, allowance)
        except BaseException:
            self._end_worker()  # an ended one is started again by the next delivery
            raise

    def derive_together(self, kind: str, fetched: Sequence[Fetched], store_uri: str, version: str) -> list[Contents]:
        """As Deriver.derive_together, for deliveries that are small together."""
        allowance, _ = self._allowance(fetched, store_uri)
        return self._watched(allowance, lambda: self.here.derive_together(kind, fetched, store_uri, version))

    def close(self) -> None:
        """Give up the engines, and end the worker."""
        self.__dict__.pop("here", None)
        self._end_worker()

    def _allowance(self, fetched: Sequence[Fetched], store_uri: str) -> tuple[Allowance, int]:
        """What the reading of some deliveries may take together, and their bytes."""
        size = sum(path.stat().st_size for one in fetched for path in one.files.values())
        first = fetched[0].delivery
        what = f"{store_uri}/{(first.manifest or first.objects[0]).key}"
        return Allowance.of(self._limits, what, size, bytes_of(self._memory_limit)), size

    def _watched(self, allowance: Allowance, derive: Callable[[], Made]) -> Made:
        try:
            with watched(allowance, self._interrupt):
                return derive()
        except TooCostlyError:
            self.__dict__.pop("here", None)  # it was ended inside a statement, or between two
            raise

    def _interrupt(self) -> None:
        if "here" in vars(self):
            self.here.interrupt()

    def _end_worker(self) -> None:
        if worker := self.__dict__.pop("_worker", None):
            worker.close()
