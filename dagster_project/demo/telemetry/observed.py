"""The answer key of telemetry: by run and month the chip time reserved, seen by the files written, and busy of what was seen.

All exact, so that no order of adding matters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from dagster_project.demo.clock import MICRO, MONTHS, iso, month_bounds
from dagster_project.demo.organisation import NODE_CHIPS
from dagster_project.demo.simulation import Hold, Run, World

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
    # when whole machines were promised to several runs at once: (start, end, to which), and what was seen of their chips then
    crowded: dict[str, list[tuple[int, int, list[str]]]] = field(default_factory=lambda: defaultdict(list))
    views: dict[str, list[tuple[int, int, Sequence[int]]]] = field(default_factory=lambda: defaultdict(list))

    def reserve(self, worlds: Iterable[World]) -> None:
        for resource_id, held in (node for world in worlds for node in holds_of(world).items()):
            whole = [(run, *window_of(hold)) for run, hold in held if hold.chips in (None, NODE_CHIPS[hold.instance_type])]
            for left, right in pairwise(sorted({edge for _, *window in whole for edge in window})):
                promised = [run.run_id for run, start, end in whole if start <= left and right <= end]
                if len(promised) > 1:
                    self.crowded[resource_id].append((left, right, promised))
            for run, hold in held:
                for month, time in by_month(*window_of(hold)):
                    self.reserved[run.run_id, month] += time * chips_of(run, hold)
                for start, end, promised in self._crowded(resource_id, *window_of(hold)):
                    for month, time in by_month(start, end):  # chips promised twice count half for each
                        self.reserved[run.run_id, month] -= Fraction(time * (len(promised) - 1), len(promised)) * chips_of(
                            run, hold
                        )

    def see(self, run: Run, hold: Hold, start: int, end: int, busy: Sequence[int]) -> None:
        """Count what of an observation of chips, each with its busy parts, lies in a run's hold."""
        window = window_of(hold)
        start, end = max(start, window[0]), min(end, window[1])
        self._count(run.run_id, start, end, 1, busy)
        for begun, done, _ in self._crowded(hold.resource_id, start, end):
            self._count(run.run_id, begun, done, -1, busy)
            self.views[hold.resource_id].append((begun, done, busy))

    def share_crowded(self) -> None:
        """What several runs saw of the same chips counts once, by the greatest use seen, and equally for each."""
        for resource_id, views in self.views.items():
            for start, end, promised in self.crowded[resource_id]:
                edges = {edge for view in views for edge in view[:2] if start <= edge <= end}
                for left, right in pairwise(sorted(edges)):
                    seen = [busy for begun, done, busy in views if begun <= left and right <= done]
                    for run_id in promised if seen else ():
                        self._count(
                            run_id, left, right, Fraction(1, len(promised)), [max(chip) for chip in zip(*seen, strict=True)]
                        )

    def _count(self, run_id: str, start: int, end: int, part: Fraction | int, busy: Sequence[int]) -> None:
        for month, time in by_month(start, end):
            self.seen[run_id, month] += part * time * len(busy)
            self.busy[run_id, month] += part * time * sum(busy)

    def _crowded(self, resource_id: str, start: int, end: int) -> Iterator[tuple[int, int, list[str]]]:
        for begun, done, promised in self.crowded.get(resource_id, ()):
            if max(start, begun) < min(end, done):
                yield max(start, begun), min(end, done), promised

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
