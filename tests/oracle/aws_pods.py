"""What pods and tasks make of the hours of their machines on AWS.

From docs/methodology/cost.md, "Pods and tasks": only where a run is named by a pod of the hour is the hour divided.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction

from .google_clusters import spellings
from .lines import Line
from .pods import RATIO, Name
from .records import Runs, normalised
from .splitting import RESIDUAL, split

_INSTANCE_TIME = re.compile(r"(BoxUsage|SpotUsage|DedicatedUsage):")
Time = tuple[str, date, str, int, int]  # source, month, machine, from, to
Workloads = dict[tuple[date, str], set[str]]


@dataclass
class Share:
    """Pods of one machine's time that no name tells apart."""

    rows: list[Line] = field(default_factory=list)

    def cost(self, kind: str) -> int:
        return sum(line.pod.costs[kind] for line in self.rows)

    @property
    def chips(self) -> Fraction:
        return Fraction(sum(line.pod.ratio or 0 for line in self.rows if line.pod.is_of_accelerators), 10**RATIO)

    def ratio(self, by_accelerators: bool) -> int:
        if by_accelerators:
            return sum(line.pod.ratio or 0 for line in self.rows if line.pod.is_of_accelerators)
        pods: dict[str, list[int]] = defaultdict(list)
        for line in self.rows:
            if line.pod.ratio is not None:
                pods[line.pod.arn].append(line.pod.ratio)
        return sum(sum(ratios) // len(ratios) for ratios in pods.values())


def _own_tag(line: Line, tag_keys: Iterable[str]) -> str:
    for key in tag_keys:
        if found := [(tag.rank, tag.value) for tag in line.tags if tag.is_of(key)]:
            return min(found)[1]
    return ""


def _named(name: Name, runs: Runs) -> bool:
    full, is_pod = name
    systems = ("kubernetes", "kubernetes_pod", "ecs_task") if is_pod else ("kubernetes",)
    return any((system, spelling) in runs.recorded_aliases for spelling in spellings(full) for system in systems)


def divide_among_pods(lines: Iterable[Line], runs: Runs, tag_keys: list[str]) -> list[Line]:
    """The lines, with parts in place of those that pods divide."""
    lines = list(lines)
    machines: dict[Time, list[Line]] = defaultdict(list)
    for line in lines:
        if line.pod and line.pod.machine:
            machines[line.source_name, line.usage_month, line.pod.machine, line.start, line.end].append(line)
    shares = {time: found for time, rows in machines.items() if (found := _shares(rows, runs, tag_keys))}
    billed: dict[Time, list[Line]] = defaultdict(list)
    for line in lines:
        time = line.source_name, line.usage_month, line.resource_id, line.start, line.end
        if time in shares and _is_divided(line):
            billed[time].append(line)
    divided: dict[int, list[Line]] = {}
    for time, of_machine in billed.items():
        weights = _weights(of_machine, shares[time])
        for line in of_machine if weights else ():
            divided[id(line)] = list(_parts(line, shares[time], weights, tag_keys))
    return [part for line in lines for part in divided.get(id(line), [line])]


def _is_divided(line: Line) -> bool:
    is_time = (line.is_usage and not line.is_unused) or line.is_discount
    return is_time and not line.is_support and _INSTANCE_TIME.search(line.usage_type) is not None


def _shares(rows: list[Line], runs: Runs, tag_keys: list[str]) -> dict[tuple, Share]:
    """By tag and by the names that a record knows; empty where no pod has any."""
    found: dict[tuple, Share] = defaultdict(Share)
    for line in rows:
        tag = normalised(_own_tag(line, tag_keys))
        names = ["", "", ""]
        for full, is_pod in line.pod.names:
            if _named((full, is_pod), runs):
                names[2 if is_pod else int(full != _workload_of(line))] = full
        found[tag, *names].rows.append(line)
    return found if any(any(key) for key in found) else {}


def _workload_of(line: Line) -> str:
    return next((full for full, is_pod in line.pod.names if not is_pod), "")


def _weights(lines: list[Line], shares: dict[tuple, Share]) -> list[tuple[object, int]]:
    """Of each share, and of what no pod was given; nothing where the rows state nothing to divide by."""
    rows = [line for share in shares.values() for line in share.rows]
    usage = [line for line in lines if line.is_usage]
    whole = sum(line.stated for line in usage)
    listed = None if any(line.list_cost is None for line in usage) else sum(line.list_cost for line in usage)
    is_net = all(line.pod.is_net for line in rows)

    def by(kind: str) -> dict[tuple, int]:
        return {key: max(share.cost(kind), 0) for key, share in shares.items()}

    net, gross, on_demand = by("net_"), by(""), by("public_on_demand_")
    by_accelerators = any(line.pod.is_of_accelerators for line in rows)
    ratios = {key: share.ratio(by_accelerators) for key, share in shares.items()}
    if not usage:
        return []
    if is_net and sum(net.values()) > 0:
        weights, whole = net, whole
    elif not is_net and sum(gross.values()) > 0 and all(line.unblended == line.gross for line in usage):
        weights, whole = gross, whole
    elif sum(on_demand.values()) > 0 and listed is not None and listed > 0:
        weights, whole = on_demand, listed
    elif sum(ratios.values()) > 0:
        weights, whole = ratios, 10**RATIO
    else:
        return []
    left = (RESIDUAL, max(whole - sum(weights.values()), 0))
    return [(key, weight) for key, weight in [*sorted(weights.items()), left] if weight > 0]


def _parts(line: Line, shares: dict[tuple, Share], weights: list[tuple[object, int]], tag_keys: list[str]) -> Iterable[Line]:
    # what no pod was given comes last where a unit is left over
    numbered = [(RESIDUAL if key == RESIDUAL else f"{place:09d}", weight) for place, (key, weight) in enumerate(weights)]
    measures = ("billed", "effective", "list_cost", "contracted", "weight", "on_demand")
    amounts = {name: getattr(line, name) for name in measures}
    parts = {name: None if amount is None else split(amount, numbered) for name, amount in amounts.items()}
    for (key, _), (number, _) in zip(weights, numbered, strict=True):
        of_part = {name: None if found is None else found[number] for name, found in parts.items()}
        if key == RESIDUAL:
            yield replace(line, **of_part, allocation="unallocated", chip_share=Fraction(0))
            continue
        tag, *names = key
        of_pods = next((tag_line.tags for tag_line in shares[key].rows if tag and _own_tag(tag_line, tag_keys)), line.tags)
        known = [(name, place == len(names) - 1) for place, name in enumerate(names) if name]
        yield replace(line, **of_part, allocation="pod", allocated_names=known, tags=of_pods, chip_share=shares[key].chips)


def workloads_of(lines: Iterable[Line]) -> Workloads:
    """What the ways to write a workload fit in a month."""
    found: Workloads = defaultdict(set)
    for line in lines:
        for full, _ in line.allocated_names:
            for spelling in spellings(full):
                found[line.usage_month, spelling].add(full)
    return found


def claimants(line: Line, runs: Runs, workloads: Workloads) -> tuple[set[str], bool]:
    """Runs that name a pod of the part and ran at that time; and whether they name it alone."""
    found, is_alone = set(), True
    for full, is_pod in line.allocated_names:
        for system in ("kubernetes", *(("kubernetes_pod", "ecs_task") if is_pod else ())):
            for spelling in set(spellings(full)):
                for run in runs.runs_of_alias.get((system, spelling), ()):
                    start, end = runs.times.get(run, (line.start, line.end + 1))
                    if line.start < end and line.end > start:
                        found.add(run)
                        is_alone &= len(workloads[line.usage_month, spelling]) == 1
    return found, is_alone and len(found) < 2
