"""What Google's goodput recorder wrote of some TPU runs, as Cloud Logging exports its entries, and what is true of them.

Steps follow each other at one pace; every so many there is an evaluation, which is no progress, or a checkpoint. An attempt that
failed is followed by one that goes on from the last checkpoint: the steps after it are done twice, and count once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from dagster_project.demo.clock import MICRO, iso
from dagster_project.demo.files import put
from dagster_project.demo.organisation import CAPTIONS, MOE
from dagster_project.demo.runs import steps_of
from dagster_project.demo.simulation import Run, World

RECORDED = (*(each.workload_key for each in CAPTIONS), MOE.workload_key)
STARTING, PREPARING = 95, 60  # seconds before the first step: the chips, then data and compilation
EVALUATION, EVERY, SAVED = 90, 50, 80  # seconds, after how many steps, and after how many there is a checkpoint
ENDING = 30
Entry = dict[str, object]


def write_goodput(folder: Path, worlds: Sequence[World]) -> dict[str, list[int]]:
    """A file per run. Returns the truth: seconds of progress and seconds held."""
    truth = {}
    for run in (run for world in worlds for run in world.runs if run.workload.workload_key in RECORDED):
        spans = [(attempt.start // MICRO, (attempt.end or 0) // MICRO) for attempt in run.attempts]
        slowest = sum(end - start for start, end in spans) // steps_of(run)
        pace = next(pace for pace in range(slowest, 0, -1) if _plan(spans, pace)[-1][1] >= steps_of(run))
        entries, useful = _entries(run, spans, pace)
        lines = [_line(run, at, entry) for at, entry in entries]
        put(folder / f"{run.recorded_id}.jsonl", "".join(lines), spans[-1][1] + 420)
        truth[run.run_id] = [useful, sum(end - start for start, end in spans)]
    return truth


def _plan(spans: Sequence[tuple[int, int]], pace: int) -> list[tuple[int, int]]:
    """The first step of each attempt and the step after its last, at so many seconds a step."""
    plan, first = [], 0
    for start, end in spans:
        last, at = first, start + STARTING + PREPARING
        while (at := at + _length(last, pace)) <= end - ENDING:
            last += 1
        plan.append((first, last))
        first = last // SAVED * SAVED
    return plan


def _length(step: int, pace: int) -> int:
    return pace + (EVALUATION if step % EVERY == EVERY - 1 else 0)


def _entries(run: Run, spans: Sequence[tuple[int, int]], pace: int) -> tuple[list[tuple[int, Entry]], int]:
    """Entries with their times, and seconds of progress: of each step that was kept and whose end is known, its pace."""
    entries: list[tuple[int, Entry]] = []
    plan, useful = _plan(spans, pace), 0
    for number, ((start, end), (first, last)) in enumerate(zip(spans, plan, strict=True)):
        is_last = number == len(plan) - 1
        last = steps_of(run) if is_last else last
        entries += _begun(start)
        at = start + STARTING + PREPARING
        for step in range(first, last):
            entries.append((at, {"step_count": step, "step_start_time": at}))
            if step % EVERY == EVERY - 1:
                entries += _span(at + pace, at + pace + EVALUATION, "custom_badput_event", {"custom_badput_event_type": "eval"})
            at += _length(step, pace)
        if is_last:
            entries.append((end, {"job_end_time": end}))
        useful += pace * (
            (last - 1 if is_last else min(last - 1, plan[number + 1][0])) - first
        )  # when the last ended is not known
    return entries, useful


def _begun(start: int) -> Iterator[tuple[int, Entry]]:
    yield start, {"job_start_time": start}
    yield from _span(start, start + STARTING, "tpu_init")
    yield from _span(start + STARTING, start + STARTING + PREPARING, "training_prep")


def _span(start: int, end: int, name: str, more: Entry | None = None) -> Iterator[tuple[int, Entry]]:
    """Start and end are entries of their own."""
    yield start, {**(more or {}), f"{name}_start_time": start}
    yield end, {**(more or {}), f"{name}_end_time": end}


def _line(run: Run, at: int, entry: Entry) -> str:
    log = f"projects/example/logs/goodput_{run.recorded_id}"
    return json.dumps({"logName": log, "timestamp": iso(at), "jsonPayload": {"job_name": run.recorded_id, **entry}}) + "\n"
