"""Samples of telemetry, whoever took them: one device over one interval, and what of overlapping samples counts.

Knows the two sources only by what they promise: Neuron lists all devices of a host, Google leaves idle chips out.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise

NO_GAP = 500_000  # microseconds: collectors stamp arrival
FULL = 1_000_000  # parts per million
_READ = ("power", "power_low", "power_high", "driver", "driver_low", "driver_high")
Device = tuple[str, int, int]  # host, machine of a job that calls all of them so, device


@dataclass(frozen=True, slots=True)
class Sample:
    host_id: str
    run_key: str | None
    device: int
    start: int
    end: int
    use: int | None  # parts per million; None: an error
    is_life: bool  # the device was seen alive, its use was not
    document: str  # equal for copies of one document
    is_partial: bool  # of a source that leaves idle chips out
    is_filled: bool = False  # a short silence with what came after it
    region: str | None = None  # where the machine is, as reported
    meter: str | None = None  # what read power
    power: int | None = None  # microwatts
    power_low: int | None = None
    power_high: int | None = None
    driver: int | None = None  # parts per million of full power, as a driver shows
    driver_low: int | None = None
    driver_high: int | None = None
    rails: frozenset[str] = frozenset()  # that were added up

    @property
    def is_power_alone(self) -> bool:
        """No use beside the power, so no sign of life of a chip that Google leaves out."""
        return self.use is None and (self.power is not None or self.driver is not None)


@dataclass(frozen=True, slots=True)
class Heard:
    """A sample that was heard of a node, without the little gap before it, and the run whose key it carries."""

    start: int
    end: int
    sample: Sample
    run: str | None


@dataclass(frozen=True, slots=True)
class Span:
    """Time of one device that counts once."""

    start: int
    end: int
    use: int | None
    is_measured: bool  # else the device was only seen alive
    owner: str | None  # the run that used it, as far as keys tell
    is_filled: bool
    power: int | None = None
    power_low: int | None = None
    power_high: int | None = None
    driver: int | None = None
    driver_low: int | None = None
    driver_high: int | None = None

    @property
    def is_power_alone(self) -> bool:
        return self.use is None and self.has_power

    @property
    def has_power(self) -> bool:
        return self.power is not None or self.driver is not None

    @property
    def is_known(self) -> bool:
        return self.use is not None or self.has_power


def without_gaps(samples: Iterable[tuple[Sample, str | None]]) -> list[Heard]:
    """Of one device, in order: a gap of at most half a second to whatever began before belongs to the later sample."""
    found: list[Heard] = []
    reached = None  # by samples that began earlier
    for start, together in groupby(sorted(samples, key=lambda each: each[0].start), key=lambda each: each[0].start):
        first = reached if reached is not None and 0 < start - reached <= NO_GAP else start
        # a window of power alone reaches no further than itself
        now = [Heard(start if sample.is_power_alone else first, sample.end, sample, run) for sample, run in together]
        found += now
        ends = [each.end for each in now if not each.sample.is_power_alone] + ([] if reached is None else [reached])
        reached = max(ends, default=None)
    return found


def spans_within(heard: list[Heard], start: int, end: int, holders: set[str]) -> list[Span]:
    """One device between two instants in which `holders` have the node; each instant counts once."""
    near = [
        each for each in heard
        if each.start < end and each.end > start and (each.run is None or not holders or each.run in holders)
    ]  # fmt: skip
    edges = sorted({min(max(edge, start), end) for each in near for edge in (each.start, each.end)})
    spans = []
    for left, right in pairwise(edges):
        if now := [each for each in near if each.start <= left and each.end >= right]:
            is_filled = all(each.sample.is_filled for each in now)
            now = [each for each in now if each.sample.is_filled == is_filled]
            is_measured = not all(each.sample.is_life for each in now)
            read = {name: _greatest(getattr(each.sample, name) for each in now) for name in _READ}
            use = _use(each.sample for each in now)
            spans.append(Span(left, right, use, is_measured, _owner(now), is_filled, **read))
    return spans


def _owner(now: list[Heard]) -> str | None:
    """The run that stated it; of several the one that saw more use."""
    most: dict[str, int] = {}
    for each in now:
        if each.run is not None:
            most[each.run] = max(most.get(each.run, -1), -1 if each.sample.use is None else each.sample.use)
    best = [run for run, use in most.items() if use == max(most.values())]
    if len(most) == 1:
        return best[0]
    return best[0] if len(best) == 1 and most[best[0]] >= 0 else None


def _greatest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _use(samples: Iterable[Sample]) -> int | None:
    found = [sample for sample in samples if not sample.is_power_alone]
    if not found:
        return None
    measured = [sample.use for sample in found if sample.use is not None and not sample.is_life]
    if measured:
        return max(measured)
    return None if any(sample.use is None for sample in found) else 0


def machines_of(samples: Iterable[tuple[Sample, str | None]], *, is_job: bool) -> dict[Device, list[tuple[Sample, str | None]]]:
    """Samples by device. Of a job's machines the names are unknown: several documents of one interval are several machines."""
    documents: dict[tuple[str, int, int], set[str]] = defaultdict(set)
    samples = list(samples)
    for sample, _ in samples:
        documents[sample.host_id, sample.start, sample.end].add(sample.document)
    order = {interval: sorted(found) for interval, found in documents.items()}
    devices: dict[Device, list[tuple[Sample, str | None]]] = defaultdict(list)
    for sample, run in samples:
        interval = sample.host_id, sample.start, sample.end
        is_view = sample.is_partial or sample.meter is not None
        machine = order[interval].index(sample.document) if is_job and not is_view else 0
        devices[sample.host_id, machine, sample.device].append((sample, run))
    return devices
