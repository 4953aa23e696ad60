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
    aliases = {(row["alias_system"], row["alias_id"]) for row in part(result, "alias")}
    assert aliases == {
        (system, f"{cluster}hyperpod-ns-core/{task}")
        for system, cluster in (("kubernetes", "prod-trn/"), ("kueue", ""))
        for task in ("pretrain-0", "evaluate")
    }
    assert picked(part(result, "node"), "resource_id", "accelerator_type", "chips", "started_at") == [
        ("cluster/prod-trn/ml.p5.48xlarge", "p5.48xlarge", 8, at(1)),
        ("cluster/prod-trn/ml.p5.48xlarge", "p5.48xlarge", 8, at(24)),
    ]
    summary = REPORT.replace("Detailed", "Summary")
    assert refused(tmp_path / "2", summary.encode(), "summary.csv").reason == "unknown_record"


CLUSTER = "arn:aws:sagemaker:us-west-2:111122223333:cluster/tqci9uwuwqiz"
# as the report's own code writes it: columns repeat under a row of resources that is two columns off
AS_WRITTEN = f"""Amazon SageMaker HyperPod
Cluster Name: {CLUSTER}
Report Type: Detailed Utilization Report
Report Date Generated: 2026-07-02
Report Date Range (UTC): 2026-07-01 to 2026-07-02
Missing Data Periods
2026-07-01 00:00:00 to 2026-07-01 12:00:00
,,,,,,NeuronCore,,GPU,,vCPU,,
Date,Period Start,Period End,Namespace,Team,Task,Instance,Status,Total utilization (hours),Total utilization (count),\
Total utilization (hours),Total utilization (count),Total utilization (hours),Total utilization (count),Priority class
2026-07-01,20:00:00,00:00:00,ns,core,job-a-4f1c2,ml.trn1.32xlarge,Running,256.00,64.00,0.00,0.00,40.00,10.00,high
2026-07-02,00:59:58,01:30:00,ns,core,job-a-4f1c2,ml.trn1.32xlarge,Preempted,32.04,64.00,0.00,0.00,5.00,10.00,high
2026-07-02,03:00:00,04:00:00,ns,core,job-a-4f1c2,ml.trn1.32xlarge,Finished,33.00,33.00,0.00,0.00,5.00,10.00,high
2026-07-02,03:00:00,04:00:00,ns,core,job-b-11111,ml.trn2.48xlarge,Running,6.00,8.00,0.00,0.00,5.00,10.00,high
2026-07-02,05:00:00,05:00:30,ns,,c,ml.p5.48xlarge,Succeeded,0.00,0.00,0.07,8.00,0.02,2.00,high
2026-07-02,05:00:00,05:00:30,ns,,c,ml.p5.48xlarge,Failed,0.00,0.00,0.07,8.00,0.02,2.00,high
""".replace("\\\n", "")


def test_a_report_as_its_writer_writes_it_has_neuron_cores_gpus_and_days(tmp_path: Path) -> None:
    """Two cores to a chip of Trainium1, four of Trainium2, and a part of a chip is one. a: 64 cores until midnight and, an hour
    less two seconds later, on; then 33. b had 8 cores for a part of its hour, 6 in the mean. c: two pods of 8 GPUs at a time."""
    result = read(tmp_path, AS_WRITTEN.encode(), "usage.csv")
    assert picked(part(result, "attempt"), "recorded_id", "attempt_id", "state", "started_at", "ended_at") == [
        ("tqci9uwuwqiz/job-a-4f1c2", "1", "interrupted", at(20), at(25.5)),
        ("tqci9uwuwqiz/job-a-4f1c2", "2", "unknown", at(27), at(28)),
        ("tqci9uwuwqiz/job-b-11111", "1", "running", at(27), at(28)),
        ("tqci9uwuwqiz/c", "1", "failed", at(29), at(29) + dt.timedelta(seconds=30)),
    ]
    nodes = part(result, "node")
    assert picked(nodes, "resource_id", "chips", "started_at", "ended_at") == [
        (f"{CLUSTER}/ml.trn1.32xlarge", 32, at(20), at(24)),
        (f"{CLUSTER}/ml.trn1.32xlarge", 32, at(25) - dt.timedelta(seconds=2), at(25.5)),
        (f"{CLUSTER}/ml.trn1.32xlarge", 17, at(27), at(28)),
        (f"{CLUSTER}/ml.trn2.48xlarge", 2, at(27), at(28)),
        (f"{CLUSTER}/ml.p5.48xlarge", 16, at(29), at(29) + dt.timedelta(seconds=30)),
    ]
    assert {row["node_count"] for row in nodes} == {1}
    negative = AS_WRITTEN.replace("256.00", "-256")
    error = refused(tmp_path / "2", negative.encode(), "usage.csv")
    assert (error.column_name, error.value) == ("neuroncoretotalutilizationhours", "-256.0")


def test_the_name_of_a_cluster_is_known_of_its_arn(tmp_path: Path) -> None:
    described = {"ClusterArn": CLUSTER, "ClusterName": "prod-trn", "ClusterStatus": "InService"}
    listed = {"ClusterSummaries": [described, {**described, "ClusterArn": f"{CLUSTER[:-1]}y", "ClusterName": "dev"}]}
    [name] = part(one := read(tmp_path / "1", described, "cluster.json"), "alias")
    assert (name["recorded_id"], name["alias_system"], name["alias_id"]) == (CLUSTER, "hyperpod_cluster", "prod-trn")
    assert (one.refusals, part(one, "run")) == ((), [])  # it is no run, and without machines by its nature
    assert [row["alias_id"] for row in part(read(tmp_path / "2", listed, "clusters.json"), "alias")] == ["prod-trn", "dev"]
    of_eks = {**described, "ClusterArn": "arn:aws:eks:us-west-2:111122223333:cluster/prod"}
    error = refused(tmp_path / "3", of_eks, "cluster.json")
    assert (error.reason, error.column_name, error.value) == ("wrong_value", "ClusterArn", of_eks["ClusterArn"])
    assert refused(tmp_path / "4", {"ClusterSummaries": [{"ClusterArn": CLUSTER}]}, "c.json").column_name == "ClusterName"


