"""What names pairs before they run: plans as the organisation writes them, and of one pair what the recorder wrote at the start.

The times of these files are what counts. Of speech-finetune, vit-huge-finetune and ranking-continued there are none: their pairs
were labelled when the costs were known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from dagster_project.demo.clock import DAY, MICRO, iso, seconds
from dagster_project.demo.files import put, put_json
from dagster_project.demo.organisation import BERT, LLAMA, RANK, Workload
from dagster_project.demo.runs import tokens_of
from dagster_project.demo.simulation import Run, World
from dagster_project.demo.trials import SUMMARY_STEM, TRIALS, pairs

HEADER = "workload_key,pair_key,first_day,pairs,promise,target_metric,target_direction,target_value,tokens,source\n"
WRITTEN_BEFORE = 8 * DAY  # the first day of a plan
BY_RECORDER = f"{SUMMARY_STEM}-tpu-08"  # the last pair of the workload, one more than its plan has
DIRECTIONS = {"min": "below", "max": "above"}


class Plan(NamedTuple):
    workload: Workload
    pair_key: str
    first_day: str
    pairs: int


def plans() -> Iterator[Plan]:
    """The large workloads, then those of which all pairs are small ones."""
    large = (
        Plan(LLAMA, "llm8b-*", "2026-04-01", 8),
        Plan(BERT, "bert-*", "2025-11-01", 12),
        Plan(RANK, "rank-*", "2025-11-01", 12),
    )
    yield from large
    for trial in TRIALS:
        if trial.workload not in (BERT, RANK):
            starts = [pair.start for pair in pairs() if pair.trial is trial]
            count = len(starts) - (trial.stem == SUMMARY_STEM)
            yield Plan(trial.workload, f"{trial.stem}-*", f"{iso(starts[0])[:7]}-01", count)


def write_plans(root: Path, runs: Iterable[Run]) -> None:
    by_workload = {run.workload.workload_key: run for run in runs if run.pair_key}
    for plan in plans():
        workload = plan.workload
        promise: tuple[object, ...] = ("fixed_work", "", "", "", tokens_of(by_workload[workload.workload_key]))
        if workload.target_metric and workload.target_direction:
            direction = DIRECTIONS[workload.target_direction]
            promise = ("to_target", workload.target_metric, direction, workload.target_value, "")
        row = (workload.workload_key, plan.pair_key, plan.first_day, plan.pairs, *promise, "decision of the research board")
        content = HEADER + ",".join(map(str, row)) + "\n"
        put(root / f"{workload.workload_key}.plan.csv", content, seconds(plan.first_day) - WRITTEN_BEFORE)


def write_registration(root: Path, world: World) -> None:
    """What the recorder leaves beside the record of a run, a minute after its start."""
    run = next(run for run in world.runs if run.recorded_id == BY_RECORDER)
    document = {
        "training_run_id": run.recorded_id,
        "workload_key": run.workload.workload_key,
        "pair_key": run.pair_key,
        "tokens": tokens_of(run),
    }
    put_json(root / run.workload.team / f"{run.recorded_id}.registered.json", document, run.attempts[0].start // MICRO + 60)
