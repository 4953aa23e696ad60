"""Slurm's accounting as run records: `sacct --json` of all parsers (numbers, and {set, infinite, number}) and `sacct -P`.

A file holds many jobs. A task of an array is a run; the parts of a heterogeneous job are one run; a job that was queued again is
one run of several attempts. The run's id is the one that its comment names (`training_run_id=...`), else the job's number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.costs import spend
from connectors.runs.fields import inner, listed, moment, text
from connectors.runs.host_lists import hosts_of
from connectors.runs.run_records import Document, RecordError, Row, in_order, record_rows, state_of
from connectors.runs.slurm_energy import Step, joules_of, readings_of

SYSTEM = "slurm"
_STEPS = 10  # steps of a machine that cost as much as one row
_RUN = re.compile(r"(?:^|[\s,;{\"'])(?:training_run_id|run_id|run)[\"']?\s*[=:]\s*[\"']?([^\s,;}\"']+)")
_STATES = {
    "boot_fail": "failed",
    "deadline": "failed",
    "requeued": "interrupted",
    "requeue_hold": "interrupted",
    "revoked": "stopped",
    "completing": "running",
    "resizing": "running",
    "signaling": "running",
    "stage_out": "running",
}
# generic resources that hold chips; `neuroncore` counts cores, of which a chip has a number that is not known here
_CHIPS = ("gpu", "neuron", "neurondevice", "neuron_device", "tpu")


def is_sacct(document: Document) -> bool:
    """Whether a document is an answer of `sacct --json` or of slurmdb in slurmrestd."""
    jobs = document.get("jobs")
    return isinstance(jobs, list) and any(isinstance(job, dict) and "job_id" in job and "tres" in job for job in jobs)


def runs_of(documents: list[Document]) -> Iterator[list[Document]]:
    """The jobs of all documents by run: an array's task by itself, parts of a heterogeneous job and attempts together."""
    found: dict[tuple[str, str], list[Document]] = {}
    for document in documents:
        for place, job in enumerate(document["jobs"]):
            if isinstance(job, dict):
                try:
                    name = _job_name(job)
                except RecordError:
                    name = f"job {place}"  # refused by itself, when it is read
                found.setdefault((str(job.get("cluster") or ""), name), []).append(job)
    yield from found.values()


def slurm_rows(jobs: list[Document], _: str = "") -> list[Row]:
    """Return the rows of one run."""
    first = jobs[0]
    name = _job_name(first)
    comment = _comment(first)
    match = _RUN.search(comment)
    numbers = dict.fromkeys([name, *(str(_whole(job.get("job_id"), "job_id")) for job in jobs)])
    run = {
        "team": _word(first, "account") or _word(inner(first, "association"), "account"),
        "workload_key": _word(inner(first, "wckey"), "wckey").lstrip("*") or None,
        "cluster_name": _word(first, "cluster") or None,
    }
    rows = (row for attempt_id, parts in _attempts(jobs) for row in _attempt_rows(attempt_id, parts))
    return record_rows(SYSTEM, match[1] if match else name, run, rows, [(SYSTEM, number) for number in numbers])


def _attempts(jobs: list[Document]) -> Iterator[tuple[str, list[Document]]]:
    """The attempts in the order of their starts, each with its start as its name: one file may hold the last of them alone.

    Parts of a heterogeneous job have one number each; their first starts are one attempt.
    """
    by_part: dict[int, list[Document]] = {}
    for job in jobs:
        by_part.setdefault(_whole(job.get("job_id"), "job_id"), []).append(job)
    attempts: dict[int, list[Document]] = {}
    for part in by_part.values():
        for place, job in enumerate(sorted(part, key=lambda job: _seconds(job, "start") or _seconds(job, "submission"))):
            attempts.setdefault(place, []).append(job)
    for parts in attempts.values():
        starts = [start for start, _ in map(_times, parts) if start]
        yield (f"{min(starts).isoformat()}Z" if starts else "waiting"), parts


def _seconds(job: Document, name: str) -> float:
    return _number(inner(job, "time").get(name)) or 0


