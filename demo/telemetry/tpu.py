"""Cloud Monitoring's answers (`timeSeries.list`) about every TPU node that runs held: duty cycle and TensorCore utilisation.

A gauge's point describes the time since the point before it. Google writes no duty cycle for an idle chip; that the node lived,
its TensorCore series show. What goes wrong on purpose is in FLAWS.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from demo.clock import DAY, HOUR, MICRO, iso, month_bounds, month_of
from demo.files import put
from demo.gcp.account import PLACES, Project
from demo.gcp.nodes import TpuNode, nodes_of
from demo.gcp.pool import job_of
from demo.organisation import TAG_KEY, generator
from demo.simulation import Hold, Run, World
from demo.telemetry.neuron import dumps
from demo.telemetry.observed import BUSY_PARTS, Observed, chips_of, window_of

SPACING = HOUR  # coarser than the 60 s that Google keeps for six weeks and the 600 s after them, to keep the demo small
STANDING_SPACING = 3 * HOUR  # of nodes that live for months
REACH = 3  # a point describes at most so many spacings of its series
FETCHED = 2 * DAY  # after its month, a month's answer is fetched
REPEATED = ("duty_cycle", "exag-tpu-research", "2026-05")  # fetched twice


class Metric(NamedTuple):
    name: str
    value_type: str
    unit: str


DUTY = Metric("duty_cycle", "INT64", "%")
TENSORCORE = Metric("tensorcore_utilization", "DOUBLE", "%")


@dataclass(frozen=True, slots=True)
class Flaws:
    """What is wrong with a node's points, counted from 0 in each hold."""

    missing: range = field(default_factory=lambda: range(0))
    idle: range = field(default_factory=lambda: range(0))  # all chips, as while a dataset is repaired
    idle_chips: frozenset[int] = frozenset()  # never used: a spare


FLAWS = {
    "llm8b-tpu-02": Flaws(idle_chips=frozenset({31})),
    "llm8b-tpu-05": Flaws(idle=range(22, 26)),
    "bert-tpu-06": Flaws(missing=range(40, 45)),
}
SOUND = Flaws()


Held = tuple[Run, Hold]


@dataclass(frozen=True, slots=True)
class Point:
    """One time of a node; a chip without a duty cycle is idle."""

    time: int  # seconds
    duty: Sequence[int | None]
    busy: Sequence[int]  # TensorCore utilisation, hundredths of a per cent


@dataclass(frozen=True, slots=True)
class Series:
    """The chips `first`, `first`+1, ... of a node as one collector names them; `label` is the run its series name."""

    project: Project
    resource_id: str
    region_id: str
    style: str
    label: str | None
    first: int
    spacing: int
    points: Sequence[Point]
    holds: Sequence[Held]

    def chips(self) -> int:
        return len(self.points[0].duty) if self.points else 0


def write_telemetry(root: Path, worlds: Iterable[World], observed: Observed) -> None:
    answers: dict[tuple[str, Metric, str], list[dict[str, Any]]] = defaultdict(list)
    for world in worlds:
        for series in _all_series(world):
            _see(series, observed)
            for metric in (DUTY, TENSORCORE):
                for chip in range(series.chips()):
                    for month, points in _months(series, metric, chip):
                        answers[series.project.project_id, metric, month].append(_time_series(series, metric, chip, points))
    for (project_id, metric, month), answer in answers.items():
        content = dumps({"timeSeries": answer, "unit": metric.unit}).encode()
        modified = month_bounds(month)[1] + FETCHED
        folder = root / project_id / metric.name
        put(folder / f"{month}.json", content, modified)
        if (metric.name, project_id, month) == REPEATED:
            put(folder / f"{month}-again.json", content, modified + HOUR)


def _all_series(world: World) -> Iterator[Series]:
    nodes = {node.instance_id: node for node in (*nodes_of(world), job_of(world))}
    held: dict[str, list[Held]] = defaultdict(list)
    for run in world.runs:
        for hold in (hold for attempt in run.attempts for hold in attempt.holds):
            held[hold.resource_id].append((run, hold))
    for resource_id, holds in held.items():
        node = nodes[resource_id]
        if node.style == "gke":  # pods: each run has series of its own
            for number, (run, hold) in enumerate(holds):
                start, end = window_of(hold)
                beside = [(other, each) for other, each in holds[:number] if each.start < end and start < window_of(each)[1]]
                first = sum(chips_of(other, each) for other, each in beside)
                points = list(_points(f"{resource_id}|{run.run_id}", SOUND, SPACING, [(start, end)], chips_of(run, hold)))
                yield _series(node, run.run_id, first, SPACING, points, [(run, hold)])
        else:
            runs = {run.run_id for run, _ in holds}
            label = node.tag if len(runs) == 1 else None  # a label that outlived its run is not repeated here
            flaws = FLAWS.get(holds[0][0].recorded_id.removesuffix(world.suffix), SOUND)
            spacing = STANDING_SPACING if node.style == "worker" else SPACING
            points = list(_points(resource_id, flaws, spacing, [window_of(hold) for _, hold in holds], node.chips))
            yield _series(node, label, 0, spacing, points, holds)


