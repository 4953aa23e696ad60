"""What neuron-monitor or libtpu says as one line per device and minute: sums of what was known and used, in whole microseconds.

A document of neuron-monitor weighs its own period before it came, a duty cycle of a TPU chip the time since the one before it.
What follows each other within half a second is one stretch; where two overlap the greater use counts. These are the rules by
which the ledger makes intervals of them itself, so that its sums are the same. A minute has more than one line where documents
are missing, where none could measure, and where no process ran. What is no document that can be reduced is written as it came,
and the ledger names it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

from trainledger_recorder.times import parsed

MINUTE = 60_000_000
_GAP = 500_000  # microseconds: clocks of collectors slip by less
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_MOST = 1024  # devices, and periods of a day: as the ledger reads them
_DAY = 86_400
_GROUPS = ("vcpu_usage", "memory_info", "neuron_hw_counters")
_INSTANCE = ("instance_id", "instance_type", "instance_region", "instance_availability_zone")  # which machine it is
# libtpu's metrics as the sampler writes them: what each is evidence of; and the labels by which it names a machine
_CHIP_METRICS = {"duty_cycle": "measured", "memory_used": "presence"}
_MACHINE = {"instance_type": "accelerator_type", "instance_region": "location"}
Line = tuple[datetime, bytes]  # the time by which a line goes into a file, and its text with its end
Stamp = Mapping[str, Any]  # what each line has besides its measurement
_Lines = Iterator[Line]
_Series = tuple[str, int]  # of which evidence, where a device has two, and of which device
Use = tuple[str, list[Optional[int]], float]  # measured or presence; parts per million of each device; seconds


class CannotReduceError(ValueError):
    """The document is none of whose devices the use can be worked out here."""


_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


@dataclass
class _Sample:
    begin: int
    end: int
    ppm: int | None
    rank: int  # of two at one time the greater counts: a use that was measured, one that could not be, no process at all
    counted_from: int
    counted_to: int


@dataclass
class _Stretch:
    """Samples of one device that follow each other within a minute, all of one sort."""

    evidence: str
    minute: int
    device_count: int
    instance: dict[str, Any]
    samples: list[_Sample] = field(default_factory=list)

    def line(self, device: int) -> dict[str, Any]:
        known = [one for one in self.samples if one.ppm is not None]
        return {
            "minute": _text(self.minute),
            "device": device,
            "device_count": self.device_count,
            "evidence": self.evidence,
            "first": _text(self.samples[0].counted_from),
            "last": _text(max(one.counted_to for one in self.samples)),
            "samples": len(self.samples),
            "covered_us": sum(one.counted_to - one.counted_from for one in self.samples),
            "known_us": sum(one.counted_to - one.counted_from for one in known),
            "used_ppm_us": sum((one.ppm or 0) * (one.counted_to - one.counted_from) for one in known),
            "least_ppm": min((one.ppm or 0 for one in known), default=None),
            "greatest_ppm": max((one.ppm or 0 for one in known), default=None),
            **({"instance_info": self.instance} if self.instance else {}),
        }


@dataclass
class _Point:
    series: _Series
    end: int
    ppm: int | None
    machine: dict[str, Any]


class _Minutes:
    """The open stretch of each series. A killed recorder loses what is open: less than a minute and a period."""

    def __init__(self) -> None:
        self._open: dict[_Series, _Stretch] = {}

    def add(self, series: _Series, sample: _Sample, evidence: str, count: int, machine: dict[str, Any], stamped: Stamp) -> _Lines:
        """Take a sample of one of so many devices, and give the line that is complete by it."""
        sort = evidence if evidence == "presence" or sample.ppm is not None else "unknown"
        minute = sample.end - 1 - (sample.end - 1) % MINUTE
        open_ = self._open.get(series)
        follows = open_ is not None and _joined(open_.samples[-1], sample)
        if open_ and follows and (open_.evidence, open_.minute, open_.device_count) == (sort, minute, count):
            open_.samples.append(sample)
            return
        yield from self.close(series, stamped)
        self._open[series] = _Stretch(sort, minute, count, machine, [sample])

    def close(self, series: _Series, stamped: Stamp) -> _Lines:
        """The line of a series, if one is open."""
        stretch = self._open.pop(series, None)
        line = stretch.line(series[1]) if stretch else {}
        if stretch and line["covered_us"]:  # else all of it was in others
            text = json.dumps({**stamped, "reduced": line}, separators=(",", ":"))
            yield _EPOCH + stretch.minute * _MICROSECOND, text.encode() + b"\n"

    def series(self) -> list[_Series]:
        return list(self._open)


class Reducer:
    """The documents of neuron-monitor."""

    def __init__(self) -> None:
        self._minutes = _Minutes()

    def add(self, document: bytes, stamped: Stamp) -> _Lines:
        """Take a document that came at the time of its stamp, and give the lines that are complete by it."""
        try:
            read = json.loads(document)
            evidence, uses, seconds = use_of(read)
            instance = {name: read["instance_info"][name] for name in _INSTANCE if (read.get("instance_info") or {}).get(name)}
            end = _micros(stamped["collected_at"])
        except _UNREADABLE:
            yield parsed(stamped["collected_at"]), wrapped(document, stamped)
            return
        begin = (end * 1000 - round(seconds * 1e9)) // 1000
        for series in self._minutes.series():
            if series[1] >= len(uses):
                yield from self._minutes.close(series, stamped)
        for device, ppm in enumerate(uses):
            rank = 0 if evidence == "presence" else 1 if ppm is None else 2 + ppm
            sample = _Sample(begin, end, ppm, rank, begin, end)
            yield from self._minutes.add(("", device), sample, evidence, len(uses), instance, stamped)

    def rest(self, stamped: Stamp) -> _Lines:
        """The lines of what is open, at the end or before a delivery."""
        for series in self._minutes.series():
            yield from self._minutes.close(series, stamped)


class ChipReducer:
    """The answers of libtpu's sampler. Two metrics of a chip are two series: one may be missing where the other is not."""

    def __init__(self, period: float) -> None:
        self._minutes = _Minutes()
        self._period = round(period * 1e6)
        self._seen: dict[_Series, int] = {}  # when a point of it came last

    def add(self, document: bytes, stamped: Stamp) -> _Lines:
        """Take an answer with a point of each series, and give the lines that are complete by it."""
        try:
            points = [_point_of(one) for one in json.loads(document)["timeSeries"]]
            chips = [one.series[1] for one in points]
            if max(chips) >= _MOST or self._period > MINUTE:
                raise CannotReduceError
        except _UNREADABLE:
            yield parsed(stamped["collected_at"]), document.strip() + b"\n"
            return
        for one in points:
            before = self._seen.get(one.series)
            self._seen[one.series] = one.end
            # as the ledger has it of points: the spacing before it, and after a silence one spacing
            is_next = before is not None and 0 < 2 * (one.end - before) <= 3 * self._period
            begin = before if is_next and before is not None else one.end - self._period
            sample = _Sample(begin, one.end, one.ppm, 0, begin, one.end)
            yield from self._minutes.add(one.series, sample, one.series[0], 1 + max(chips), one.machine, stamped)

    def rest(self, stamped: Stamp) -> _Lines:
        """The lines of what is open, at the end or before a delivery."""
        for series in self._minutes.series():
            yield from self._minutes.close(series, stamped)


