"""Cloud Monitoring's answers (`timeSeries.list`) about every TPU node that runs held: duty cycle and TensorCore utilisation.

A gauge's point describes the time since the point before it. Google writes no duty cycle for an idle chip; that the node lived,
its TensorCore series show. What goes wrong on purpose is in FLAWS.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from dagster_project.demo.clock import DAY, HOUR, MICRO, iso, month_bounds, month_of
from dagster_project.demo.files import put
from dagster_project.demo.gcp.account import TRIALS
from dagster_project.demo.gcp.fleet import TpuNode, job_of, nodes_of
from dagster_project.demo.organisation import TAG_KEY, generator
from dagster_project.demo.simulation import Hold, Run, World
from dagster_project.demo.telemetry.neuron import dumps
from dagster_project.demo.telemetry.observed import BUSY_PARTS, Observed, chips_of, holds_of, window_of

SPACING = HOUR  # coarser than the 60 s that Google keeps for six weeks and the 600 s after them, to keep the demo small
STANDING_SPACING = 3 * HOUR  # of nodes that live for months
SHORT_SPACING = HOUR // 20  # of the small comparisons, whose runs take less than an hour
STEADY_LEVEL = 93  # per cent
FETCHED = 2 * DAY  # after its month, a month's answer is fetched
REPEATED = ("exag-tpu-research", "duty_cycle", "2026-05")  # fetched twice
METRICS = {"duty_cycle": "INT64", "tensorcore_utilization": "DOUBLE"}


class Flaws(NamedTuple):
    """What is wrong with a node's points, counted from 0 in each hold."""

    missing: range = range(0)
    idle: range = range(0)  # all chips, as while a dataset is repaired
    idle_chips: frozenset[int] = frozenset()  # never used: a spare


FLAWS = {
    "llm8b-tpu-02": Flaws(idle_chips=frozenset({31})),
    "llm8b-tpu-05": Flaws(idle=range(22, 26)),
    "bert-tpu-06": Flaws(missing=range(40, 45)),
}


Point = tuple[int, Sequence[int | None]]  # a time in seconds, and the duty cycle of each chip in per cent, None while it is idle


class Series(NamedTuple):
    """Chips of a node from the number `first` on, as one collector names them; `label` is the run its series name."""

    node: TpuNode
    label: str | None
    chips: int
    holds: Sequence[tuple[Run, Hold]]
    first: int = 0
    flaws: Flaws = Flaws()

    @property
    def spacing(self) -> int:
        if self.node.account is TRIALS:
            return SHORT_SPACING
        return STANDING_SPACING if self.node.style == "worker" else SPACING


def write_telemetry(root: Path, worlds: Iterable[World], observed: Observed) -> None:
    answers: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for series in (series for world in worlds for series in _all_series(world)):
        points = list(_points(series))
        _see(series, points, observed)
        for metric in METRICS:
            for chip in range(series.chips):
                for month, values in _months(points, metric, chip).items():
                    answers[series.node.account.project_id, metric, month].append(_time_series(series, metric, chip, values))
    for (project_id, metric, month), answer in answers.items():
        content = dumps({"timeSeries": answer, "unit": "%"}).encode()
        modified = month_bounds(month)[1] + FETCHED
        put(root / project_id / metric / f"{month}.json", content, modified)
        if (project_id, metric, month) == REPEATED:
            put(root / project_id / metric / f"{month}-again.json", content, modified + HOUR)


def _all_series(world: World) -> Iterator[Series]:
    nodes = {node.instance_id: node for node in (*nodes_of(world), job_of(world))}
    for resource_id, holds in holds_of(world).items():
        node = nodes[resource_id]
        if node.style == "gke":  # pods: each run has series of its own
            for number, (run, hold) in enumerate(holds):
                start, end = window_of(hold)
                beside = [held for held in holds[:number] if held[1].start < end and start < window_of(held[1])[1]]
                yield Series(node, run.run_id, chips_of(run, hold), [(run, hold)], sum(chips_of(*held) for held in beside))
        else:
            label = node.tag if len({run.run_id for run, _ in holds}) == 1 else None  # one that outlived its run is not repeated
            flaws = FLAWS.get(holds[0][0].recorded_id.removesuffix(world.suffix), Flaws())
            yield Series(node, label, node.chips, holds, flaws=flaws)


