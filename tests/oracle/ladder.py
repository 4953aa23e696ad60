"""Whose a bill row is: the evidence ladder (managed job, tag, resource x time) and, for what is left, the one reason why."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .accelerators import is_unrecorded
from .aws_pods import Workloads, claimants, workloads_of
from .hyperpod import machine_time
from .lines import Line
from .months import bounds, month_after
from .overlap import occupation, weights
from .records import Runs, Window
from .splitting import RESIDUAL, split

WHOLE = 1


@dataclass(frozen=True)
class Claim:
    """Weights of runs and residual for one row, the rung that decided and the reason of the residual."""

    rule: str | None
    parts: list[tuple[str, int]]
    reason: str | None


@dataclass(frozen=True)
class Part:
    line: Line
    run: str  # or the residual
    component: str
    rule: str | None
    reason: str | None
    billed: int
    effective: int
    list_cost: int | None
    contracted: int | None
    weight: int
    on_demand: int | None


def _managed_job(line: Line, runs: Runs) -> str | None:
    if not line.resource_id:
        return None
    return runs.run_of_job.get(line.resource_id)


def _tagged_run(line: Line, runs: Runs, tag_keys: Iterable[str]) -> str | None:
    for key in () if line.is_reserved_time else tag_keys:
        if found := [(tag.rank, tag.value) for tag in line.tags if tag.is_of(key)]:
            return runs.of_tag(min(found)[1], line.usage_month)
    return None


def _holders(names: Iterable[str], line: Line, runs: Runs) -> list[Window]:
    windows = [window for name in names if name for window in runs.windows.get(name, ())]
    return [window for window in windows if window.start < in_its_month(line) and window.end > line.start]


def in_its_month(line: Line) -> int:
    """What happens after the month of a row's use is no evidence of the row."""
    return min(line.end, month_after(line.usage_month))


def billed_time(line: Line) -> int:
    """Of a row without hours the interval, as far as it lies in its month."""
    return in_its_month(line) - line.start if line.usage_us == line.end - line.start else line.usage_us


def is_held_in_its_month(line: Line, names: Iterable[str], runs: Runs) -> bool:
    return not runs.held_between(*bounds(line.usage_month))[0].isdisjoint(names)


def _by_time(line: Line, holders: list[Window], runs: Runs) -> Claim:
    shares = occupation(holders, line.start, in_its_month(line), line.instance_type, runs.sizes.get(line.usage_month, {}))
    return Claim("resource_time", weights(shares, billed_time(line)), residual_reason(line, runs))


def _by_cluster(line: Line, holders: list[Window], runs: Runs) -> Claim:
    """Of a cluster of HyperPod a bill has the machines of a type together, and so has this."""
    shares = machine_time(holders, line.start, in_its_month(line), line.instance_type)
    return Claim("cluster_key", weights(shares, line.machine_us), residual_reason(line, runs))


def claim(line: Line, runs: Runs, tag_keys: list[str], workloads: Workloads) -> Claim:
    """The first rung that fits."""
    nobody = Claim(None, [(RESIDUAL, WHOLE)], residual_reason(line, runs))
    if not (line.is_usage or line.is_discount) or line.is_support or (line.is_usage and line.is_unused):
        return nobody
    if line.allocation == "unallocated":
        return nobody
    holders = _holders([line.resource_id], line, runs)
    named_by, is_alone = claimants(line, runs, workloads)
    if named_by and is_alone:
        return Claim("split_allocation", [(min(named_by), WHOLE)], None)
    for rule, run in (("managed_job", _managed_job(line, runs)), ("tag", _tagged_run(line, runs, tag_keys))):
        if run is None:
            continue
        if run in runs.ambiguous:
            return Claim(None, [(RESIDUAL, WHOLE)], "unattributed")
        is_beside = line.allocation == "pod" and any(window.run == run for window in holders)
        if rule == "tag" and not is_beside and any(window.run != run for window in holders):
            break  # others held it at that time, so time decides
        return Claim(rule, [(run, WHOLE)], None)
    if holders:
        return _by_time(line, holders, runs)
    if named_by:
        return Claim(None, nobody.parts, "unattributed")
    of_cluster = _holders(line.of_cluster, line, runs)
    return _by_cluster(line, of_cluster, runs) if of_cluster else nobody


def residual_reason(line: Line, runs: Runs) -> str:
    if line.is_pod:
        return "unattributed"
    if line.kind == "Tax":
        return "tax"
    if line.is_support:
        return "support"
    if line.is_block_fee or line.purchase:
        return "unused_commitment"
    if line.kind in ("Credit", "Refund"):
        return line.kind.lower()
    if line.kind.startswith("SavingsPlan") and line.kind.endswith("Fee"):
        return "unused_commitment"
    if line.kind == "RIFee" or (line.kind == "Fee" and line.reservation_arn):
        return "unused_commitment"
    if line.kind.endswith("Fee") or line.kind == "Adjustment":
        return "provider_adjustment"
    if line.is_usage and line.is_unused:
        return "unused_commitment"
    if not line.is_usage:  # a discount of a machine would make its idle hours negative
        return "unattributed"
    if line.allocation == "unallocated":
        return "idle"
    if is_unrecorded(line, runs):
        return "no_record"
    if (
        line.component == "accelerator"
        and not line.is_host
        and line.allocation != "pod"
        and (line.is_block_hour or is_held_in_its_month(line, [line.resource_id, *line.of_cluster], runs))
    ):
        return "idle"
    return "unlogged" if line.component == "accelerator" else "non_accelerator"


def share_out(line: Line, decided: Claim, runs: Runs) -> Iterator[Part]:
    """The row's measures, each split exactly by the same weights. Nobody gets a part of weight 0.

    A promotion inside the row goes the same way, as a credit that has no price and no weight.
    """
    weighty = [(key, weight) for key, weight in decided.parts if weight > 0] or [(RESIDUAL, WHOLE)]
    amounts = (line.billed, line.effective, line.list_cost, line.contracted, line.weight, line.promotion, line.on_demand)
    measures = [None if amount is None else split(amount, weighty) for amount in amounts]
    for key, _ in weighty:
        billed, effective, list_cost, contracted, weight, promotion, on_demand = (m if m is None else m[key] for m in measures)
        run, rule, reason = key, decided.rule, None
        if key == RESIDUAL:
            rule, reason = None, decided.reason
        elif key in runs.ambiguous:  # it held its chips, so no other run did, but it is unknown whose it is
            run, rule, reason = RESIDUAL, None, "unattributed"
        yield Part(line, run, line.component, rule, reason, billed, effective, list_cost, contracted, weight, on_demand)
        if promotion is not None:
            yield Part(line, run, "credit", rule, reason, promotion, 0, 0, 0, 0, 0)


def parts_of(lines: Iterable[Line], runs: Runs, tag_keys: list[str]) -> Iterator[Part]:
    lines = list(lines)
    workloads = workloads_of(lines)
    for line in lines:
        if line.kind != "SavingsPlanNegation":
            yield from share_out(line, claim(line, runs, tag_keys, workloads), runs)
