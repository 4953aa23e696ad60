"""Machines of SageMaker HyperPod: a bill has those of one type of a cluster together, and records what runs held of them."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

from .exports import modified_at
from .facts import chips_of
from .lines import Line
from .records import Runs, Window

_ARN = re.compile(r"arn:[^:]*:sagemaker:[^:]*:([^:]*):cluster/([^/]+)")
_TOGETHER = re.compile(r"(arn:[^:]*:sagemaker:[^:]*:[^:]*:)?cluster/([^/]+)/ml\.([^/]+)")
_ONE = re.compile(r"hyperpod-([a-z0-9]+)-i-[0-9a-f]+")
Machines = tuple[str, str, str]  # account, id of the cluster, type
Names = dict[str, set[tuple[str, str]]]  # what a cluster is called -> accounts and ids of clusters that are called so


def read_names(locations: Iterable[Path], as_published: datetime | None = None) -> Names:
    """Answers of DescribeCluster and of ListClusters beside the run records."""
    found: Names = defaultdict(set)
    for path in sorted(path for location in locations for path in location.rglob("*.json")):
        if as_published is None or modified_at(path) <= as_published:
            document = json.loads(path.read_text(encoding="utf-8"))
            answers = document.get("ClusterSummaries", [document]) if isinstance(document, dict) else []
            for answer in answers:
                if "ClusterArn" in answer and (arn := _ARN.fullmatch(answer["ClusterArn"])):
                    found[answer["ClusterName"]].add((arn[1], arn[2]))
    return found


def is_together(resource_id: str) -> bool:
    """Whether a record names the machines of one type together, and not one of them."""
    return _TOGETHER.fullmatch(resource_id) is not None


def _machines_of(line: Line) -> Machines | None:
    arn = _ARN.fullmatch(line.resource_id)
    if not arn or "Cluster:ml." not in line.usage_type or chips_of(line.instance_type) is None:
        return None
    return arn[1], arn[2], line.instance_type


def meet(lines: Iterable[Line], runs: Runs, names: Names) -> None:
    """Writes on each row of a cluster's machines their time in its interval, and the names under which records hold them."""
    billed: dict[tuple[Machines, int, int], int] = defaultdict(int)
    of_month: dict[date, set[Machines]] = defaultdict(set)
    rows = [(line, machines) for line in lines if (machines := _machines_of(line)) is not None]
    for line, machines in rows:
        if line.is_usage:
            billed[machines, line.start, line.end] += line.usage_us if line.amount >= 0 else -line.usage_us
            of_month[line.usage_month].add(machines)
    for line, machines in rows:
        if (time := billed.get((machines, line.start, line.end))) is not None:
            line.machine_us = max(time, 0)
            for name, windows in runs.windows.items():
                fitting = {one for one in of_month[line.usage_month] for window in windows if _means(window, one, names)}
                if fitting == {machines}:
                    line.of_cluster.append(name)


def _means(window: Window, machines: Machines, names: Names) -> bool:
    account, cluster, kind = machines
    if one := _ONE.fullmatch(window.resource_id):
        return one[1] == cluster and window.accelerator_type == kind
    together = _TOGETHER.fullmatch(window.resource_id)
    if not together or together[3] != kind:
        return False
    if together[1]:
        return (together[1].split(":")[4], together[2]) == (account, cluster)
    return together[2] == cluster or (account, cluster) in names.get(together[2], ())


def machine_time(windows: Iterable[Window], start: int, end: int, kind: str) -> dict[str, Fraction]:
    """Per run the time of machines it held: chips over the chips of one, as many machines as that may be."""
    shares: dict[str, Fraction] = defaultdict(Fraction)
    for window in windows:
        held = chips_of(kind) if window.chips is None else window.chips
        inside = max(min(window.end, end) - max(window.start, start), 0)
        shares[window.run] += Fraction(held * window.node_count * inside) / chips_of(kind)
    return dict(shares)