def _point_of(series: Mapping[str, Any]) -> _Point:
    """A point of libtpu's sampler: a chip's use, or that it lives."""
    evidence = _CHIP_METRICS[series["metric"]["type"].rpartition("/")[2]]
    ((interval, value),) = ((one["interval"], one["value"]["doubleValue"]) for one in series["points"])
    percent = 0.0 if evidence == "presence" else None if value in (None, "NaN") else float(value)
    if percent is not None and not percent >= 0:
        raise CannotReduceError  # the ledger refuses it by name
    labels = series["resource"]["labels"]
    machine = {ours: labels[theirs] for ours, theirs in _MACHINE.items() if labels.get(theirs)}
    chip = int(series["metric"]["labels"]["accelerator_id"].rpartition("-")[2])
    return _Point((evidence, chip), _micros(interval["endTime"]), None if percent is None else _ppm(percent / 100), machine)


def _joined(last: _Sample, sample: _Sample) -> bool:
    """Whether a sample follows the last one; where both were, the greater use counts."""
    if sample.begin > last.end + _GAP or sample.end <= last.end or sample.begin < last.begin:
        return False
    if sample.begin < last.end and sample.rank > last.rank:
        last.counted_to = max(sample.begin, last.counted_from)
        sample.counted_from = last.counted_to
    else:
        sample.counted_from = last.end
    return True