def _series(node: TpuNode, label: str | None, first: int, spacing: int, points: list[Point], holds: Sequence[Held]) -> Series:
    return Series(node.account, node.instance_id, node.region_id, node.style, label, first, spacing, points, holds)


def _points(seed: str, flaws: Flaws, spacing: int, windows: list[tuple[int, int]], chips: int) -> Iterator[Point]:
    """Points end each hold to the minute and go back from there; between holds they go on, without a duty cycle."""
    random = generator("tpu points", seed)
    ordered = sorted(windows)
    for (start, end), following in zip(ordered, [*(begun for begun, _ in ordered[1:]), 0], strict=True):
        last = -(-end // (60 * MICRO)) * 60
        times = sorted(range(last, start // MICRO, -spacing))
        for number, time in enumerate(times):
            level = random.randrange(82, 99) if 0 < number < len(times) - 1 else random.randrange(48, 60)
            is_idle = number in flaws.idle
            duty = [None if is_idle or chip in flaws.idle_chips else min(level + chip % 3, 100) for chip in range(chips)]
            if number not in flaws.missing:
                yield Point(time, duty, [0 if each is None else each * 46 + chip * 7 for chip, each in enumerate(duty)])
        for time in range(last + spacing, following // MICRO, spacing):
            yield Point(time, [None] * chips, [0] * chips)


def _see(series: Series, observed: Observed) -> None:
    """Every point, measured or idle, describes the time since the one before; the first of a node for one spacing."""
    before = [series.points[0].time - series.spacing, *(point.time for point in series.points)] if series.points else []
    for (previous, time), point in zip(pairwise(before), series.points, strict=True):
        start = max(previous, time - REACH * series.spacing) * MICRO
        busy = sum(each or 0 for each in point.duty) * (BUSY_PARTS // 100)
        for run, hold in series.holds:
            observed.see(run, hold, start, time * MICRO, len(point.duty), busy)


def _months(series: Series, metric: Metric, chip: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A chip's points of each month, the newest first. The last instant of a month belongs to it."""
    months: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for point in reversed(series.points):
        time = iso(point.time)
        value: dict[str, Any] = {"doubleValue": point.busy[chip] / 100}
        if metric is DUTY:
            if point.duty[chip] is None:
                continue
            value = {"int64Value": str(point.duty[chip])}
        months[month_of(point.time - 1)].append({"interval": {"startTime": time, "endTime": time}, "value": value})
    yield from months.items()


def _time_series(series: Series, metric: Metric, chip: int, points: list[dict[str, Any]]) -> dict[str, Any]:
    labels = {"accelerator_id": f"{series.resource_id}-{series.first + chip}", "make": "cloud-tpu"}
    zone = PLACES[series.region_id].zone
    if series.style == "gke":
        prefix, kind = "kubernetes.io/container", "k8s_container"
        labels["model"] = "tpu-v5-lite-podslice"
        resource = {
            "project_id": series.project.project_id,
            "location": series.region_id,
            "cluster_name": "sweeps",
            "namespace_name": "vision",
            "pod_name": f"{series.label}-0-0",
            "container_name": "trainer",
        }
    else:
        prefix, kind = "tpu.googleapis.com", "tpu.googleapis.com/GceTpuWorker"
        worker = str((series.first + chip) // 8)
        resource = {"resource_container": series.project.account_id, "location": zone, "worker_id": worker}
    answer: dict[str, Any] = {
        "metric": {"type": f"{prefix}/accelerator/{metric.name}", "labels": labels},
        "resource": {"type": kind, "labels": resource},
    }
    if series.label is not None:
        answer["metadata"] = {"userLabels": {TAG_KEY: series.label}}
    return answer | {"metricKind": "GAUGE", "valueType": metric.value_type, "unit": metric.unit, "points": points}
