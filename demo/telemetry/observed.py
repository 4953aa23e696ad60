"""The answer key of telemetry: by run and month the chip time reserved, seen by the files written, and busy of what was seen.

All exact, so that no order of adding matters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from demo.clock import MICRO, MONTHS, iso, month_bounds
from demo.organisation import NODE_CHIPS
from demo.simulation import Hold, Run, World

BUSY_PARTS = 80_000  # a busy chip-microsecond in parts that hundredths of a per cent of 1, 2, 4 or 8 cores divide
TELEMETRY_END = month_bounds(MONTHS[-1])[1] * MICRO  # nothing is exported of a month without a bill


def chips_of(run: Run, hold: Hold) -> int:
    """Chips of a hold; a SageMaker job is one hold of several machines, other records count all chips themselves."""
    machines = run.node_count if run.record == "sagemaker" else 1
    return (hold.chips or NODE_CHIPS[hold.instance_type]) * machines


def window_of(hold: Hold) -> tuple[int, int]:
    return hold.start, min(hold.end or TELEMETRY_END, TELEMETRY_END)


def crowds_of(world: World) -> dict[str, list[tuple[int, int, int]]]:
    """When whole machines were promised to several runs at once: (start, end, promised how often)."""
    held: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for run in world.runs:
        for hold in (hold for attempt in run.attempts for hold in attempt.holds):
            if hold.chips in (None, NODE_CHIPS[hold.instance_type]):
                held[hold.resource_id].append(window_of(hold))
    crowds: dict[str, list[tuple[int, int, int]]] = {}
    for resource_id, windows in held.items():
        cuts = sorted({edge for window in windows for edge in window})
        for left, right in pairwise(cuts):
            promised = sum(start <= left and right <= end for start, end in windows)
            if promised > 1:
                crowds.setdefault(resource_id, []).append((left, right, promised))
    return crowds


def by_month(start: int, end: int) -> Iterator[tuple[str, int]]:
    """The months of a time in microseconds, and how much of it lies in each."""
    while start < end:
        month = iso(start // MICRO)[:7]
        stop = min(end, month_bounds(month)[1] * MICRO)
        yield month, stop - start
        start = stop


@dataclass(slots=True)
class Observed:
    reserved: dict[tuple[str, str], Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    seen: dict[tuple[str, str], Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    busy: dict[tuple[str, str], Fraction] = field(default_factory=lambda: defaultdict(Fraction))

    crowded: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)

    def reserve(self, worlds: Iterable[World]) -> None:
        for world in worlds:
            self.crowded |= crowds_of(world)
            for run in world.runs:
                for hold in (hold for attempt in run.attempts for hold in attempt.holds):
                    for month, time in self._counted(hold.resource_id, *window_of(hold)):
                        self.reserved[run.run_id, month] += time * chips_of(run, hold)

    def see(self, run: Run, hold: Hold, start: int, end: int, chips: int, busy_parts: int) -> None:
        """Count what of an observation of `chips` lies in a run's hold; `busy_parts` is the sum over the chips."""
        window = window_of(hold)
        for month, time in self._counted(hold.resource_id, max(start, window[0]), min(end, window[1])):
            self.seen[run.run_id, month] += time * chips
            self.busy[run.run_id, month] += time * busy_parts

    def _counted(self, resource_id: str, start: int, end: int) -> Iterator[tuple[str, Fraction]]:
        """Time by month; chips promised twice count half for each."""
        for month, length in by_month(start, end):
            yield month, Fraction(length)
        for begun, done, promised in self.crowded.get(resource_id, ()):
            for month, length in by_month(max(start, begun), min(end, done)):
                yield month, Fraction(-length * (promised - 1), promised)

    def told(self, left_out: Iterable[str]) -> dict[str, dict[str, dict[str, list[int] | None]]]:
        """Fractions by run and month, in chip-seconds; runs whose ids are ambiguous have none."""
        answers: dict[str, dict[str, dict[str, list[int] | None]]] = defaultdict(dict)
        for key in sorted(self.reserved):
            run_id, month = key
            if run_id in left_out:
                continue
            seen = self.seen.get(key, Fraction(0))
            answers[run_id][month] = {
                "reserved": pair(self.reserved[key] / MICRO),
                "observed": pair(seen / MICRO),
                "busy": pair(self.busy[key] / (MICRO * BUSY_PARTS)) if seen else None,
                "coverage": pair(seen / self.reserved[key]),
            }
        return dict(answers)


def pair(value: Fraction) -> list[int]:
    return [value.numerator, value.denominator]