def _points(series: Series) -> Iterator[Point]:
    """Points end each hold to the minute and go back from there; between holds they go on, without a duty cycle."""
    flaws, chips, spacing = series.flaws, series.chips, series.spacing
    name = series.node.instance_id
    random = generator("tpu points", f"{name}|{series.label}" if series.node.style == "gke" else name)
    windows = sorted(window_of(hold) for _, hold in series.holds)
    is_steady = series.holds[0][0].workload.is_steady
    for (start, end), (following, _) in pairwise([*windows, (0, 0)]):
        last = -(-end // (60 * MICRO)) * 60
        times = sorted(range(last, start // MICRO, -spacing))
        for number, time in enumerate(times):
            level = random.randrange(82, 99) if 0 < number < len(times) - 1 else random.randrange(48, 60)
            level = STEADY_LEVEL if is_steady else level
            is_idle = number in flaws.idle
            if number not in flaws.missing:
                duty = [None if is_idle or chip in flaws.idle_chips else min(level + chip % 3, 100) for chip in range(chips)]
                yield time, duty
        for time in range(last + spacing, following // MICRO, spacing):
            yield time, [None] * chips


def _see(series: Series, points: Sequence[Point], observed: Observed) -> None:
    """Every point, measured or idle, shows the time since the one before in its month; after a silence only one spacing."""
    previous = points[0][0] - series.spacing
    for time, duties in points:
        since = previous if 2 * (time - previous) <= 3 * series.spacing else time - series.spacing
        start = max(since, month_bounds(month_of(time - 1))[0]) * MICRO
        for run, hold in series.holds:
            observed.see(run, hold, start, time * MICRO, [(duty or 0) * (BUSY_PARTS // 100) for duty in duties])
        previous = time


def _months(points: Sequence[Point], metric: str, chip: int) -> dict[str, list[dict[str, Any]]]:
    """A chip's points of each month, the newest first. The last instant of a month belongs to it."""
    months: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for second, duties in reversed(points):
        duty, time = duties[chip], iso(second)
        if metric == "tensorcore_utilization":
            value: dict[str, Any] = {"doubleValue": 0.0 if duty is None else (duty * 46 + chip * 7) / 100}
        elif duty is not None:
            value = {"int64Value": str(duty)}
        else:
            continue
        months[month_of(second - 1)].append({"interval": {"startTime": time, "endTime": time}, "value": value})
    return months


def _time_series(series: Series, metric: str, chip: int, points: list[dict[str, Any]]) -> dict[str, Any]:
    node = series.node
    labels = {"accelerator_id": f"{node.instance_id}-{series.first + chip}", "make": "cloud-tpu"}
    if node.style == "gke":
        prefix, kind = "kubernetes.io/container", "k8s_container"
        labels["model"] = "tpu-v5-lite-podslice"
        resource = {
            "project_id": node.account.project_id,
            "location": node.region_id,
            "cluster_name": "sweeps",
            "namespace_name": "vision",
            "pod_name": f"{series.label}-0-0",
            "container_name": "trainer",
        }
    else:
        prefix, kind = "tpu.googleapis.com", "tpu.googleapis.com/GceTpuWorker"
        resource = {"resource_container": node.account.account_id, "location": node.zone, "worker_id": str(chip // 8)}
    return {
        "metric": {"type": f"{prefix}/accelerator/{metric}", "labels": labels},
        "resource": {"type": kind, "labels": resource},
        **({} if series.label is None else {"metadata": {"userLabels": {TAG_KEY: series.label}}}),
        "metricKind": "GAUGE",
        "valueType": METRICS[metric],
        "unit": "%",
        "points": points,
    }
