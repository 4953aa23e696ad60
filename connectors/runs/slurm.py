"""Slurm's accounting as run records: `sacct --json` of all parsers (numbers, and {set, infinite, number}) and `sacct -P`.

A file holds many jobs. A task of an array is a run; the parts of a heterogeneous job are one run; a job that was queued again is
one run of several attempts. The run's id is the one that its comment names (`training_run_id=...`), else the job's number with
its cluster before it: every cluster counts from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.costs import spend
from connectors.runs.fields import first, inner, last, listed, moment, text
from connectors.runs.forms import grouped
from connectors.runs.host_lists import hosts_of
from connectors.runs.run_records import Document, RecordError, Row, in_millionths, in_order, number_in, record_rows, state_of
from connectors.runs.shares import mig_part, without_profile
from connectors.runs.slurm_energy import TOGETHER, Step, joules_of, readings_of

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
    job = jobs[0]
    name = _job_name(job)
    match = _RUN.search(_comment(job))
    cluster = _word(job, "cluster")
    numbers = dict.fromkeys([name, *(str(_whole(job.get("job_id"), "job_id")) for job in jobs)])
    names = [number_in(cluster, number) for number in numbers]
    run = {
        "team": _word(job, "account") or _word(inner(job, "association"), "account"),
        "workload_key": _word(inner(job, "wckey"), "wckey").lstrip("*") or None,
        "cluster_name": cluster or None,
    }
    rows = (row for attempt_id, parts in _attempts(jobs) for row in _attempt_rows(attempt_id, parts))
    return record_rows(SYSTEM, match[1] if match else names[0], run, rows, [(SYSTEM, name) for name in names])


def _attempts(jobs: list[Document]) -> Iterator[tuple[str, list[Document]]]:
    """The attempts in the order of their starts, each with its start as its name: one file may hold the last of them alone.

    Parts of a heterogeneous job have one number each; their first starts are one attempt.
    """
    by_part = grouped(jobs, lambda job: _whole(job.get("job_id"), "job_id")).values()
    for attempt in zip_longest(*(sorted(part, key=_began) for part in by_part)):
        parts = [part for part in attempt if part]
        start = first(start for start, _ in map(_times, parts))
        yield (f"{start.isoformat()}Z" if start else "waiting"), parts


def _began(job: Document) -> float:
    times = inner(job, "time")
    return _number(times.get("start")) or _number(times.get("submission")) or 0


def _attempt_rows(attempt_id: str, parts: list[Document]) -> Iterator[Row]:
    state = _state(parts[0])
    times = [_held(part, state) for part in parts]
    whole = in_order(first(start for start, _ in times), last(end for _, end in times), "time.end")
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
        for step, machines in readings_of(_steps(part), nodes, job):
            # joules of a part are of its own machines: without a name they would be those of all parts
            names = nodes if machines == TOGETHER and len(parts) > 1 else machines
            read = {"started_at": step.started_at, "ended_at": step.ended_at, "meter": SYSTEM}
            share, rest = divmod(step.joules, len(names))  # evenly, to the joule
            for place, name in enumerate(names):
                joules = float(share + (place < rest))
                yield {"part": "reading", "attempt_id": attempt_id, "resource_id": name, "energy_j": joules, **read}


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


def _chips(job: Document, nodes: int) -> tuple[str | None, int | float | None]:
    """Type and chips of one machine. `gres/gpu` counts what `gres/gpu:h100` counts by type; `gres/gpu:a100_3g.20gb` is of MIG."""
    given = {name: count for (type_, name), count in _tres(job).items() if type_ == "gres"}
    for kind in _CHIPS:
        typed = {name.partition(":")[2]: count for name, count in given.items() if name.startswith(f"{kind}:")}
        total = given.get(kind, sum(typed.values()))
        if total:
            type_ = accelerator_type_of(without_profile(next(iter(typed)))) if len(typed) == 1 else None
            # machines that hold unequal numbers are not known apart here: those of the catalogue count
            if total % nodes:
                return type_, None
            instances = sum((count * part for name, count in typed.items() if (part := mig_part(name))), Fraction(0))
            whole = total - sum(count for name, count in typed.items() if mig_part(name))
            return type_, in_millionths((Fraction(whole) + instances) / nodes)
    return None, None


def _times(record: Document) -> tuple[datetime | None, datetime | None]:
    found = inner(record, "time")
    return _moment(found.get("start"), "time.start"), _moment(found.get("end"), "time.end")


def _held(job: Document, state: str) -> tuple[datetime | None, datetime | None]:
    """A job that is over without a time of its end took `elapsed`; otherwise it would hold its machines for ever."""
    start, end = _times(job)
    elapsed = _number(inner(job, "time").get("elapsed"))
    if start and not end and state not in ("running", "unknown") and elapsed is not None and 0 <= elapsed < 2**31:
        end = start + timedelta(seconds=elapsed)
    return start, end


def _moment(value: Any, field: str) -> datetime | None:
    """Seconds since 1970; 0, and what is not set, say that there is no time."""
    seconds = _number(value)
    return None if seconds in (2**32 - 1, 2**32 - 2) else moment({field: seconds}, field)


def _state(job: Document) -> str:
    """The state; newer parsers write a list: a job that completes and is queued again has both words."""
    found = job.get("state")
    found = found.get("current") if isinstance(found, dict) else found
    texts = (word for word in (found if isinstance(found, list) else [found]) if isinstance(word, str) and word.strip())
    words = [word.split()[0].lower() for word in texts]
    return next((state for word in words if (state := _STATES.get(word) or state_of(word)) != "unknown"), "unknown")


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
    if not isinstance(value, int | float):
        raise RecordError("is no number", value=value)
    return value


def _whole(value: Any, field: str) -> int:
    number = _number(value)
    if number is None or not 0 <= number < 2**53:
        raise RecordError("is no number of a job", field=field, value=value, reason="wrong_type" if value else "missing_value")
    return int(number)


def _word(record: Document, name: str) -> str:
    return (text(record, name) or "").strip()
