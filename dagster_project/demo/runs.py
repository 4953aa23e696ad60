"""Run records as teams write them (`*.run.json`) and as SageMaker (DescribeTrainingJob) and Vertex AI (CustomJob) answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dagster_project.demo.clock import DAY, MICRO, NOW, iso, iso_micro, micros
from dagster_project.demo.files import put_json
from dagster_project.demo.organisation import NODE_CHIPS, PEAK_TFLOPS, TAG_KEY, generator
from dagster_project.demo.simulation import Hold, Run

TOKENS_PER_STEP = 4_194_304
CORRECTED, CORRECTED_END = "reward-tuner-2a", "2026-06-19T07:12:00"  # it kept its node until the 24th
HOLD_SPELLED_OUT = 3  # every third node repeats its own times; the others take those of the attempt


def write_runs(root: Path, runs: list[Run], provider_name: str) -> None:
    for run in runs:
        last = run.attempts[-1]
        end = NOW - 3_900 if last.end is None else last.end // MICRO  # the record of an open run was written an hour ago
        if run.record in JOB_RECORDS:
            record = JOB_RECORDS[run.record](run, last.holds[0], last.start // MICRO, end)
            put_json(root / run.record / f"{run.recorded_id}.json", record, end + 300)
        else:
            name = run.recorded_id.replace("/", "_")
            put_json(root / run.workload.team / f"{name}.run.json", run_record(run, provider_name), end + 300)


def write_correction(folder: Path, runs: list[Run]) -> None:
    """The record of a run of the quarter that is issued, as its team corrects it months later: it ended earlier than written."""
    run = next(run for run in runs if run.recorded_id == CORRECTED)
    end = micros(CORRECTED_END)
    [attempt] = run.attempts
    attempt = replace(attempt, end=end, holds=tuple(replace(hold, end=end) for hold in attempt.holds))
    corrected = run_record(replace(run, attempts=[attempt], tokens=tokens_of(run)), "Google Cloud")
    put_json(folder / run.workload.team / f"{run.recorded_id}.run.json", corrected, NOW - DAY)


def run_record(run: Run, provider_name: str) -> dict[str, object]:
    workload = run.workload
    tokens = tokens_of(run)
    lost = sum(attempt.state in ("failed", "interrupted") for attempt in run.attempts)
    return {
        "training_run_id": run.recorded_id,
        "aliases": [{"system": system, "id": alias} for system, alias in run.aliases],
        "provider_name": provider_name,
        "workload_key": workload.workload_key,
        "pair_key": run.pair_key,
        "model_name": workload.model_name or None,
        "framework": workload.framework,
        **({"sdk_name": "libtpu", "sdk_version": workload.libtpu_version} if workload.libtpu_version else {}),
        "team": workload.team,
        "tokens": tokens,
        "useful_tokens": tokens * (100 - 3 * lost) // 100,
        "steps": steps_of(run),
        "model_flops": float(6 * workload.parameters * tokens) if workload.counts_flops else None,
        "target_metric": workload.target_metric,
        "target_direction": workload.target_direction,
        "target_value": workload.target_value,
        "final_value": _final_value(run),
        "tags": run.tags,
        "attempts": [
            {
                "attempt_id": attempt.attempt_id,
                "state": attempt.state,
                "started_at": iso_micro(attempt.start),
                "ended_at": None if attempt.end is None else iso_micro(attempt.end),
                "nodes": [_node(hold, number) for number, hold in enumerate(attempt.holds)],
            }
            for attempt in run.attempts
        ],
    }


def _final_value(run: Run) -> float | None:
    """Near the target; none while the run goes on, after a failure, and where there is no target."""
    workload, last = run.workload, run.attempts[-1]
    if workload.target_value is None or last.end is None or last.state == "failed":
        return None
    better = -1 if workload.target_direction == "min" else 1
    least = 0.004 if workload.is_steady else -0.004
    return round(workload.target_value * (1 + better * generator("result", run.recorded_id).uniform(least, 0.03)), 4)


def tokens_of(run: Run) -> int:
    if run.tokens is not None:
        return run.tokens
    possible = 0  # 1e12 operations
    for hold in (hold for attempt in run.attempts for hold in attempt.holds):
        end = NOW * MICRO if hold.end is None else hold.end
        chips = hold.chips or NODE_CHIPS[hold.instance_type]
        possible += (end - hold.start) // MICRO * chips * PEAK_TFLOPS[hold.instance_type]
    done = possible * 10**12 * run.workload.mfu * run.speed
    return int(done / (6 * run.workload.parameters)) // 1_024 * 1_024


def steps_of(run: Run) -> int:
    return tokens_of(run) // TOKENS_PER_STEP


def _node(hold: Hold, number: int) -> dict[str, object]:
    node: dict[str, object] = {"resource_id": hold.resource_id, "accelerator_type": hold.instance_type, "chips": hold.chips}
    if number % HOLD_SPELLED_OUT == 0 and hold.end is not None:
        node |= {"started_at": iso_micro(hold.start), "ended_at": iso_micro(hold.end)}
    return node


def sagemaker_record(run: Run, hold: Hold, start: int, end: int) -> dict[str, object]:
    """The fields of DescribeTrainingJob that matter, with times as the AWS CLI prints them."""
    job = hold.resource_id
    times = {"CreationTime": start - 486, "TrainingStartTime": start, "TrainingEndTime": end, "LastModifiedTime": end + 21}
    return {
        "TrainingJobName": run.recorded_id,
        "TrainingJobArn": job,
        "TrainingJobStatus": "Completed",
        "SecondaryStatus": "Completed",
        "HyperParameters": {"model": run.workload.model_name, "epochs": "12"},
        "AlgorithmSpecification": {"TrainingImage": "synthetic/neuronx-training:2.1", "TrainingInputMode": "File"},
        "RoleArn": f"arn:aws:iam::{job.split(':')[4]}:role/synthetic-training",
        "ResourceConfig": {"InstanceType": f"ml.{hold.instance_type}", "InstanceCount": run.node_count, "VolumeSizeInGB": 200},
        "StoppingCondition": {"MaxRuntimeInSeconds": 172_800},
        **{name: iso(second).replace("Z", "+00:00") for name, second in times.items()},
        "EnableManagedSpotTraining": False,
        "TrainingTimeInSeconds": end - start,
        "BillableTimeInSeconds": end - start,
    }


def vertex_record(run: Run, hold: Hold, start: int, end: int) -> dict[str, object]:
    """The fields of a CustomJob that matter; a replica count is text there, and a TPU shows in the machine type only."""
    pool = {
        "machineSpec": {"machineType": "ct5lp-hightpu-8t", "tpuTopology": "2x4"},
        "replicaCount": str(run.node_count),
        "diskSpec": {"bootDiskType": "hyperdisk-balanced", "bootDiskSizeGb": 100},
        "containerSpec": {"imageUri": "synthetic/maxtext-tuning:5.0", "args": [f"--model={run.workload.model_name}"]},
    }
    return {
        "name": hold.resource_id,
        "displayName": run.recorded_id,
        "jobSpec": {"workerPoolSpecs": [pool], "scheduling": {"timeout": "604800s", "strategy": "STANDARD"}},
        "state": "JOB_STATE_SUCCEEDED",
        "createTime": iso(start - 512),
        "startTime": iso(start),
        "endTime": iso(end),
        "updateTime": iso(end + 37),
        "labels": {TAG_KEY: run.run_id, "cost_center": run.workload.team},
    }


JOB_RECORDS = {"sagemaker": sagemaker_record, "vertex": vertex_record}
