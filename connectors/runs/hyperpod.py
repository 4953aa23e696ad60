"""The detailed usage report of SageMaker HyperPod as run records: a task is a run, each of its periods an attempt.

Written from Amazon's description of the report, which names its columns and not how their headers are spelt: from the schema, not
yet seen in the wild. Headers are compared by their letters alone. A summary report has no tasks and is refused.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from datetime import datetime

from connectors.formats.accelerators import accelerator_type_of
from connectors.runs.fields import moment, number
from connectors.runs.forms import grouped
from connectors.runs.run_records import RecordError, Row, in_order, record_rows, state_of, workload_names


def is_usage_report(head: str) -> bool:
    """Whether a text is a usage report, by what is above its table."""
    return "Utilization Report" in head and "ClusterName" in head.replace(" ", "")


def usage_report_rows(lines: list[str], _: str) -> list[Row]:
    """Return the rows of all tasks. A task in another namespace is another run."""
    stated, header, table = _parts(list(csv.reader(lines)))
    if "summary" in stated.get("type", "").lower() or "task" not in header:
        raise RecordError("is a summary report, which names no task", field="Type", reason="unknown_record")
    named = (dict(zip(header, values, strict=False)) for values in table)
    tasks = grouped((row for row in named if row.get("task")), lambda row: (row.get("namespace", ""), row["task"]))
    rows: list[Row] = []
    for (space, task), found in tasks.items():
        team = next((row["team"] for row in found if row.get("team")), None)
        run = {"provider_name": "AWS", "team": team, "cluster_name": stated.get("clustername")}
        cluster = (stated.get("clustername") or "").rpartition("/")[2] if space else ""  # a name, or an ARN that ends with it
        own_id, alias = workload_names(cluster, space, task)
        rows += record_rows("hyperpod", own_id, run, _periods(task, found), [("kubernetes", alias)])
    return rows


def _periods(task: str, periods: list[dict[str, str]]) -> Iterator[Row]:
    for number_, row in enumerate(sorted(periods, key=lambda row: (row.get("date", ""), row.get("periodstart", "")))):
        start, end = _time(row, "periodstart"), _time(row, "periodend")
        attempt = {"attempt_id": str(number_ + 1), **in_order(start, end, "Period End")}
        yield attempt | {"part": "attempt", "state": state_of(row.get("status"))}
        gpus = _gpus(row, start, end)
        if start and gpus:  # a report counts hours of neuron cores without saying how many of them are a chip
            type_ = accelerator_type_of(row.get("instancetype") or row.get("instance"))
            yield attempt | {"part": "node", "resource_id": task, "accelerator_type": type_, "chips": gpus, "node_count": 1}


def _gpus(row: dict[str, str], start: datetime | None, end: datetime | None) -> int | None:
    """The GPUs that a task held, where the hours it used are a whole number of them for its whole period."""
    name = next((name for name in row if name.startswith("totalutilization") and "gpu" in name), None)
    hours = number(row, name) if name else None
    if not hours or not start or not end or end <= start:
        return None
    found = hours * 3600 / (end - start).total_seconds()
    if not math.isfinite(found):
        raise RecordError("is no number of hours", field=name, value=hours)
    return round(found) if round(found) >= 1 and abs(found - round(found)) < 0.02 else None


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
            return stated, names, rows[place + 1 :]
        # "ClusterName,a" or "ClusterName: a"
        parts = [part.strip() for part in (row if len(row) > 1 else ":".join(row).partition(":")[::2])]
        if len(parts) > 1:
            stated.setdefault(re.sub(r"[^a-z]", "", parts[0].lower()), parts[1])
    return stated, [], []
