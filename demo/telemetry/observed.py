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
ByMonth = dict[tuple[str, str], Fraction]  # by run id and month


def chips_of(run: Run, hold: Hold) -> int:
    """Chips of a hold; a SageMaker job is one hold of several machines, other records count all chips themselves."""
    machines = run.node_count if run.record == "sagemaker" else 1
    return (hold.chips or NODE_CHIPS[hold.instance_type]) * machines


def window_of(hold: Hold) -> tuple[int, int]:
    return hold.start, min(hold.end or TELEMETRY_END, TELEMETRY_END)


def holds_of(world: World) -> dict[str, list[tuple[Run, Hold]]]:
    """Who held each node."""
    held: dict[str, list[tuple[Run, Hold]]] = defaultdict(list)
    for run in world.runs:
        for attempt in run.attempts:
            for hold in attempt.holds:
                held[hold.resource_id].append((run, hold))
    return held


def by_month(start: int, end: int) -> Iterator[tuple[str, int]]:
    """The months of a time in microseconds, and how much of it lies in each."""
    while start < end:
        month = iso(start // MICRO)[:7]
        stop = min(end, month_bounds(month)[1] * MICRO)
        yield month, stop - start
        start = stop


@dataclass(slots=True)
class Observed:
    reserved: ByMonth = field(default_factory=lambda: defaultdict(Fraction))
    seen: ByMonth = field(default_factory=lambda: defaultdict(Fraction))
    busy: ByMonth = field(default_factory=lambda: defaultdict(Fraction))
    # when whole machines were promised to several runs at once: (start, end, promised how often)
    crowded: dict[str, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))

    def reserve(self, worlds: Iterable[World]) -> None:
        for resource_id, held in (node for world in worlds for node in holds_of(world).items()):
            whole = [window_of(hold) for _, hold in held if hold.chips in (None, NODE_CHIPS[hold.instance_type])]
            for left, right in pairwise(sorted({edge for window in whole for edge in window})):
                promised = sum(start <= left and right <= end for start, end in whole)
                if promised > 1:
                    self.crowded[resource_id].append((left, right, promised))
            for run, hold in held:
                for month, time in self._counted(resource_id, *window_of(hold)):
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

    def told(self, left_out: Iterable[str]) -> dict[str, dict[str, dict[str, tuple[int, int] | None]]]:
        """Fractions by run and month, in chip-seconds; runs whose ids are ambiguous have none."""
        answers: dict[str, dict[str, dict[str, tuple[int, int] | None]]] = defaultdict(dict)
        for (run_id, month), reserved in sorted(self.reserved.items()):
            if run_id not in left_out:
                seen, busy = self.seen.get((run_id, month), Fraction(0)), self.busy.get((run_id, month), Fraction(0))
                answers[run_id][month] = {
                    "reserved": (reserved / MICRO).as_integer_ratio(),
                    "observed": (seen / MICRO).as_integer_ratio(),
                    "busy": (busy / (MICRO * BUSY_PARTS)).as_integer_ratio() if seen else None,
                    "coverage": (seen / reserved).as_integer_ratio(),
                }
        return dict(answers)
