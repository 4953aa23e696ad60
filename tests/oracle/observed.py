"""What telemetry saw of the chips a run held: observed and busy chip time of every hold."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from itertools import pairwise

from .holdings import Hold
from .months import bounds, by_month
from .records import Runs, Window, is_job
from .samples import FULL, NO_GAP, Device, Sample, Span, machines_of, overlap, overlap_of_most, spans_of


@dataclass
class Tracks:
    """The devices of one machine as one group of samples shows them."""

    devices: dict[Device, list[Span]] = field(default_factory=dict)  # measured
    lives: dict[str, list[Span]] = field(default_factory=dict)  # when a source that leaves idle chips out saw any of a host's
    numbers: dict[str, int] = field(default_factory=dict)  # how many chips it ever saw of that host, in one way of numbering

    @property
    def is_partial(self) -> bool:
        return bool(self.lives)

    def sees(self, start: int, end: int) -> bool:
        spans = [span for found in (*self.lives.values(), *self.devices.values()) for span in found]
        return any(span.start < end and span.end > start for span in spans)

    def alive(self, hold: Hold, chips: int) -> int:
        """Chip-microseconds of hosts that were seen: a host that is not the node itself speaks of its own chips only."""
        changes: dict[int, int] = defaultdict(int)
        for host, spans in self.lives.items():
            of_host = chips if host == hold.resource_id else max(hold.machine_chips, self.numbers[host])
            for span in spans:
                if span.start < hold.end and span.end > hold.start:
                    changes[max(span.start, hold.start)] += of_host
                    changes[min(span.end, hold.end)] -= of_host
        total = now = 0
        for left, right in pairwise(sorted(changes)):
            now += changes[left]
            total += min(now, chips) * (right - left)
        return total

    def busiest(self, holds: Iterable[Hold]) -> list[Device]:
        busy = {device: sum(overlap(spans, hold.start, hold.end)[1] for hold in holds) for device, spans in self.devices.items()}
        return sorted(busy, key=lambda device: (-busy[device], device))


def tracks_of(samples: list[Sample], *, is_job: bool) -> Tracks:
    partial = [sample for sample in samples if sample.is_partial]
    measured = [sample for sample in samples if not (sample.is_partial and sample.is_life)]
    devices = {device: spans_of(found) for device, found in machines_of(measured, is_job=is_job).items()}
    by_host: dict[str, list[Sample]] = defaultdict(list)
    for sample in partial:
        by_host[sample.host_id].append(sample)
    lives = {host: [span for span in spans_of(found) if span.use is not None] for host, found in by_host.items()}
    numbers = {
        host: max(len({sample.device for sample in found if sample.is_life is is_life}) for is_life in (True, False))
        for host, found in by_host.items()
    }
    return Tracks(devices, {host: spans for host, spans in lives.items() if spans}, numbers)


def _places(sample: Sample, held: list[tuple[str, Window]]) -> list[str]:
    """Where the run of a host that no record names was then: of resources held at one time the first."""
    now = [item for item in held if item[1].start - NO_GAP < sample.end and item[1].end + NO_GAP > sample.start]
    return [
        place for place, window in now
        if not any(other < place and at.start < window.end and at.end > window.start for other, at in now)
    ]  # fmt: skip


class Telemetry:
    """Samples by machine and by the run they are keyed to; a key nobody knows is none."""

    def __init__(self, samples: Iterable[Sample], runs: Runs) -> None:
        held: dict[str, list[tuple[str, Window]]] = defaultdict(list)
        for resource_id, windows in sorted(runs.windows.items()):
            for window in windows:
                held[window.run].append((resource_id, window))
        self.by_machine: dict[tuple[str, str | None], list[Sample]] = defaultdict(list)
        for sample in samples:
            run = runs.of_tag(sample.run_key) if sample.run_key else None
            # names of runs and machines are those of the month
            now = [runs.held_between(*bounds(month)) for month, *_ in by_month(sample.start, sample.end)]
            resources, known = (set().union(*(names[place] for names in now)) for place in (0, 1))
            run = run if run in known else None
            for place in _places(sample, held[run]) if run is not None and sample.host_id not in resources else ():
                self.by_machine[place, run].append(sample)
            if run is None or sample.host_id in resources:
                self.by_machine[sample.host_id, run].append(sample)
        self._tracks: dict[tuple, Tracks] = {}

    def tracks(self, resource_id: str, *keys: str | None) -> Tracks:
        place = resource_id, *keys
        if place not in self._tracks:
            samples = [sample for key in keys for sample in self.by_machine.get((resource_id, key), ())]
            self._tracks[place] = tracks_of(samples, is_job=is_job(resource_id))
        return self._tracks[place]


@dataclass(frozen=True)
class Seen:
    observed: Fraction  # chip-microseconds
    busy: Fraction  # of them, at full use


def _own(tracks: Tracks, chosen: list[Device], hold: Hold) -> Seen:
    """As many chips as it held, first those the run used most in the month; where idle chips are left out, the others idle."""
    if not hold.promised:
        return Seen(Fraction(0), Fraction(0))
    chips = min(hold.promised, hold.node_chips)  # attempts of one run may overlap, but a chip is there once
    known, busy, unknown = overlap_of_most([tracks.devices[device] for device in chosen], chips, hold.start, hold.end)
    if tracks.is_partial:
        known = tracks.alive(hold, chips) - unknown
    share = hold.part * hold.promised / chips
    return Seen(known * share, Fraction(busy, FULL) * share)


def _mean(tracks: Tracks, hold: Hold) -> Seen:
    """Samples nobody told apart: each run carries the machine's mean by the chips it holds."""
    if not hold.promised:
        return Seen(Fraction(0), Fraction(0))
    sums = [overlap(spans, hold.start, hold.end) for spans in tracks.devices.values()]
    known, busy, unknown = (sum(column) for column in zip(*sums, strict=True)) if sums else (0, 0, 0)
    if tracks.is_partial:
        known = tracks.alive(hold, hold.node_chips) - unknown
    share = hold.part * hold.promised / hold.node_chips
    return Seen(known * share, Fraction(busy, FULL) * share)


def observe(holds: list[Hold], telemetry: Telemetry) -> dict[Hold, Seen]:
    months: dict[tuple[str, str, date], list[Hold]] = defaultdict(list)
    for hold in holds:
        months[hold.run, hold.resource_id, hold.month].append(hold)
    seen: dict[Hold, Seen] = {}
    for (run, resource_id, _), of_month in months.items():
        alone, keyed, common = (telemetry.tracks(resource_id, *keys) for keys in ((run, None), (run,), (None,)))
        ways = {hold: alone if hold.holders == 1 or keyed.sees(hold.start, hold.end) else common for hold in of_month}
        chosen = alone.busiest(of_month)
        for hold, way in ways.items():
            seen[hold] = _own(way, chosen, hold) if way is alone else _mean(way, hold)
    return seen
