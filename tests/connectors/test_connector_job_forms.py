"""Jobs of AWS Batch, Ray, MLflow, Vertex AI pipelines and HyperPod: each document gives what a person reads off it."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.records import part, read, refused

# 2026-07-01T00:00:00Z in milliseconds; an hour of them
QUEUE = "arn:aws:batch:us-west-2:1:job-queue/trn"
T0, HOUR = 1782864000000, 3_600_000


def at(hours: float) -> dt.datetime:
    return dt.datetime(2026, 7, 1) + dt.timedelta(hours=hours)


def picked(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in names) for row in rows]


def batch_child(number: int, attempts: list[tuple[float, float, str]]) -> dict[str, Any]:
    """A node of a multi-node job on trn1.32xlarge: its container sees 16 Neuron devices."""
    devices = [{"hostPath": f"/dev/neuron{index}"} for index in range(16)]
    return {
        "jobId": f"0b1c-main#{number}", "jobName": "pretrain", "jobQueue": QUEUE, "status": "SUCCEEDED",
        "jobArn": f"arn:aws:batch:us-west-2:1:job/0b1c-main#{number}",
        "startedAt": T0 + attempts[-1][0] * HOUR, "stoppedAt": T0 + attempts[-1][1] * HOUR,
        "attempts": [
            {"startedAt": T0 + start * HOUR, "stoppedAt": T0 + end * HOUR, "statusReason": why,
             "container": {"containerInstanceArn": f"arn:aws:ecs:us-west-2:1:container-instance/c{number}"}}
            for start, end, why in attempts
        ],
        "container": {"instanceType": "trn1.32xlarge", "linuxParameters": {"devices": devices}},
    }  # fmt: skip


PARENT: dict[str, Any] = {
    "jobId": "0b1c-main", "jobName": "pretrain", "jobQueue": QUEUE, "status": "SUCCEEDED",
    "jobArn": "arn:aws:batch:us-west-2:1:job/0b1c-main", "createdAt": T0 - HOUR,
    "startedAt": T0 + 3 * HOUR, "stoppedAt": T0 + 8 * HOUR,
    "nodeProperties": {"numNodes": 2, "mainNode": 0, "nodeRangeProperties": []},
    "tags": {"training_run_id": "pretrain-7", "team": "core"},
    "attempts": [
        {"startedAt": T0, "stoppedAt": T0 + 2 * HOUR, "statusReason": "Host EC2 (instance i-1) terminated."},
        {"startedAt": T0 + 3 * HOUR, "stoppedAt": T0 + 8 * HOUR, "statusReason": "Essential container in task exited"},
    ],
}  # fmt: skip


def test_a_multi_node_batch_job_has_its_attempts_and_its_children_as_nodes(tmp_path: Path) -> None:
    """Two nodes of 16 chips: two hours, then five more after the spot machine was taken away."""
    tries = [(0.0, 2.0, "Host EC2 (instance i-1) terminated."), (3.0, 8.0, "exited")]
    result = read(tmp_path, {"jobs": [batch_child(0, tries), PARENT, batch_child(1, tries)]}, "batch.json")
    assert {row["recorded_id"] for row in part(result, "run")} == {"pretrain-7"}
    assert picked(part(result, "attempt"), "attempt_id", "state", "started_at", "ended_at") == [
        ("1", "interrupted", at(0), at(2)),
        ("2", "succeeded", at(3), at(8)),
    ]
    nodes = part(result, "node")
    assert {(row["resource_id"].rpartition("/")[2], row["accelerator_type"], row["chips"]) for row in nodes} == {
        ("c0", "trn1.32xlarge", 16),
        ("c1", "trn1.32xlarge", 16),
    }
    hours = sum(row["chips"] * (row["ended_at"] - row["started_at"]) / dt.timedelta(hours=1) for row in nodes)
    assert hours == 2 * 16 * (2 + 5)
    assert ("batch", "0b1c-main") in picked(part(result, "alias"), "alias_system", "alias_id")


NEURONX = "763104351884.dkr.ecr.us-west-2.amazonaws.com/pytorch-training-neuronx:2.1.2-neuronx-py310-sdk2.20.0-ubuntu20.04"


def test_the_name_of_a_container_of_aws_has_the_versions_in_it(tmp_path: Path) -> None:
    versions = {"framework": "pytorch", "framework_version": "2.1.2", "sdk_name": "neuron", "sdk_version": "2.20.0"}
    arn = "arn:aws:sagemaker:us-west-2:1:training-job/a"
    sagemaker: dict[str, Any] = {
        "TrainingJobArn": arn,
        "TrainingJobName": "a",
        "AlgorithmSpecification": {"TrainingImage": NEURONX},
    }
    ultra = {"PlacementSpecifications": [{"UltraServerId": "us-7", "InstanceCount": 4}]}
    sagemaker["ResourceConfig"] = {"InstanceType": "ml.trn2.48xlarge", "InstanceCount": 4, "InstancePlacementConfig": ultra}
    assert part(read(tmp_path / "ultra", sagemaker, "job.json"), "run")[0]["slice_name"] == "us-7"
    batch = {**PARENT, "container": {"image": NEURONX}}
    pod = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"image": "mine:1"}, {"image": NEURONX}]}}
    for name, document in (("sagemaker", sagemaker), ("batch", batch), ("pod", pod)):
        [run] = part(read(tmp_path / name, document, "job.json"), "run")
        assert versions.items() <= run.items(), name
    own = {**sagemaker, "AlgorithmSpecification": {"TrainingImage": "1.dkr.ecr.us-west-2.amazonaws.com/pytorch-mine:2.1.2"}}
    assert versions.keys().isdisjoint(part(read(tmp_path / "own", own, "job.json"), "run")[0])


def test_a_running_batch_job_is_open_and_the_parent_of_an_array_held_nothing(tmp_path: Path) -> None:
    running = {**PARENT, "jobId": "r", "status": "RUNNING", "attempts": [], "tags": {}, "stoppedAt": None}
    array = {**PARENT, "jobId": "a", "tags": {}, "arrayProperties": {"size": 3}}
    waiting = {**PARENT, "jobId": "w", "tags": {}, "status": "RUNNABLE", "startedAt": None, "stoppedAt": None, "attempts": []}
    result = read(tmp_path, {"jobs": [running, array, waiting]}, "batch.json")
    assert picked(part(result, "attempt"), "recorded_id", "state", "started_at", "ended_at") == [("r", "running", at(3), None)]
    # two machines without children of their own: the job is the resource
    assert picked(part(result, "node"), "recorded_id", "resource_id", "node_count") == [("r", "r", 2)]


RAY = {
    "type": "SUBMISSION", "job_id": "02000000", "submission_id": "raysubmit_ABC", "status": "STOPPED",
    "entrypoint": "python train.py",
    "start_time": T0, "end_time": T0 + HOUR // 2, "metadata": {"team": "core"}, "runtime_env": {}, "driver_info": None,
}  # fmt: skip


def test_a_ray_job_is_the_same_from_the_interface_and_from_its_command_line(tmp_path: Path) -> None:
    printed = (
        "[JobDetails(type=<JobType.SUBMISSION: 'SUBMISSION'>, job_id='02000000', submission_id='raysubmit_ABC', "
        "status=<JobStatus.STOPPED: 'STOPPED'>, entrypoint='python train.py', message='Job was intentionally stopped.', "
        f"error_type=None, start_time={T0}, end_time={T0 + HOUR // 2}, metadata={{'team': 'core'}}, runtime_env={{}})]\n"
    )
    of_json, of_text = read(tmp_path / "1", [RAY], "jobs.json"), read(tmp_path / "2", printed.encode(), "jobs.log")
    for name in ("run", "alias", "attempt", "tag"):
        assert part(of_json, name) == part(of_text, name)
    assert picked(part(of_json, "attempt"), "state", "started_at", "ended_at") == [("stopped", at(0), at(0.5))]
    assert picked(part(of_json, "alias"), "alias_system", "alias_id") == [("ray", "raysubmit_ABC")]


@pytest.mark.parametrize("metadata", ["{[1]: 2}", "{" + "-" * 5_000 + "1}", "{'a': " + "[" * 300 + "]" * 300 + "}"])
def test_metadata_of_a_printed_ray_job_that_are_no_dictionary_are_none(tmp_path: Path, metadata: str) -> None:
    printed = f"[JobDetails(submission_id='raysubmit_ABC', status=<JobStatus.STOPPED: 'STOPPED'>, metadata={metadata})]\n"
    result = read(tmp_path, printed.encode(), "jobs.log")
    assert (part(result, "attempt")[0]["state"], part(result, "tag")) == ("stopped", [])


MLFLOW: dict[str, Any] = {
    "info": {"run_id": "9f", "run_name": "calm-fox-1", "status": "FINISHED", "start_time": T0, "end_time": T0 + 2 * HOUR},
    "data": {
        "metrics": [
            {"key": "tokens", "value": 2.0e9, "timestamp": T0 + HOUR, "step": 20},
            {"key": "tokens", "value": 1.0e9, "timestamp": T0 + 2 * HOUR, "step": 10},
            {"key": "loss", "value": 2.1, "timestamp": T0, "step": 20},
        ],
        "params": [{"key": "framework", "value": "torch-neuronx"}, {"key": "sdk_version", "value": "2.33.0"}],
        "tags": [{"key": "mlflow.user", "value": "x"}, {"key": "experiment", "value": "a"}],
    },
}


def test_an_exported_mlflow_run_is_the_same_as_lists_and_as_objects(tmp_path: Path) -> None:
    objects = {"info": MLFLOW["info"], "data": {
        "metrics": {"tokens": 2.0e9, "loss": 2.1}, "params": {"framework": "torch-neuronx", "sdk_version": "2.33.0"},
        "tags": {"mlflow.user": "x", "experiment": "a"},
    }}  # fmt: skip
    first, second = read(tmp_path / "1", {"run": MLFLOW}, "run.json"), read(tmp_path / "2", objects, "run.json")
    for name in ("run", "alias", "attempt", "tag"):
        assert part(first, name) == part(second, name)
    assert first.refusals == ()  # whether any record of the run has machines is not this file's to tell
    [run] = part(first, "run")
    assert (run["recorded_id"], run["tokens"], run["framework"], run["sdk_version"]) == (
        "9f",
        2 * 10**9,
        "torch-neuronx",
        "2.33.0",
    )
    assert picked(part(first, "attempt"), "state", "started_at", "ended_at") == [("succeeded", at(0), at(2))]


CUSTOM = "projects/1/locations/us-east5/customJobs/"
PIPELINE: dict[str, Any] = {
    "name": "projects/1/locations/us-east5/pipelineJobs/tune-20260701", "state": "PIPELINE_STATE_SUCCEEDED",
    "startTime": "2026-07-01T00:00:00Z", "endTime": "2026-07-01T09:00:00Z",
    "labels": {"vertex-ai-pipelines-run-billing-id": "55"},
    "jobDetail": {"taskDetails": [
        {"taskId": "10", "taskName": "prepare", "state": "SKIPPED", "startTime": "2026-07-01T00:00:00Z"},
        {"taskId": "11", "taskName": "train", "state": "SUCCEEDED", "startTime": "2026-07-01T01:00:00Z",
         "endTime": "2026-07-01T08:00:00Z",
         "executorDetail": {"customJobDetail": {"job": CUSTOM + "2", "failedJobs": [CUSTOM + "1"]}}},
    ]},
}  # fmt: skip


def test_a_pipeline_names_the_custom_jobs_of_its_tasks_and_their_times(tmp_path: Path) -> None:
    result = read(tmp_path, PIPELINE, "pipeline.json")
    assert picked(part(result, "alias"), "alias_system", "alias_id") == [
        ("vertex", "55"),
        ("vertex", CUSTOM + "1"),
        ("vertex", CUSTOM + "2"),
    ]
    assert picked(part(result, "attempt"), "attempt_id", "state", "started_at", "ended_at") == [("11", "succeeded", at(1), at(8))]
    assert {row["recorded_id"] for row in part(result, "run")} == {"tune-20260701"}


REPORT = """ClusterName,prod-trn
Type,Detailed Utilization Report
Date Generated,2026-07-03
Date Range (UTC),2026-07-01 to 2026-07-02