def _attempt_rows(attempt_id: str, parts: list[Document]) -> Iterator[Row]:
    state = _state(parts[0])
    times = [_ended(part, _times(part), state) for part in parts]
    starts = [start for start, _ in times if start]
    ends = [end for _, end in times]
    whole = in_order(min(starts, default=None), None if None in ends else max(end for end in ends if end), "time.end")
    yield {"part": "attempt", "attempt_id": attempt_id, "state": state, **whole}
    for part, (start, end) in zip(parts, times, strict=True):
        nodes = tuple(hosts_of(_word(part, "nodes")))
        if not nodes or start is None:
            continue  # it never ran
        own = in_order(start, end, "time.end")
        type_, chips = _chips(part, len(nodes))
        held = {"part": "node", "attempt_id": attempt_id, "accelerator_type": type_, "chips": chips, "node_count": 1, **own}
        yield from (held | {"resource_id": node} for node in nodes)
        job = Step("job", start, end, nodes, joules_of(_tres(part).get(("energy", ""))))
        spend(len(nodes) * len(listed(part, "steps")) // _STEPS, "steps")  # each step may be of every machine
        for reading in readings_of(_steps(part), nodes, job):
            # joules of a part are of its own machines: without a name they would be those of all parts
            names: tuple[str | None, ...] = nodes if reading.node is None and len(parts) > 1 else (reading.node,)
            share, rest = divmod(reading.joules, len(names))
            for place, name in enumerate(names):
                yield {
                    "part": "reading",
                    "attempt_id": attempt_id,
                    "resource_id": name,
                    "started_at": reading.started_at,
                    "ended_at": reading.ended_at,
                    "energy_j": float(share + (place < rest)),
                    "meter": SYSTEM,
                }


def _steps(job: Document) -> Iterator[Step]:
    for step in listed(job, "steps"):
        identity = inner(step, "step")
        label = identity.get("id")
        label = label.get("step_id") if isinstance(label, dict) else label
        nodes = inner(step, "nodes")
        named = nodes.get("list")
        names = ",".join(map(str, named)) if isinstance(named, list) else named or nodes.get("range") or ""
        start, end = _times(step)
        energy = inner(inner(step, "statistics"), "energy")
        # 4164.batch, 4164+1.0, 0; of another word its name
        word = str(label if label is not None else identity.get("name") or "").rpartition(".")[2]
        yield Step(word, start, end, tuple(hosts_of(str(names), "steps.nodes")), joules_of(_number(energy.get("consumed"))))


def _tres(job: Document) -> dict[tuple[str, str], int | float]:
    """What a job was given, by type and name."""
    return {
        (str(one.get("type") or "").lower(), str(one.get("name") or "").lower()): number
        for one in listed(job, "tres", "allocated")
        if (number := _number(one.get("count"))) is not None
    }


def _chips(job: Document, nodes: int) -> tuple[str | None, int | None]:
    """Type and chips of one machine. `gres/gpu` counts what `gres/gpu:h100` counts by type."""
    given = {name: count for (type_, name), count in _tres(job).items() if type_ == "gres"}
    for kind in _CHIPS:
        typed = {name.partition(":")[2]: count for name, count in given.items() if name.startswith(f"{kind}:")}
        total = given.get(kind, sum(typed.values()))
        if total:
            type_ = accelerator_type_of(next(iter(typed))) if len(typed) == 1 else None
            # machines that hold unequal numbers are not known apart here: those of the catalogue count
            return type_, int(total) // nodes if total % nodes == 0 else None
    return None, None


def _times(record: Document) -> tuple[datetime | None, datetime | None]:
    found = inner(record, "time")
    return _moment(found.get("start"), "time.start"), _moment(found.get("end"), "time.end")


def _ended(job: Document, times: tuple[datetime | None, datetime | None], state: str) -> tuple[datetime | None, datetime | None]:
    """A job that is over without a time of its end took `elapsed`; otherwise it would hold its machines for ever."""
    elapsed = _number(inner(job, "time").get("elapsed"))
    if times[0] is None or times[1] is not None or state in ("running", "unknown") or elapsed is None or not 0 <= elapsed < 2**31:
        return times
    return times[0], times[0] + timedelta(seconds=elapsed)


def _moment(value: Any, field: str) -> datetime | None:
    """Seconds since 1970; 0, and what is not set, say that there is no time."""
    seconds = _number(value)
    return None if seconds in (2**32 - 1, 2**32 - 2) else moment({field: seconds}, field)


def _state(job: Document) -> str:
    """The state; newer parsers write a list: a job that completes and is queued again has both words."""
    found = inner(job, "state").get("current") if isinstance(job.get("state"), dict) else job.get("state")
    words = [
        word.split()[0].lower() for word in (found if isinstance(found, list) else [found]) if isinstance(word, str) and word
    ]
    states = [_STATES.get(word) or state_of(word) for word in words]
    return next((state for state in states if state != "unknown"), "unknown")


def _job_name(job: Document) -> str:
    """The number that people use: 4164, 4164_7 of an array's task, the leader's of a heterogeneous job."""
    number = _whole(job.get("job_id"), "job_id")
    array, het = inner(job, "array"), inner(job, "het")
    task, leader = _number(array.get("task_id")), _number(het.get("job_id"))
    if task is not None and (master := _number(array.get("job_id"))):
        return f"{int(master)}_{int(task)}"
    return str(int(leader) if leader else number)


def _comment(job: Document) -> str:
    found = job.get("comment")
    texts: Iterable[Any] = (
        (found.get(name) for name in ("job", "administrator", "system")) if isinstance(found, dict) else [found]
    )
    return " ".join(one for one in (*texts, job.get("extra")) if isinstance(one, str))


def _number(value: Any) -> int | float | None:
    """A number by itself, or as {set, infinite, number}; None where it is not set or infinite."""
    if isinstance(value, dict):
        if value.get("set") is False or value.get("infinite") is True:
            return None
        value = value.get("number")
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str) and re.fullmatch(r"\d{1,19}", value, re.ASCII):
        return int(value)
    if not isinstance(value, int | float) or value != value:
        raise RecordError("is no number", value=value)
    return value


def _whole(value: Any, field: str) -> int:
    number = _number(value)
    if number is None or not 0 <= number < 2**53:
        raise RecordError("is no number of a job", field=field, value=value, reason="wrong_type" if value else "missing_value")
    return int(number)


def _word(record: Document, name: str) -> str:
    return (text(record, name) or "").strip()
