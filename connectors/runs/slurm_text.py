"""`sacct -P` as the jobs that `sacct --json` has: a line for each job, and lines with a dot in their number for its steps.

Its times have no zone: they are those of whoever asked, so ask with TZ=UTC, or with SLURM_TIME_FORMAT=%s.
"""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import datetime

from connectors.runs.fields import whole
from connectors.runs.run_records import Document, RecordError, Row, time_of
from connectors.runs.slurm import runs_of, slurm_rows

_NUMBER = re.compile(r"(\d+)(?:_(\d+)|\+(\d+))?(?:\.(.+))?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - times of records are naive UTC
_DIGITS = re.compile(r"\d+", re.ASCII)
_NO_TIME = {"", "none", "unknown", "n/a"}


def is_sacct_text(head: str) -> bool:
    """Whether a text begins with the header of `sacct -P`."""
    names = head.partition("\n")[0].strip().split("|")
    return "JobID" in names and {"Start", "State"} <= set(names)


def sacct_text_rows(lines: list[str], key: str) -> list[Row]:
    """Return the rows of all jobs of a table."""
    names = lines[0].strip().split("|")
    jobs: dict[str, list[Document]] = {}  # the attempts of each number
    for number, line in enumerate(lines[1:], start=1):
        if not line.strip():
            continue
        values = line.rstrip("\r\n").split("|")
        if len(values) != len(names):
            what = f"has {len(values)} values under {len(names)} names in row {number}"
            raise RecordError(what, field="JobID", value=values[0], reason="slipped_columns")
        row = defaultdict(str, {name: value.strip() for name, value in zip(names, values, strict=True)})
        match = _NUMBER.fullmatch(row["JobID"])
        if not match:
            continue  # 4164_[8-20], tasks that still wait
        name = row["JobID"].partition(".")[0]
        if match[4] is None:
            jobs.setdefault(name, []).append(_job(row, match))
        elif name in jobs:
            jobs[name][-1]["steps"].append(_step(row, match[4]))
    found = [job for attempts in jobs.values() for job in attempts]
    return [row for run in runs_of([{"jobs": found}]) for row in slurm_rows(run)]


def _job(row: dict[str, str], match: re.Match[str]) -> Document:
    raw, leader = row["JobIDRaw"].partition(".")[0], whole(match[1], "JobID")
    return {
        "job_id": whole(raw, "JobIDRaw") if _DIGITS.fullmatch(raw) else leader,
        "array": {"job_id": leader, "task_id": whole(match[2], "JobID")} if match[2] else {},
        "het": {"job_id": leader} if match[3] else {},
        "cluster": row["Cluster"],
        "account": row["Account"],
        "comment": {"job": row["Comment"], "administrator": row["AdminComment"]},
        "wckey": {"wckey": row["WCKey"]},
        "time": _times(row, {"submission": "Submit", "start": "Start", "end": "End"}),
        "nodes": row["NodeList"],
        "state": {"current": [row["State"]]},
        "tres": {"allocated": _tres(row["AllocTRES"])},
        "steps": [],
    }


def _step(row: dict[str, str], label: str) -> Document:
    joules = row["ConsumedEnergyRaw"]
    return {
        "step": {"id": label},
        "time": _times(row, {"start": "Start", "end": "End"}),
        "nodes": {"list": row["NodeList"]},
        "statistics": {"energy": {"consumed": joules if re.fullmatch(r"\d{1,19}", joules, re.ASCII) else None}},
    }


def _tres(text: str) -> list[Document]:
    """`cpu=8,energy=1200,gres/gpu:h100=8,mem=64G`: what has a whole number."""
    found = []
    for part in text.split(","):
        name, _, number = part.partition("=")
        if _DIGITS.fullmatch(number):
            type_, _, resource = name.partition("/")
            found.append({"type": type_, "name": resource, "count": whole(number, "AllocTRES")})
    return found


def _times(row: dict[str, str], names: dict[str, str]) -> Document:
    return {name: _seconds(row[column], column) for name, column in names.items()}


def _seconds(text: str, name: str) -> float | int | None:
    if text.lower() in _NO_TIME:
        return None
    if _DIGITS.fullmatch(text):
        return whole(text, name)
    moment = time_of(text, name)
    return None if moment is None else (moment - _EPOCH).total_seconds()
