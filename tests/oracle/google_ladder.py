"""Whose a row of Google's bill is: job, pipeline, workload, label, resource x time, cluster; and the one reason of the rest."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date

from .accelerators import is_unrecorded
from .google_clusters import CLUSTER, NEVER_A_RUNS, spellings
from .google_lines import GoogleLine
from .ladder import WHOLE, Claim, Part, billed_time, in_its_month, is_held_in_its_month, share_out
from .overlap import occupation, weights
from .records import Runs, Window
from .splitting import RESIDUAL

_CUSTOM_JOB = re.compile(r"projects/[^/]+/locations/[^/]+/customJobs/[0-9]+")


def jobs_of(line: GoogleLine) -> list[str]:
    return [found[0] for name in (line.global_name, line.resource_name) if (found := _CUSTOM_JOB.search(name))]


def _job_run(line: GoogleLine, runs: Runs) -> str | None:
    return next((runs.run_of_job[job] for job in jobs_of(line) if job in runs.run_of_job), None)


Workloads = dict[tuple[date, str], set[str]]  # month and a way to write a workload -> the workloads that it fits


def workloads_of(lines: Iterable[GoogleLine]) -> Workloads:
    found: Workloads = defaultdict(set)
    for line in lines:
        for full in _workloads(line):
            for spelling in spellings(full):
                found[line.usage_month, spelling].add(full)
    return found


def _workloads(line: GoogleLine) -> list[str]:
    is_counted = line.is_usage and not line.is_unused
    return [f"{line.sub_account_id}/{name}" for name in line.allocation.names] if is_counted else []


def _claimants(line: GoogleLine, runs: Runs, workloads: Workloads) -> tuple[set[str], bool]:
    """Runs that name the row's workload and ran at that time; and whether they name it alone."""
    found, is_alone = set(), True
    for spelling in {spelling for full in _workloads(line) for spelling in spellings(full)}:
        for run in runs.runs_of_alias.get(("kubernetes", spelling), ()):
            start, end = runs.times.get(run, (line.start, line.end + 1))
            if line.start < end and line.end > start:
                found.add(run)
                is_alone &= len(workloads[line.usage_month, spelling]) == 1
    return found, is_alone and len(found) < 2


def label_of(line: GoogleLine, tag_keys: list[str]) -> str:
    """Labels are lower-case and cannot be separated from their keys with dashes, so both spellings count; a pod's goes first."""
    for key in tag_keys:
        names = (key, key.lower(), key.replace("_", "-"), key.lower().replace("_", "-"))
        for spelling in [*(f"k8s-label/{name}" for name in names), *names]:
            if value := line.labels.get(spelling):
                return value
    return ""


def _labelled_run(line: GoogleLine, runs: Runs, tag_keys: list[str]) -> str | None:
    label = label_of(line, tag_keys)
    return runs.of_tag(label, line.usage_month) if label else None


def _holders(line: GoogleLine, runs: Runs) -> tuple[list[Window], int]:
    """Who held the machine then, else its pool, its reservation, its cluster; and how wide that is."""
    widths = dict.fromkeys(line.machines, 0)
    held = {
        window: widths.get(name, line.wider.get(name))
        for name in line.held_names
        for window in runs.windows.get(name, ())
        if window.start < in_its_month(line) and window.end > line.start
    }
    least = min(held.values(), default=0)
    return [window for window, breadth in held.items() if breadth == least], least


def claim(line: GoogleLine, runs: Runs, tag_keys: list[str], workloads: Workloads) -> Claim:
    nobody = Claim(None, [(RESIDUAL, WHOLE)], residual_reason(line, runs))
    unclear = Claim(None, [(RESIDUAL, WHOLE)], "unattributed")
    if not line.is_usage or line.is_unused or line.allocation.namespace in NEVER_A_RUNS:
        return nobody
    holders, breadth = _holders(line, runs)
    of_pipeline = runs.runs_of_alias.get(("vertex", line.allocation.pipeline), set())
    claimants, is_alone = _claimants(line, runs, workloads)
    if run := _job_run(line, runs) or (min(of_pipeline) if len(of_pipeline) == 1 else None):
        return unclear if run in runs.ambiguous else Claim("managed_job", [(run, WHOLE)], None)
    if claimants and is_alone:
        return Claim("split_allocation", [(min(claimants), WHOLE)], None)
    if run := _labelled_run(line, runs, tag_keys):
        if run in runs.ambiguous:
            return unclear
        others = {window.run for window in holders} - {run} if breadth != CLUSTER else set()
        has_own = any(window.run == run for window in holders)
        if not others or (line.allocation.is_pod and has_own):
            return Claim("tag", [(run, WHOLE)], None)
    if not holders:
        return unclear if of_pipeline or claimants else nobody
    sizes = runs.sizes.get(line.usage_month, {})
    shares = occupation(holders, line.start, in_its_month(line), line.instance_type, sizes)
    return Claim("cluster_key" if breadth == CLUSTER else "resource_time", weights(shares, billed_time(line)), nobody.reason)


def residual_reason(line: GoogleLine, runs: Runs) -> str:
    if line.cost_type == "tax":
        return "tax"
    if line.is_support:
        return "support"
    if line.cost_type == "rounding_error":
        return "rounding"
    if line.component == "credit":
        return "credit"
    if line.is_fee:
        return "unused_commitment"
    if not line.is_usage:
        return "provider_adjustment"
    if line.is_unused:
        return "unused_commitment"
    if line.allocation.namespace == "kube:unallocated":
        return "idle"
    if is_unrecorded(line, runs):
        return "no_record"
    if line.allocation.namespace in NEVER_A_RUNS or line.allocation.is_told_unknown:
        return "unlogged"
    is_held = is_held_in_its_month(line, line.held_names, runs)
    if line.component == "accelerator" and not line.allocation.is_pod and is_held:
        return "idle"
    if not line.sub_account_id:
        return "no_project"
    return "unlogged" if line.component == "accelerator" else "non_accelerator"


def parts_of(lines: list[GoogleLine], runs: Runs, tag_keys: list[str]) -> Iterator[Part]:
    workloads = workloads_of(lines)
    for line in lines:
        yield from share_out(line, claim(line, runs, tag_keys, workloads), runs)