def wrapped(document: bytes, stamped: Stamp) -> bytes:
    """A document as it came, with its arrival, host and run; it is not even parsed."""
    return b'%s,"document":%s}\n' % (json.dumps(stamped)[:-1].encode(), document.strip())


def use_of(document: Any) -> Use:
    """How much each device was used over a document's period, by the ledger's rules: runtimes on a core add up to at most all of
    it, a device is the mean of all its cores, and an error of what could hold a core means unknown."""
    hardware = document.get("neuron_hardware_info") or {}
    devices, cores = hardware.get("neuron_device_count") or 0, hardware.get("neuroncore_per_device_count") or 0
    if hardware.get("error") or not 0 < devices <= _MOST or not 0 < cores <= 64:
        raise CannotReduceError
    runtimes = document.get("neuron_runtime_data") or []
    percents: dict[int, list[float]] = {}
    unknown = set[int]()
    for runtime in runtimes:
        counters = (runtime.get("report") or {}).get("neuroncore_counters")
        in_use = None if counters is None or runtime.get("error") or counters.get("error") else counters.get("neuroncores_in_use")
        if in_use is None:
            unknown.update(range(devices))
            continue
        for name, core in in_use.items():
            index = int(name)
            percent = core.get("neuroncore_utilization")
            if not 0 <= index < devices * cores or (percent is None and core.get("v3d")):
                raise CannotReduceError  # physical cores behind a logical one: the ledger reads them
            if percent is None:
                unknown.add(index // cores)
            elif not percent >= 0:
                raise CannotReduceError
            else:
                percents.setdefault(index, []).append(percent)
    busy: dict[int, list[float]] = {}
    for index, shares in percents.items():
        busy.setdefault(index // cores, []).append(min(math.fsum(shares), 100.0))
    uses: list[int | None] = [
        None if one in unknown else _ppm(math.fsum(busy.get(one, ())) / (100 * cores)) for one in range(devices)
    ]
    return ("measured" if runtimes else "presence"), uses, _seconds(document, runtimes)


def _seconds(document: Any, runtimes: Any) -> float:
    """The longest period of the runtimes' counters, else that of the first group of the machine that has one."""
    periods = [((one.get("report") or {}).get("neuroncore_counters") or {}).get("period") or 0 for one in runtimes]
    system = document.get("system_data") or {}
    others = [(system.get(name) or {}).get("period") or 0 for name in _GROUPS]
    found = [max((one for one in periods if 0 < one <= _DAY), default=0), *others]
    seconds = next((one for one in found if 0 < one <= _DAY), None)
    if seconds is None or seconds > MINUTE / 1e6:
        raise CannotReduceError  # one that is longer than a minute is none
    return float(seconds)


def _micros(text: str) -> int:
    return (parsed(text) - _EPOCH) // _MICROSECOND


def _ppm(ratio: float) -> int:
    return min(math.floor(round(ratio, 12) * 1e6 + 0.5), 1_000_000)


def _text(micros: int) -> str:
    return f"{_EPOCH + micros * _MICROSECOND:%Y-%m-%dT%H:%M:%S.%f}Z"
