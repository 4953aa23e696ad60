"""The devices of the usual neuron-monitor document, in a few steps for all its cores.

Usual is: every runtime lists its cores without an error, each core has its own percent, and all or none have their operations.
Anything else is left to neuron_documents, which has the rules and words every refusal; the figures are the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from connectors.telemetry.neuron_documents import Core, Devices, Document, core_number, hardware_of

_MOST = 4096  # cores that a document lists; a usual node has 32 to 64, and as many again for each further process
_ORDERS = 64  # the documents of a node list their cores in one order, and in another when a process comes or goes


class _Places(NamedTuple):
    """Which of the listed values are those of each core."""

    in_order: itemgetter[Any]  # takes all values of core 0, then those of core 1, ...; behind the listed values is a zero
    width: int  # values of each core
    unlisted: tuple[int, ...]  # devices of which no core is listed


class _UnusualError(ValueError):
    """A value that neuron_documents must look at."""


def usual_devices(document: Document) -> Devices | None:
    """What neuron_documents finds in a document, uses not yet rounded; None where it is not a usual one."""
    devices, cores = hardware_of(document)
    names: list[str] = []
    listed: list[Core] = []
    for runtime in document.neuron_runtime_data or ():
        counters = runtime.report.neuroncore_counters if runtime.report else None
        if runtime.error or counters is None or counters.error or counters.neuroncores_in_use is None:
            return None
        names += counters.neuroncores_in_use
        listed += counters.neuroncores_in_use.values()
    places = _places(tuple(names), devices, cores) if max(len(names), devices * cores) <= _MOST else None
    if places is None:
        return None
    none = [None] * len(listed)
    rates: list[Any] = [core.effective_flops for core in listed]
    if rates == none:
        rates = [core.flops for core in listed]
    try:
        by_core = _by_core([core.neuroncore_utilization for core in listed], places)
        full = 100 * cores
        ratios = [busy / full for busy in _sums(by_core, cores)]
        return Devices(ratios, [None] * devices if rates == none else _flops(rates, places, cores))
    except (TypeError, OverflowError, _UnusualError):  # a core without a value is a TypeError
        return None


def _by_core(percents: list[Any], places: _Places) -> Sequence[float]:
    """The use of each core, by all runtimes together at most full."""
    by_core: Sequence[float] = places.in_order([*percents, 0.0])
    if min(by_core) < 0:
        raise _UnusualError
    if places.width > 1:
        by_core = _sums(by_core, places.width)
    return by_core if max(by_core) <= 100 else [min(percent, 100.0) for percent in by_core]


def _flops(rates: list[Any], places: _Places, cores: int) -> list[float | None]:
    ordered = places.in_order([*rates, 0.0])
    if min(ordered) < 0:  # what cancels out may be too large on the way
        raise _UnusualError
    found: list[float | None] = [*_sums(ordered, places.width * cores)]
    for device in places.unlisted:
        found[device] = None
    return found


@lru_cache(maxsize=_ORDERS)
def _places(names: tuple[str, ...], devices: int, cores: int) -> _Places | None:
    found: list[list[int]] = [[] for _ in range(devices * cores)]
    for place, name in enumerate(names):
        number = core_number(name)
        if not 0 <= number < len(found):
            return None
        found[number].append(place)
    width = max(1, *map(len, found))
    if not 1 < width * len(found) <= 4 * _MOST:  # a getter of one gives no sequence
        return None
    order = [place for places in found for place in (*places, *[len(names)] * (width - len(places)))]
    unlisted = [device for device in range(devices) if not any(found[device * cores : (device + 1) * cores])]
    return _Places(itemgetter(*order), width, tuple(unlisted))


def _sums(values: Sequence[float], width: int) -> list[float]:
    """The exact sum of each `width` values: one addition is as exact as fsum, and here too a zero has no sign."""
    if width > 2:
        return [*map(math.fsum, zip(*[iter(values)] * width, strict=True))]
    found = [one + 0.0 for one in values] if width == 1 else [a + b + 0.0 for a, b in zip(values[::2], values[1::2], strict=True)]
    if math.inf in found:
        raise OverflowError
    return found