def test_a_record_of_our_own_may_name_the_machines_of_a_cluster(tmp_path: Path) -> None:
    node = {"resource_id": CLUSTER, "accelerator_type": "ml.trn1.32xlarge", "chips": 64, "started_at": "2026-07-01T00:00:00Z"}
    result = read(tmp_path, {"training_run_id": "a", "attempts": [{"nodes": [node]}]})
    assert picked(part(result, "node"), "resource_id", "chips") == [(f"{CLUSTER}/ml.trn1.32xlarge", 64)]


TASK, POD = "arn:aws:ecs:us-west-2:1:task/batch/9f", "aws-batch.7c1d"


def test_a_batch_job_is_known_by_its_tasks_and_its_pods(tmp_path: Path) -> None:
    """A child of a multi-node job, a job of several tasks on one machine, and one on EKS whose second pod goes on."""
    child = batch_child(0, [(0, 2, "exited")])
    child["container"]["taskArn"] = TASK
    child["attempts"][0]["container"]["taskArn"] = f"{TASK}1"
    task = {"taskArn": f"{TASK}2", "containerInstanceArn": "arn:aws:ecs:us-west-2:1:container-instance/c9"}
    tried = {"startedAt": T0, "stoppedAt": T0 + HOUR, "taskProperties": [task], "statusReason": "exited"}
    several = {**PARENT, "jobId": "several", "nodeProperties": None, "attempts": [tried], "startedAt": T0, "stoppedAt": T0 + HOUR}
    tried = {"podName": f"{POD}1", "podNamespace": "ml", "startedAt": T0, "stoppedAt": T0 + HOUR, "nodeName": "ip-10-0-0-1"}
    tried["eksClusterArn"] = "arn:aws:eks:us-west-2:1:cluster/prod"
    pod = {"podName": f"{POD}2", "nodeName": "ip-10-0-0-2", "metadata": {"namespace": "ml"}}
    of_eks = {**PARENT, "jobId": "eks", "nodeProperties": None, "attempts": [], "eksAttempts": [tried], "status": "RUNNING"}
    of_eks |= {"eksProperties": {"podProperties": pod}, "startedAt": T0 + 2 * HOUR, "stoppedAt": None, "tags": {}}
    alone = {**of_eks, "jobId": "alone", "eksAttempts": []}
    result = read(tmp_path, {"jobs": [PARENT, child, {**several, "tags": {}}, of_eks, alone]}, "batch.json")
    named = [row for row in part(result, "alias") if row["alias_system"] in ("ecs_task", "kubernetes_pod")]
    assert picked(named, "recorded_id", "alias_system", "alias_id") == [
        ("pretrain-7", "ecs_task", TASK),
        ("pretrain-7", "ecs_task", f"{TASK}1"),
        ("several", "ecs_task", f"{TASK}2"),
        ("eks", "kubernetes_pod", f"prod/ml/{POD}1"),
        ("eks", "kubernetes_pod", f"prod/ml/{POD}2"),
        ("alone", "kubernetes_pod", f"ml/{POD}2"),
    ]
    nodes = [row for row in part(result, "node") if row["recorded_id"] != "pretrain-7"]
    assert picked(nodes, "recorded_id", "resource_id") == [
        ("several", task["containerInstanceArn"]),
        ("eks", "ip-10-0-0-1"),
        ("eks", "ip-10-0-0-2"),
        ("alone", "ip-10-0-0-2"),
    ]


def test_the_machines_of_a_batch_job_have_their_own_ids_where_ecs_is_asked_too(tmp_path: Path) -> None:
    tries = [(0.0, 2.0, "Host EC2 (instance i-1) terminated."), (3.0, 8.0, "exited")]
    known = {"containerInstanceArn": "arn:aws:ecs:us-west-2:1:container-instance/c0", "ec2InstanceId": "i-0abc"}
    of_nobody = {**known, "containerInstanceArn": "arn:aws:ecs:us-west-2:1:container-instance/c7"}
    without = {"containerInstanceArn": "arn:aws:ecs:us-west-2:1:container-instance/c1"}  # a machine outside of AWS
    jobs = {"jobs": [batch_child(0, tries), PARENT, batch_child(1, tries)]}
    result = read(tmp_path, [jobs, {"containerInstances": [known, of_nobody, without], "failures": []}], "batch.json")
    nodes = {(row["resource_id"], row["chips"]) for row in part(result, "node")}
    assert nodes == {("i-0abc", 16), (without["containerInstanceArn"], 16)}
    assert len(part(result, "run")) == 1
    for wrong in ({"ec2InstanceId": "i-0abc"}, {**known, "ec2InstanceId": 7}):
        answer = {"containerInstances": [wrong]}
        error = refused(tmp_path / str(len(wrong)), [jobs, answer], "batch.json")
        assert error.column_name in ("containerInstanceArn", "ec2InstanceId")
    assert refused(tmp_path / "alone", {"containerInstances": [known]}, "batch.json").reason == "unknown_record"


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