Date,Period Start,Period End,Namespace,Team,Task,Instance,Status,Total Utilization (GPU Hours),Priority Class
2026-07-01,01:00:00,04:00:00,hyperpod-ns-core,core,pretrain-0,ml.p5.48xlarge,Preempted,24,high
2026-07-02,00:00:00,00:30:00,hyperpod-ns-core,core,pretrain-0,ml.p5.48xlarge,Succeeded,4,high
2026-07-02,00:00:00,01:00:00,hyperpod-ns-core,core,evaluate,ml.c5.large,Succeeded,0,low
"""


def test_a_detailed_hyperpod_report_gives_each_task_its_periods(tmp_path: Path) -> None:
    """24 GPU hours in three hours are 8 GPUs; 4 in half an hour as well. A task without any holds no chip."""
    result = read(tmp_path, REPORT.encode(), "usage.csv")
    assert picked(part(result, "run"), "recorded_id", "team", "cluster_name") == [
        ("prod-trn/pretrain-0", "core", "prod-trn"),
        ("prod-trn/evaluate", "core", "prod-trn"),
    ]
    assert picked(part(result, "attempt"), "recorded_id", "attempt_id", "state", "started_at", "ended_at") == [
        ("prod-trn/pretrain-0", "1", "interrupted", at(1), at(4)),
        ("prod-trn/pretrain-0", "2", "succeeded", at(24), at(24.5)),
        ("prod-trn/evaluate", "1", "succeeded", at(24), at(25)),
    ]
    assert picked(part(result, "alias"), "alias_id") == [
        ("prod-trn/hyperpod-ns-core/pretrain-0",),
        ("prod-trn/hyperpod-ns-core/evaluate",),
    ]
    assert picked(part(result, "node"), "accelerator_type", "chips", "started_at") == [
        ("p5.48xlarge", 8, at(1)),
        ("p5.48xlarge", 8, at(24)),
    ]
    summary = REPORT.replace("Detailed", "Summary")
    assert refused(tmp_path / "2", summary.encode(), "summary.csv").reason == "unknown_record"


def test_of_several_jobs_in_a_file_a_wrong_one_is_refused_alone_and_named(tmp_path: Path) -> None:
    wrong = {**RAY, "submission_id": "raysubmit_X", "end_time": T0 - HOUR}
    lines = "\n".join(json.dumps(one) for one in (RAY, wrong, {"what": "is this"}))
    result = read(tmp_path, lines.encode(), "jobs.jsonl")
    assert {row["recorded_id"] for row in part(result, "run")} == {"raysubmit_ABC"}
    assert {(one.reason, one.column_name) for one in result.refusals} >= {
        ("ends_before_start", "end_time"),
        ("unknown_record", None),
    }


@pytest.mark.parametrize(
    ("document", "field", "value", "reason"),
    [
        ({**PARENT, "startedAt": "soon"}, "startedAt", "soon", "wrong_type"),
        ({**PARENT, "attempts": [7]}, "attempts", None, "wrong_type"),
        ({**RAY, "start_time": 1e30}, "start_time", "1e+30", "wrong_type"),
        ({**RAY, "submission_id": None}, "submission_id", None, "missing_value"),
        ({**MLFLOW, "data": {"metrics": [{"value": 1}]}}, "data.metrics.key", None, "missing_value"),
        ({**PIPELINE, "endTime": "2026-06-30T00:00:00Z", "jobDetail": {}}, "endTime", "2026-06-30T00:00:00", "ends_before_start"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, document: dict[str, Any], field: str, value: str | None, reason: str) -> None:
    error = refused(tmp_path, document, "job.json")
    assert (error.reason, error.column_name, error.value) == (reason, field, value)
