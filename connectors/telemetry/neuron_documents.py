"""One neuron-monitor document: the utilisation of each Neuron device over the document's own period.

Knows the fields of neuron-monitor since 2022 and their traps: several runtimes list the same cores, an error means unknown and
not zero, `flops` became `effective_flops`, indices are logical cores on Trainium2 and later. Times and hosts come from the
collector.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from connectors.telemetry.samples import SampleError

_MAX_DEVICES = 1024
_MAX_CORES = 64  # of one device
_MAX_PERIOD = 86_400
_DIGITS = 20  # of a number; Python refuses to read one of thousands
_REMEDY = "Start neuron-monitor with its neuroncore_counters, vcpu_usage and hardware information, which is its default."


# none of these can hold itself, so the collector of cycles need not look at them


class PhysicalCore(msgspec.Struct, omit_defaults=True, gc=False):
    """A core behind a logical one (Trainium2 and later)."""

    neuroncore_utilization: float | None = None


class Core(msgspec.Struct, omit_defaults=True, gc=False):
    """A core as one runtime sees it: percent of the period, and operations per second."""

    neuroncore_utilization: float | None = None
    effective_flops: float | None = None
    flops: float | None = None
    v3d: dict[str, PhysicalCore] | None = None


class Counters(msgspec.Struct, omit_defaults=True, gc=False):
    """The cores of one runtime."""

    period: float | None = None
    error: str | None = None
    neuroncores_in_use: dict[str, Core] | None = None


class Report(msgspec.Struct, omit_defaults=True, gc=False):
    """What is read of a runtime's report; its other groups may be in error without harm."""

    neuroncore_counters: Counters | None = None


class Runtime(msgspec.Struct, omit_defaults=True, gc=False):
    """One process that uses devices."""

    pid: int | None = None
    neuron_runtime_tag: str | None = None
    error: str | None = None
    report: Report | None = None


class Timed(msgspec.Struct, omit_defaults=True, gc=False):
    """A group of which only the period counts here."""

    period: float | None = None


class System(msgspec.Struct, omit_defaults=True, gc=False):
    """The host's groups: their period is that of a document without any runtime."""

    vcpu_usage: Timed | None = None
    memory_info: Timed | None = None
    neuron_hw_counters: Timed | None = None


class Instance(msgspec.Struct, omit_defaults=True, gc=False):
    """The machine."""

    instance_id: str | None = None
    instance_type: str | None = None
    instance_region: str | None = None
    instance_availability_zone: str | None = None


class Hardware(msgspec.Struct, omit_defaults=True, gc=False):
    """Its devices. With logical cores the count of cores is that of the logical ones."""

    neuron_device_count: int | None = None
    neuroncore_per_device_count: int | None = None
    logical_neuroncore_config: int | None = None
    error: str | None = None


class Document(msgspec.Struct, omit_defaults=True, gc=False):
    """One line of neuron-monitor, as far as it is read."""

    neuron_runtime_data: list[Runtime] | None = None
    system_data: System | None = None
    instance_info: Instance | None = None
    neuron_hardware_info: Hardware | None = None


class Devices(NamedTuple):
    """The devices over a document's period: the use of each, and its operations per second; None is unknown."""

    ratios: Sequence[float | None]
    flops: Sequence[float | None]


def periods_of(document: Document) -> dict[str, int]:
    """The nanoseconds that each group of a document captured. The counters of all runtimes are one group: the longest counts."""
    longest = 0.0
    for runtime in document.neuron_runtime_data or ():
        if (report := runtime.report) and (counters := report.neuroncore_counters) and (period := counters.period):
            longest = period if longest < period <= _MAX_PERIOD else longest
    system = document.system_data or System()
    groups = {"vcpu_usage": system.vcpu_usage, "memory_info": system.memory_info, "neuron_hw_counters": system.neuron_hw_counters}
    seconds = {"neuroncore_counters": longest, **{name: (group and group.period) or 0 for name, group in groups.items()}}
    return {name: round(one * 1e9) for name, one in seconds.items() if 0 < one <= _MAX_PERIOD}


def run_tag_of(document: Document) -> str | None:
    """The tag all runtimes were started with; a process id is no tag: it is the default where none was set."""
    tags = {
        None if one.neuron_runtime_tag == str(one.pid) else one.neuron_runtime_tag for one in document.neuron_runtime_data or ()
    }
    return (tags.pop() or None) if len(tags) == 1 else None


def devices_of(document: Document) -> Devices:
    """Sum the runtimes per core, at most 100 %, and average over all cores of each device; unused cores count 0."""
    devices, cores = hardware_of(document)
    percents: defaultdict[int, list[float]] = defaultdict(list)  # of a core, one for each runtime that uses it
    flops: defaultdict[int, list[float]] = defaultdict(list)
    unknown: set[int] = set()
    for runtime in document.neuron_runtime_data or ():
        counters = runtime.report.neuroncore_counters if runtime.report else None
        if runtime.error or counters is None or counters.error or counters.neuroncores_in_use is None:
            unknown.update(range(devices))  # which cores it holds is as unknown as how much it uses them
            continue
        for name, core in counters.neuroncores_in_use.items():
            index = core_number(name)
            if not 0 <= index < devices * cores:
                raise SampleError("core_out_of_range", "neuroncores_in_use", _REMEDY)
            percent = _behind(core, document) if core.neuroncore_utilization is None else core.neuroncore_utilization
            if percent is None:
                unknown.add(index // cores)
            elif percent < 0:
                raise SampleError("negative_utilisation", "neuroncore_utilization", _REMEDY)
            else:
                percents[index].append(percent)
            rate = core.flops if core.effective_flops is None else core.effective_flops
            if rate is not None:
                flops[index // cores].append(rate)
    busy: defaultdict[int, list[float]] = defaultdict(list)
    for index, shares in percents.items():
        busy[index // cores].append(min(_sum(shares), 100.0))
    return Devices(
        [None if one in unknown else round(math.fsum(busy[one]) / (100 * cores), 12) for one in range(devices)],
        [_sum(flops[one]) if flops[one] else None for one in range(devices)],
    )


def core_number(name: str) -> int:
    """The number that names a core, -1 where it is none."""
    return int(name) if len(name) <= _DIGITS and name.isdecimal() and name.isascii() else -1


def _sum(values: Iterable[float]) -> float:
    """Exact, so that the order of runtimes and cores changes nothing."""
    try:
        return math.fsum(values)
    except OverflowError as error:
        raise SampleError("wrong_type", "neuroncores_in_use", _REMEDY) from error


def hardware_of(document: Document) -> tuple[int, int]:
    """How many devices there are and how many cores each has; SampleError where that is not stated."""
    hardware = document.neuron_hardware_info or Hardware()
    devices, cores = hardware.neuron_device_count or 0, hardware.neuroncore_per_device_count or 0
    if hardware.error or not 0 < devices <= _MAX_DEVICES or not 0 < cores <= _MAX_CORES:
        raise SampleError("missing_hardware", "neuron_hardware_info", _REMEDY)
    return devices, cores


def _behind(core: Core, document: Document) -> float | None:
    """The mean of the physical cores behind a logical one that has no utilisation of its own."""
    percents = [one.neuroncore_utilization for one in (core.v3d or {}).values()]
    known = [percent for percent in percents if percent is not None]
    if not known or len(known) < len(percents):
        return None
    hardware = document.neuron_hardware_info or Hardware()
    return _sum(known) / max(hardware.logical_neuroncore_config or 1, len(known))
