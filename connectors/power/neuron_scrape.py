"""Scrapes of neuron-monitor's Prometheus exporter: the use of devices, landed beside the power of the same machine.

A core is listed once for each runtime that may use it, with a ratio: they add up to at most 1, and a device is the mean of all
its cores; how many there are is in neuron_hardware_info of the same scrape. Where no runtime is, no core is listed: idle.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from connectors.power.devices import use_of
from connectors.power.readings import MEASURED, Owner, Reading, document_hash_of
from connectors.telemetry.samples import Problems, SampleError

METRICS = frozenset({"neuroncore_utilization_ratio", "neuron_hardware_info"})
_SCRAPES = 1024  # machines and instants that wait for the rest of their scrape
_MOST = 1024  # of devices, and of cores of one
_METER = "neuron_exporter"


@dataclass(slots=True)
class _Scrape:
    """What one scrape of a machine has so far."""

    line: int
    devices: int = 0
    cores: int = 0  # of each device
    uses: dict[tuple[int, str], float | None] = field(default_factory=dict)  # by core and runtime
    is_known: bool = True


@dataclass(slots=True)
class Scrapes:
    """The scrapes of a file. Their lines may come in any order."""

    waiting: dict[tuple[Owner, int], _Scrape] = field(default_factory=dict)

    def add(self, owner: Owner, time: int, line: int, metric: str, labels: Mapping[str, str], value: float) -> None:
        """Take one line; SampleError where it is none."""
        scrape = self.waiting.setdefault((owner, time), _Scrape(line))
        if metric == "neuron_hardware_info":
            scrape.devices = _count(labels, "neuron_device_count")
            scrape.cores = _count(labels, "neuroncore_per_device_count")
            return
        core = labels.get("neuroncore", "")
        if not (core.isascii() and core.isdecimal() and len(core) <= 6):
            scrape.is_known = False
            raise SampleError("core_out_of_range", "neuroncore", "Keep the label neuroncore.")
        # the same line in two scrapes of one instant is one
        place = int(core), labels.get("runtime_tag", "")
        known = scrape.uses.setdefault(place, None)  # a figure that is none leaves its core unknown, not idle
        use = use_of(value, 1.0)
        scrape.uses[place] = use if known is None or use is None else max(known, use)

    def readings(self, problems: Problems, *, is_end: bool) -> Iterator[Reading]:
        """Yield the devices of scrapes that are whole: all of them at the end of a file, before it the oldest where many wait."""
        if not is_end and len(self.waiting) < _SCRAPES:
            return
        for key in [*islice(self.waiting, len(self.waiting) if is_end else _SCRAPES // 2)]:
            scrape = self.waiting.pop(key)
            with problems.left_out(scrape.line):
                yield from _devices(*key, scrape)


def _devices(owner: Owner, time: int, scrape: _Scrape) -> Iterator[Reading]:
    remedy = "Keep neuron_hardware_info in the scrape."
    if not scrape.devices or not scrape.cores:
        raise SampleError("missing_hardware", "neuron_hardware_info", remedy)
    by_core: defaultdict[int, list[float | None]] = defaultdict(list)
    by_device: defaultdict[int, list[list[float | None]]] = defaultdict(list)
    for (core, _), use in scrape.uses.items():
        if core >= scrape.devices * scrape.cores:
            raise SampleError("core_out_of_range", "neuroncore", remedy)
        if core not in by_core:
            by_device[core // scrape.cores].append(by_core[core])
        by_core[core].append(use)
    is_idle = scrape.is_known and not scrape.uses
    for device in range(scrape.devices):
        cores = by_device[device]
        is_known = scrape.is_known and all(use is not None for uses in cores for use in uses)
        busy = math.fsum(min(math.fsum(use for use in uses if use is not None), 1.0) for uses in cores)
        ratio = round(busy / scrape.cores, 12) if is_known else None
        digest = document_hash_of(_METER, owner.host_id, owner.run_key, device, time, ratio, is_idle)
        evidence = "presence" if is_idle else MEASURED
        place = (digest, scrape.line, *owner, device, None, time, _METER)
        yield Reading(*place, None, None, ratio, evidence, is_idle_by_absence=is_idle)


def _count(labels: Mapping[str, str], name: str) -> int:
    text = labels.get(name, "")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 4 else 0
    if not 0 < number <= _MOST:
        raise SampleError("missing_hardware", name, "Keep neuron_hardware_info in the scrape.")
    return number
