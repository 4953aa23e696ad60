"""SageMaker HyperPod: the detailed usage report of a cluster as run records, and the answers that give a cluster's name and ARN.

A task is a run, what it held without a pause an attempt, and each row of the report a holding of the cluster's machines of one
type. Which machines they were no report shows: the bill has none either. Read by the code that writes the report
(github.com/awslabs/sagemaker-hyperpod-usage-report at e71f39a, read 2026-11-29), whose columns repeat under a row of resources,
and by AWS's description of it, whose columns may name their resource; headers are compared by their letters alone. A summary
report has no tasks and is refused.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from connectors.formats.accelerators import accelerator_type_of, is_aws_accelerator
from connectors.runs.fields import listed, moment, needed, number
from connectors.runs.forms import grouped
from connectors.runs.pods import chips_of_cores
from connectors.runs.run_records import (
    CLUSTER_ARN,
    Document,
    RecordError,
    Row,
    in_millionths,
    in_order,
    machines_of,
    record_rows,
    state_of,
    workload_names,
)

_MOST = 1e9  # hours of a row
_NEVER = datetime(1, 1, 1)  # noqa: DTZ001 - times of rows are naive UTC


class Period(NamedTuple):
    """A row of a report."""

    start: datetime | None
    end: datetime | None
    row: dict[str, str]


def is_cluster(document: Document) -> bool:
    """Whether a document is an answer of DescribeCluster or ListClusters."""
    return "ClusterSummaries" in document or ("ClusterArn" in document and "ClusterName" in document)


def clusters_of(document: Document) -> list[Document]:
    """The clusters that an answer has."""
    return listed(document, "ClusterSummaries") if "ClusterSummaries" in document else [document]


def cluster_rows(document: Document) -> list[Row]:
    """Return the one row of a cluster: it is no run, and what it is called is known of its ARN."""
    arn = needed(document, "ClusterArn")
    if not CLUSTER_ARN.fullmatch(arn):
        raise RecordError("is no cluster of HyperPod", field="ClusterArn", value=arn, reason="wrong_value")
    system = "hyperpod_cluster"
    name = {"part": "alias", "alias_system": system, "alias_id": needed(document, "ClusterName")}
    return [{"record_system": system, "recorded_id": arn, **name}]


def is_usage_report(head: str) -> bool:
    """Whether a text is a usage report, by what is above its table."""
    return "Utilization Report" in head and "ClusterName" in head.replace(" ", "")


def usage_report_rows(lines: list[str], _: str) -> list[Row]:
    """Return the rows of all tasks. A task in another namespace is another run."""
    stated, header, table = _parts(list(csv.reader(lines)))
    kind = stated.get("reporttype") or stated.get("type") or ""
    if "summary" in kind.lower() or "task" not in header:
        raise RecordError("is a summary report, which names no task", field="Type", reason="unknown_record")
    named = (dict(zip(header, values, strict=False)) for values in table)
    tasks = grouped((row for row in named if row.get("task")), lambda row: (row.get("namespace", ""), row["task"]))
    cluster = stated.get("clustername") or ""
    name = cluster.rpartition("/")[2]  # a name, or an ARN that ends with the cluster's id
    rows: list[Row] = []
    for (space, task), found in tasks.items():
        team = next((row["team"] for row in found if row.get("team")), None)
        run = {"provider_name": "AWS", "team": team, "cluster_name": name or None}
        own_id, alias = workload_names(name if space else "", space, task)
        # a task that Kueue admitted has the name of its workload, which the annotations of its pods have too
        aliases = [("kubernetes", alias), ("kueue", f"{space}/{task}")]
        rows += record_rows("hyperpod", own_id, run, _periods(cluster, found), aliases)
    return rows


def _periods(cluster: str, rows: list[dict[str, str]]) -> Iterator[Row]:
    """Attempts and what they held. A report has a row for each day, and without Kueue for each pod: those that meet are one."""
    attempts: list[list[Period]] = []
    last: list[Period] = []  # to end, of each attempt
    for period in sorted((Period(*_times(row), row) for row in rows), key=lambda period: period.start or _NEVER):
        if not attempts or not _goes_on(last[-1], period.start):
            attempts.append([])
            last.append(period)
        attempts[-1].append(period)
        if (period.end or _NEVER) >= (last[-1].end or _NEVER):
            last[-1] = period
    for place, (periods, ending) in enumerate(zip(attempts, last, strict=True)):
        attempt_id = str(place + 1)
        times = in_order(periods[0].start, ending.end, "Period End")
        yield {"part": "attempt", "attempt_id": attempt_id, "state": _state(ending.row), **times}
        yield from _held(cluster, attempt_id, periods)


def _goes_on(last: Period, start: datetime | None) -> bool:
    """Whether a period that begins then is of the same attempt: they meet, or the day of a running one ended between them."""
    if not start or not last.end:
        return False
    is_cut = last.end.time() == _NEVER.time() and _state(last.row) == "running"
    return start <= last.end or (is_cut and start - last.end < timedelta(days=1))


def _held(cluster: str, attempt_id: str, periods: list[Period]) -> Iterator[Row]:
    """The machines of each type. Two pods of one size over one time hold twice as much: equal rows would be read as one."""
    found: dict[tuple[str, datetime, datetime], Fraction] = {}
    for start, end, row in periods:
        type_ = accelerator_type_of(row.get("instancetype") or row.get("instance"))
        if not cluster or not type_ or not is_aws_accelerator(type_) or not start or not end or end <= start:
            continue
        if chips := _chips(row, type_, end - start):
            found[type_, start, end] = found.get((type_, start, end), Fraction(0)) + chips
    for (type_, start, end), chips in found.items():
        times = in_order(start, end, "Period End")
        held = {"accelerator_type": type_, "chips": in_millionths(chips), "node_count": 1}
        yield {"part": "node", "attempt_id": attempt_id, "resource_id": machines_of(cluster, type_), **held, **times}


def _chips(row: dict[str, str], type_: str, period: timedelta) -> Fraction:
    """Chips that a task held: GPUs, else those of its NeuronCores."""
    gpus = _count(row, "gpu", period)
    if gpus:
        return gpus
    cores = _count(row, "neuron", period)
    return Fraction(chips_of_cores(math.ceil(cores), type_)) if cores else Fraction(0)


def _count(row: dict[str, str], resource: str, period: timedelta) -> Fraction | None:
    """How many of a resource a task had all along: as counted, where the hours agree, else a whole number by its hours.

    A task that grew or shrank in its period had another number at each time: its hours over the period are their mean.
    """
    of_it = [name for name in row if "totalutilization" in name and resource in name]
    counted = next((_number(row, name) for name in of_it if "count" in name), None)
    hours = next((_number(row, name) for name in of_it if "count" not in name), None)
    if hours is None:
        return counted
    seconds = max(round(period.total_seconds()), 1)
    mean = hours * 3600 / seconds
    near = Fraction(round(mean)) if counted is None else counted
    # hours have two decimals, and the period whole seconds
    return near if abs(mean - near) <= (18 + 2 * near) / seconds else mean


def _number(row: dict[str, str], name: str) -> Fraction | None:
    found = number(row, name)
    if found is not None and not 0 <= found < _MOST:
        raise RecordError("is no number of hours", field=name, value=found)
    return None if found is None else Fraction(str(found))


def _state(row: dict[str, str]) -> str:
    """How a period ended. Kueue calls a task Finished that succeeded, and one that failed."""
    word = (row.get("status") or "").strip()
    return "unknown" if word.lower() == "finished" else state_of(word)


def _times(row: dict[str, str]) -> tuple[datetime | None, datetime | None]:
    """Start and end of a period. What ran until the end of its day ends at 00:00:00, which is the day after."""
    start, end = _time(row, "periodstart"), _time(row, "periodend")
    if end and start and end <= start and re.fullmatch(r"0?0:00(:00)?", row["periodend"], re.ASCII):
        end += timedelta(days=1)
    in_order(start, end, "Period End")
    return start, end


def _time(row: dict[str, str], name: str) -> datetime | None:
    """A period's time: whole, or a time of the row's day."""
    value = row.get(name) or ""
    if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", value, re.ASCII):
        value = f"{row.get('date', '')}T{value.zfill(8) if value.count(':') == 2 else value.zfill(5)}Z"
    return moment({name: value or None}, name)


def _parts(rows: list[list[str]]) -> tuple[dict[str, str], list[str], list[list[str]]]:
    """What is above the table, its header, and its rows."""
    stated: dict[str, str] = {}
    for place, row in enumerate(rows):
        names = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in row]
        if "namespace" in names and len(names) > 3:
            return stated, _named(names, rows[place - 1] if place else []), rows[place + 1 :]
        # "ClusterName,a" or "Cluster Name: a"
        parts = [part.strip() for part in (row if len(row) > 1 else ":".join(row).partition(":")[::2])]
        if len(parts) > 1:
            stated.setdefault(re.sub(r"[^a-z]", "", parts[0].lower()), parts[1])
    return stated, [], []


def _named(names: list[str], above: list[str]) -> list[str]:
    """Columns that repeat are those of NeuronCores, of GPUs and of CPUs, in the order of the row above them."""
    groups = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in above if name.strip()]
    seen: dict[str, int] = {}
    found = []
    for name in names:
        place = seen.get(name, 0)
        seen[name] = place + 1
        found.append(f"{groups[place]}{name}" if names.count(name) > 1 and place < len(groups) else name)
    return found
