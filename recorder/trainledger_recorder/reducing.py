"""neuron-monitor's documents as one line per device and minute: sums of what was known and used, in whole microseconds.

A document weighs its own period before it came. What follows each other within half a second is one stretch; where two overlap
the greater use counts. These are the rules by which the ledger makes minutes of the documents themselves, so that its sums are
the same. A minute has more than one line where documents are missing, where none could measure, and where no process ran. What
is no document that can be reduced is written as it came, and the ledger names it.
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
Line = tuple[datetime, bytes]  # the time by which a line goes into a file, and its text with its end
Use = tuple[str, list[Optional[int]], float]  # measured or presence; parts per million of each device; seconds


class CannotReduceError(ValueError):
    """The document is none of whose devices the use can be worked out here."""


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


class Reducer:
    """The open stretch of each device. A killed recorder loses what is open: less than a minute and a period."""

    def __init__(self) -> None:
        self._open: dict[int, _Stretch] = {}

    def add(self, document: bytes, stamped: Mapping[str, Any]) -> Iterator[Line]:
        """Take a document that came at the time of its stamp, and give the lines that are complete by it."""
        try:
            read = json.loads(document)
            evidence, uses, seconds = use_of(read)
            instance = {name: read["instance_info"][name] for name in _INSTANCE if (read.get("instance_info") or {}).get(name)}
            end = (parsed(stamped["collected_at"]) - _EPOCH) // _MICROSECOND
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            yield parsed(stamped["collected_at"]), wrapped(document, stamped)
            return
        begin = (end * 1000 - round(seconds * 1e9)) // 1000
        for device in [one for one in self._open if one >= len(uses)]:
            yield from self._close(device, stamped)
        for device, ppm in enumerate(uses):
            sort = evidence if evidence == "presence" or ppm is not None else "unknown"
            rank = 0 if sort == "presence" else 1 if ppm is None else 2 + ppm
            sample = _Sample(begin, end, ppm, rank, begin, end)
            minute = end - 1 - (end - 1) % MINUTE
            open_ = self._open.get(device)
            follows = open_ is not None and self._joined(open_, sample)
            if open_ and follows and (open_.evidence, open_.minute, open_.device_count) == (sort, minute, len(uses)):
                open_.samples.append(sample)
                continue
            if open_:
                yield from self._close(device, stamped)
            self._open[device] = _Stretch(sort, minute, len(uses), instance, [sample])

    def rest(self, stamped: Mapping[str, Any]) -> Iterator[Line]:
        """The lines of what is open, at the end or before a delivery."""
        for device in list(self._open):
            yield from self._close(device, stamped)

    def _joined(self, before: _Stretch, sample: _Sample) -> bool:
        """Whether a sample follows the last one; where both were, the greater use counts."""
        last = before.samples[-1]
        if sample.begin > last.end + _GAP or sample.end <= last.end or sample.begin < last.begin:
            return False
        if sample.begin < last.end and sample.rank > last.rank:
            last.counted_to = max(sample.begin, last.counted_from)
            sample.counted_from = last.counted_to
        else:
            sample.counted_from = last.end
        return True

    def _close(self, device: int, stamped: Mapping[str, Any]) -> Iterator[Line]:
        stretch = self._open.pop(device)
        line = stretch.line(device)
        if line["covered_us"]:  # else all of it was in others
            text = json.dumps({**stamped, "reduced": line}, separators=(",", ":"))
            yield _EPOCH + stretch.minute * _MICROSECOND, text.encode() + b"\n"


def wrapped(document: bytes, stamped: Mapping[str, Any]) -> bytes:
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


def _ppm(ratio: float) -> int:
    return min(math.floor(round(ratio, 12) * 1e6 + 0.5), 1_000_000)


def _text(micros: int) -> str:
    return f"{_EPOCH + micros * _MICROSECOND:%Y-%m-%dT%H:%M:%S.%f}Z"
