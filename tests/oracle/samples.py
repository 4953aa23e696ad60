"""Samples of telemetry, whoever took them: one device over one interval, and what of overlapping samples counts.

Knows the two sources only by what they promise: Neuron lists all devices of a host, Google leaves idle chips out.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

NO_GAP = 500_000  # microseconds: collectors stamp arrival
FULL = 1_000_000  # parts per million
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


@dataclass(frozen=True, slots=True)
class Span:
    """Time of one device that counts once."""

    start: int
    end: int
    use: int | None
    is_measured: bool = True  # else the device was only seen alive


def _closed(samples: list[Sample]) -> list[tuple[int, int, Sample]]:
    """Intervals in order, each stretched back over a gap that is none."""
    found, reached = [], None
    for sample in sorted(samples, key=lambda each: (each.start, each.end)):
        start = sample.start
        if reached is not None and 0 < start - reached <= NO_GAP:
            start = reached
        found.append((start, sample.end, sample))
        reached = sample.end if reached is None else max(reached, sample.end)
    return found


def spans_of(samples: list[Sample]) -> list[Span]:
    """One device's time without overlaps: the greatest measured use counts, and an error is no idleness."""
    intervals = _closed(samples)
    edges = sorted({edge for start, end, _ in intervals for edge in (start, end)})
    waiting, now, spans = sorted(intervals, reverse=True, key=lambda each: each[0]), [], []
    for left, right in pairwise(edges):
        while waiting and waiting[-1][0] <= left:
            now.append(waiting.pop())
        now = [each for each in now if each[1] > left]
        if now:
            found = [sample for *_, sample in now]
            spans.append(Span(left, right, _use(found), not all(sample.is_life for sample in found)))
    return spans


def _use(samples: Iterable[Sample]) -> int | None:
    found = list(samples)
    measured = [sample.use for sample in found if sample.use is not None and not sample.is_life]
    if measured:
        return max(measured)
    return None if any(sample.use is None for sample in found) else 0


def machines_of(samples: Iterable[Sample], *, is_job: bool) -> dict[Device, list[Sample]]:
    """Samples by device. Of a job's machines nobody knows the names: several documents of one interval are several machines."""
    documents: dict[tuple[str, int, int], set[str]] = defaultdict(set)
    for sample in samples:
        documents[sample.host_id, sample.start, sample.end].add(sample.document)
    order = {interval: sorted(found) for interval, found in documents.items()}
    devices: dict[Device, list[Sample]] = defaultdict(list)
    for sample in samples:
        interval = sample.host_id, sample.start, sample.end
        machine = order[interval].index(sample.document) if is_job and not sample.is_partial else 0
        devices[sample.host_id, machine, sample.device].append(sample)
    return devices


def overlap(spans: list[Span], start: int, end: int) -> tuple[int, int, int]:
    """Known time, busy time (in parts per million) and unknown time within [start, end)."""
    known = busy = unknown = 0
    for span in spans:
        length = min(span.end, end) - max(span.start, start)
        if length <= 0:
            continue
        if span.use is None:
            unknown += length
        else:
            known += length
            busy += length * span.use
    return known, busy, unknown


def overlap_of_most(devices: list[list[Span]], most: int, start: int, end: int) -> tuple[int, int, int]:
    """The same of several devices, of which `most` count at any one time: those that measured, then in the order given."""
    changes = sorted(
        (at, is_begin, place, span)
        for place, spans in enumerate(devices)
        for span in spans
        if span.start < end and span.end > start
        for at, is_begin in ((max(span.start, start), True), (min(span.end, end), False))
    )
    known = busy = unknown = 0
    now: dict[int, Span] = {}
    for (at, is_begin, place, span), after in pairwise([*changes, (end, False, 0, None)]):
        if is_begin:
            now[place] = span
        else:
            del now[place]
        length = after[0] - at
        for _, _, use in sorted((not each.is_measured, place, each.use) for place, each in now.items())[:most] if length else ():
            known, busy, unknown = (
                (known, busy, unknown + length) if use is None else (known + length, busy + length * use, unknown)
            )
    return known, busy, unknown
