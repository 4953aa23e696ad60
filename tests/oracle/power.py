"""Readings of power, in the forms that the demo has: nvidia-smi's CSV, the driver's sysfs line, a meter's CSV, XProf profiles.

Whole microwatts and microseconds. A point covers the spacing before it, a profile itself; what states no figure is unknown.
"""

import csv
import json
import math
import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from .exports import modified_at, moment
from .holdings import Hold
from .meters import bounded, sampling_of, spread_at, spreads
from .months import bounds, by_month, month_of
from .neuron import named_in, text_of
from .records import microseconds
from .samples import FULL, NO_GAP, Sample
from .tpu import WHOLE, Spacings

_MINUTE = 60_000_000
_HOUR = 60 * _MINUTE
_RAIL = re.compile(r"(?:VDD )?(.*?) ?(SPI Sampler |SPI )?Power Meter.*\(W\)")
_RANKS = {"shared": 2, "slurm": 3, "codecarbon": 4}  # behind every meter of a machine


@dataclass(frozen=True)
class Gauge:
    host_id: str
    device: int | None
    run_key: str | None
    meter: str


@dataclass(frozen=True, slots=True)
class NodeReading:
    host_id: str
    start: int
    end: int
    power: int
    low: int
    high: int
    rank: int
    meter: str = "pdu"
    is_point: bool = False


def _micro(text: str) -> int:
    return math.floor(Fraction(text) * FULL + Fraction(1, 2))


def _files(location: Path, as_published: datetime | None, ending: str) -> Iterator[Path]:
    return (path for path in sorted(location.rglob(ending)) if as_published is None or modified_at(path) <= as_published)


def read_driver(location: Path, as_published: datetime | None = None) -> Iterator[Sample]:
    """A line names the end of its minute; a device that has nothing to say is left out."""
    for path in _files(location, as_published, "*.jsonl*"):
        for line in map(json.loads, text_of(path).splitlines()):
            status, epoch, *_, mean = line["text"].split(",")
            if status == "POWER_STATUS_VALID":
                device, end = int(re.search(r"neuron(\d+)/", line["path"])[1]), int(epoch) * FULL
                share = math.floor(Fraction(mean) * FULL / 100 + Fraction(1, 2))
                low, high = bounded(share, "neuron_power", "neuron_sysfs")
                stated = {"meter": "neuron_sysfs", "driver": share, "driver_low": low, "driver_high": min(high, FULL)}
                host = line["host"]["resource_id"]
                yield Sample(host, line.get("run"), device, end - _MINUTE, end, None, True, "", False, **stated)


