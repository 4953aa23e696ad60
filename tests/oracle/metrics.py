"""Answers of a server of metrics, in the lines that are landed: GPUs of DCGM and outlets of PDUs, by docs/sources/prometheus.md.

Whole microwatts and microseconds. Each value is of the step before it; what a counter grew by takes the place of readings.
Readings behind a mean, which are not counted here, are taken to be a step apart.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from .exports import modified_at
from .meters import bounded, sampling_of, spread_at, spreads
from .power import NodeReading
from .samples import FULL, Sample

_STEP, _SILENCE, _DAY = 60, 600, 86_400
Point = tuple[int, Fraction]  # seconds, value


def _series(location: Path, as_published: datetime | None) -> Iterator[tuple[str, dict[str, str], list[Point]]]:
    for path in sorted(location.rglob("*.jsonl")):
        if as_published is None or modified_at(path) <= as_published:
            for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                metric = line["query"].partition("(")[2].partition("[")[0]
                for one in line["answer"]["data"]["result"]:
                    yield metric, one["metric"], [(int(at), Fraction(value)) for at, value in one["values"]]


def _micro(watts: Fraction) -> int:
    return math.floor(watts * FULL + Fraction(1, 2))


def read_metrics(
    locations: Iterable[Path], hosts: Mapping[str, str], as_published: datetime | None = None
) -> tuple[list[Sample], list[NodeReading]]:
    """What is read of devices, and of whole machines."""
    gpus: dict[tuple[str, int], dict[str, dict[int, Fraction]]] = defaultdict(lambda: defaultdict(dict))
    outlets: dict[str, dict[str, dict[int, Fraction]]] = defaultdict(lambda: defaultdict(dict))
    for metric, labels, points in (found for location in locations for found in _series(location, as_published)):
        if metric == "rPDU2OutletMeteredStatusPower":
            name = f"{labels['instance']}:{labels['rPDU2OutletMeteredStatusIndex']}"
            outlets[hosts.get(name, name)][name] |= dict(points)
        else:
            host = labels["instance_id"]
            gpus[hosts.get(host, host), int(labels["gpu"])][metric] |= dict(points)
    return [*_devices(gpus)], [*_machines(outlets)]


def _devices(gpus: Mapping[tuple[str, int], Mapping[str, dict[int, Fraction]]]) -> Iterator[Sample]:
    for (host, number), metrics in gpus.items():
        means, grown = metrics.get("DCGM_FI_DEV_POWER_USAGE", {}), {}
        counted = sorted(metrics.get("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", {}).items())
        for (before, least), (after, most) in pairwise(counted):
            if most >= least and after - before <= _SILENCE:
                grown |= dict.fromkeys(range(after, before, -_STEP), (most - least) / 1000 / (after - before))
        spread = spreads((at * FULL, _micro(power)) for at, power in means.items() if at not in grown)
        for at, power in (means | grown).items():
            times = (at - _STEP) * FULL, at * FULL
            mid = _micro(power)
            sampling = (0, 0) if at in grown else sampling_of(_STEP * FULL, spread_at(spread, at * FULL))
            low, high = bounded(mid, "prometheus", "dcgm", sampling)
            yield Sample(
                host, None, number, *times, None, True, "", False, meter="dcgm", power=mid, power_low=low, power_high=high
            )


def _machines(outlets: Mapping[str, Mapping[str, dict[int, Fraction]]]) -> Iterator[NodeReading]:
    """The outlets of a machine together, where each that the day knows has a figure."""
    for host, of_machine in outlets.items():
        known = {(name, (at - 1) // _DAY) for name, points in of_machine.items() for at in points}
        sums: dict[int, int] = {}
        for at in sorted({at for points in of_machine.values() for at in points}):
            figures = [points[at] for points in of_machine.values() if at in points]
            if len(figures) == sum(day == (at - 1) // _DAY for _, day in known):
                sums[at] = sum(map(_micro, figures))
        spread = spreads((at * FULL, mid) for at, mid in sums.items())
        for at, mid in sums.items():
            low, high = bounded(mid, "prometheus", "pdu", sampling_of(_STEP * FULL, spread_at(spread, at * FULL)))
            yield NodeReading(host, (at - _STEP) * FULL, at * FULL, mid, low, high, 1)