def read_nvidia_smi(location: Path, as_published: datetime | None = None) -> Iterator[Sample]:
    found: dict[Gauge, dict[int, tuple[int, int]]] = defaultdict(dict)
    for path in _files(location, as_published, "*.csv"):
        key = path.relative_to(location).as_posix()
        for row in csv.DictReader(path.open(encoding="utf-8"), skipinitialspace=True):
            at = microseconds(datetime.strptime(row["timestamp"], "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=UTC))
            gauge = Gauge(named_in(key, "host"), int(row["index"]), named_in(key, "run"), "nvml")
            watts, use = row["power.draw [W]"].split()[0], row["utilization.gpu [%]"].split()[0]
            found[gauge][at] = _micro(watts), _micro(use) // 100
    for gauge, start, end, (power, use), (low, high) in _covered(found, "gpu_monitoring"):
        place = gauge.host_id, gauge.run_key, gauge.device
        read = {"meter": gauge.meter, "power": power, "power_low": low, "power_high": high}
        yield Sample(*place, start, end, use, False, "", False, **read)


def read_meters(location: Path, as_published: datetime | None = None) -> Iterator[NodeReading]:
    found: dict[Gauge, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for path in _files(location, as_published, "*.csv"):
        for row in csv.DictReader(path.open(encoding="utf-8")):
            gauge = Gauge(row["host"], None, None, row["meter"])
            found[gauge][microseconds(moment(row["time"]))] = (_micro(row["watts"]),)
    for gauge, start, end, (power,), (low, high) in _covered(found, "power_meters"):
        yield NodeReading(gauge.host_id, start, end, power, low, high, _RANKS.get(gauge.meter, 1), gauge.meter, is_point=True)


def _covered(found: dict[Gauge, dict[int, tuple[int, ...]]], kind: str) -> Iterator[tuple]:
    """What points cover and how far they may be off: no silence of power is filled, no month knows the points of the next."""
    spacings = Spacings(found)
    for gauge, points in found.items():
        before: int | None = None
        spread = spreads((at, figures[0]) for at, figures in points.items())
        for at in sorted(points):
            usual = spacings.usual(gauge, at) or _MINUTE
            silence = usual if before is None else at - before
            spacing = silence if silence <= WHOLE * usual else usual
            ends = bounded(points[at][0], kind, gauge.meter, sampling_of(spacing, spread_at(spread, at)))
            yield gauge, max(at - spacing, bounds(month_of(at - 1))[0]), at, points[at], ends
            before = at


def read_profiles(location: Path, as_published: datetime | None = None) -> Iterator[Sample]:
    for path in _files(location, as_published, "*.xplane.pb"):
        host, key = path.name.removesuffix(".xplane.pb"), path.relative_to(location).as_posix()
        for plane in _fields(path.read_bytes()).get(1, ()):
            plane = _fields(plane)
            if named := re.fullmatch(r"/device:TPU:(\d+)", plane[2][0].decode()):
                rails = _rails(plane)
                for (start, end), power in _windows(rails).items():
                    low, high = bounded(power, "xprof", "xprof")
                    stated = {"meter": "xprof", "power": power, "power_low": low, "power_high": high, "rails": frozenset(rails)}
                    yield Sample(host, named_in(key, "run"), int(named[1]), start, end, None, True, "", False, **stated)


Rails = dict[str, list[tuple[int, int, Fraction]]]  # start, end, watts


def _rails(plane: dict[int, list]) -> Rails:
    """Events of a counter, each with its watts as its only stat that is a double."""
    names = {entry[1][0]: _fields(entry[2][0])[2][0].decode() for entry in map(_fields, plane.get(4, ()))}
    rails: Rails = defaultdict(list)
    for line in map(_fields, plane.get(3, ())):
        base = line[3][0] * 1000
        for event in map(_fields, line.get(4, ())):
            start = base + event.get(2, [0])[0]
            watts = next(stat[2][0] for stat in map(_fields, event[4]) if 2 in stat)
            rail = _RAIL.fullmatch(names[event[1][0]])
            if rail:
                end = start + event[3][0]
                rails[rail[1]].append((start // FULL, end // FULL, Fraction(struct.unpack("<d", watts)[0])))
    return rails


def _windows(rails: Rails) -> dict[tuple[int, int], int]:
    """Each rail's mean over each unbroken stretch of a clock hour, as whole microwatts; the rails of a chip together."""
    found: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for rail, events in rails.items():
        stretches: list[list[tuple[int, int, Fraction]]] = []
        for start, end, watts in sorted(events):
            while start < end:
                until = min(end, (start // _HOUR + 1) * _HOUR)
                if not stretches or stretches[-1][-1][1] != start or start % _HOUR == 0:
                    stretches.append([])
                stretches[-1].append((start, until, watts))
                start = until
        for stretch in stretches:
            first, last = stretch[0][0], stretch[-1][1]
            mean = sum((watts * (end - start) for start, end, watts in stretch), Fraction(0)) / (last - first)
            found[first, last][rail] = math.floor(mean * FULL + Fraction(1, 2))
    return {window: sum(watts.values()) for window, watts in found.items() if len(watts) == len(rails)}


def _fields(content: bytes) -> dict[int, list]:
    """A message of protobuf by field number: whole numbers, doubles as eight bytes, and bytes."""
    found: dict[int, list] = defaultdict(list)
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(content):
        tag = number()
        if tag & 7 == 0:
            found[tag >> 3].append(number())
        else:
            length = 8 if tag & 7 == 1 else 4 if tag & 7 == 5 else number()
            found[tag >> 3].append(content[at : at + length])
            at += length
    return found


def numbered_by_slice(profiled: Iterable[Sample], points: Iterable[Sample]) -> Iterator[Sample]:
    """Profiles number chips by host, duty cycles by slice: where a month has as many of both, the first is the first."""
    profiled = list(profiled)
    chips: dict[tuple[str, date], tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
    for sample in profiled:
        chips[sample.host_id, month_of(sample.start)][0].add(sample.device)
    for point in points:
        place = point.host_id, month_of(point.end - 1)
        if place in chips and not point.is_life:
            chips[place][1].add(point.device)
    for sample in profiled:
        own, of_slice = map(sorted, chips[sample.host_id, month_of(sample.start)])
        same = len(own) == len(of_slice)
        yield replace(sample, device=of_slice[own.index(sample.device)]) if same else sample


# machine and month: start, end, microwatts as read, at the least and at the most; each instant once
Stretches = dict[tuple[str, date], list[tuple[int, int, int, int, int]]]


def node_power(readings: Iterable[NodeReading]) -> Stretches:
    """What counts of a machine's readings: a meter before an estimate, of several the greatest; half a second is no gap."""
    of_machine: dict[tuple[str, date], list[NodeReading]] = defaultdict(list)
    for reading in readings:
        for month, start, end in by_month(reading.start, reading.end):
            of_machine[reading.host_id, month].append(replace(reading, start=start, end=end))
    found: Stretches = {}
    for place, near in of_machine.items():
        gapless, reached = [], None
        for reading in sorted(near, key=lambda each: each.start):
            is_near = reached is not None and 0 < reading.start - reached <= NO_GAP
            gapless.append(replace(reading, start=reached) if is_near else reading)
            reached = max(reading.end, reached or reading.end)
        edges = sorted({edge for each in gapless for edge in (each.start, each.end)})
        found[place] = []
        for left, right in pairwise(edges):
            if now := [each for each in gapless if each.start <= left and each.end >= right]:
                best = min(each.rank for each in now)
                counting = [each for each in now if each.rank == best]
                read = (max(getattr(each, name) for each in counting) for name in ("power", "low", "high"))
                found[place].append((left, right, *read))
    return found


def cut_at_readings(holds: Iterable[Hold], power: Stretches) -> Iterator[Hold]:
    """Holds, each inside one unbroken stretch of readings or outside all."""
    for hold in holds:
        stretches = power.get((hold.resource_id, hold.month), ())
        starts, ends = {start for start, *_ in stretches}, {end for _, end, *_ in stretches}
        edges = sorted({hold.start, hold.end, *(at for at in starts ^ ends if hold.start < at < hold.end)})
        yield from (replace(hold, start=left, end=right) for left, right in pairwise(edges))


def read_at_nodes(holds: Iterable[Hold], power: Stretches) -> dict[Hold, dict[str, Fraction]]:
    """Watt-microseconds by level of each hold whose machine was read then: of the machine's the part of its chips."""
    found: dict[Hold, dict[str, Fraction]] = {}
    for hold in holds:
        near = power.get((hold.resource_id, hold.month), ())
        times = [(max(min(end, hold.end) - max(start, hold.start), 0), read) for start, end, *read in near]
        if any(time for time, _ in times):
            part = hold.promised * hold.part / (hold.node_chips or 1)
            levels = enumerate(("mid", "low", "high"))
            found[hold] = {level: Fraction(sum(time * read[at] for time, read in times), FULL) * part for at, level in levels}
    return found
