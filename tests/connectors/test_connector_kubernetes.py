"""JobSets, Jobs and pods: who held which node, how long, with how many chips, and how it ended."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.runs.forms import rows_of_documents
from connectors.runs.run_records import in_millionths
from connectors.runs.shares import mig_part
from connectors.runs.training_runs import FORMS
from tests.connectors.records import ANY_JSON, part, read
from tests.connectors.test_connector_job_forms import MLFLOW, PARENT, PIPELINE, RAY, picked

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"


def at(minutes: float) -> dt.datetime:
    return dt.datetime(2026, 7, 1) + dt.timedelta(minutes=minutes)


def stamp(minutes: float) -> str:
    return f"{at(minutes).isoformat()}Z"


def condition(kind: str, minutes: float, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "lastTransitionTime": stamp(minutes)}


def pod(host: int, attempt: int, start: float, end: float | None, phase: str = "Succeeded", **status: Any) -> dict[str, Any]:
    """A host of a v6e slice of 4x4: four hosts of four chips."""
    ended = [{"state": {"terminated": {"finishedAt": stamp(end), "exitCode": 0}}}] if end is not None else []
    labels = {
        JOBSET_NAME: "llama", "jobset.sigs.k8s.io/restart-attempt": str(attempt), "batch.kubernetes.io/job-name": "llama-slice-0",
        "kueue.x-k8s.io/queue-name": "core",
    }  # fmt: skip
    container = {"name": "jax", "resources": {"requests": {"google.com/tpu": "4"}, "limits": {"google.com/tpu": "4"}}}
    selector = {"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice", "cloud.google.com/gke-tpu-topology": "4x4"}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": f"llama-{host}-{attempt}", "namespace": "ml", "uid": f"pod-{host}-{attempt}", "labels": labels},
        "spec": {"nodeName": f"gke-tpu-{host}", "containers": [{"name": "sidecar"}, container], "nodeSelector": selector},
        "status": {
            "phase": phase, "startTime": stamp(start + 1), "containerStatuses": ended,
            "conditions": [condition("PodScheduled", start), *status.pop("conditions", [])], **status,
        },
    }  # fmt: skip


JOBSET: dict[str, Any] = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
    "metadata": {"name": "llama", "namespace": "ml", "uid": "u-1", "creationTimestamp": stamp(-30)},
    "spec": {"replicatedJobs": [{"name": "slice", "replicas": 1}]},
    "status": {"restarts": 1, "conditions": [condition("Completed", 241)]},
}  # fmt: skip
TAKEN = {"phase": "Failed", "reason": "Preempted", "conditions": [condition("DisruptionTarget", 60)]}
PODS = [
    *(pod(host, 0, 0, 62, phase="Failed") for host in range(3)),
    pod(3, 0, 0, None, **TAKEN),
    *(pod(host, 1, 90, 240) for host in range(4)),
]


def listed(*objects: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def test_a_jobset_with_its_pods_is_a_run_of_two_attempts_on_the_hosts_of_a_slice(tmp_path: Path) -> None:
    """Host 3 is preempted after an hour; the others end two minutes later. From 1:30 to 4:00 all four finish the work."""
    result = read(tmp_path, listed(JOBSET, *PODS), "jobset.json")
    assert picked(part(result, "run"), "recorded_id", "provider_name", "team", "slice_name") == [
        ("llama", "Google Cloud", "core", "llama-slice-0")
    ]
    assert picked(part(result, "attempt"), "attempt_id", "state", "started_at", "ended_at") == [
        ("1", "interrupted", at(0), at(62)),
        ("2", "succeeded", at(90), at(241)),
    ]
    nodes = part(result, "node")
    assert {(row["accelerator_type"], row["chips"]) for row in nodes} == {("v6e", 4)}
    expected = [(f"gke-tpu-{host}", "1", at(0), at(62 if host < 3 else 60)) for host in range(4)]
    expected += [(f"gke-tpu-{host}", "2", at(90), at(240)) for host in range(4)]
    assert sorted(picked(nodes, "resource_id", "attempt_id", "started_at", "ended_at")) == sorted(expected)
    chip_minutes = sum(row["chips"] * (row["ended_at"] - row["started_at"]) / dt.timedelta(minutes=1) for row in nodes)
    assert chip_minutes == 4 * (3 * 62 + 60) + 16 * 150
    assert ("kubernetes", "ml/llama") in picked(part(result, "alias"), "alias_system", "alias_id")


def test_a_pod_on_hyperpod_is_on_a_machine_of_its_cluster_and_known_by_its_workload(tmp_path: Path) -> None:
    """As a live cluster writes them: the machine's id has the cluster's in it, and Kueue's annotation the name of the task."""
    machine = "hyperpod-tqci9uwuwqiz-i-00f3cbe8dfee6b675"
    one = pod(0, 0, 0, 60)
    one["metadata"]["annotations"] = {"kueue.x-k8s.io/workload": "jobset-llama-4f1c2"}
    one["spec"] = {"nodeName": "hyperpod-i-00f3cbe8dfee6b675", "containers": [
        {"resources": {"requests": {"aws.amazon.com/neuroncore": "32"}}}
    ]}  # fmt: skip
    labels = {INSTANCE_TYPE: "ml.trn1.32xlarge", "sagemaker.amazonaws.com/cluster-name": "prod-trn"}
    node = {
        "kind": "Node", "metadata": {"name": "hyperpod-i-00f3cbe8dfee6b675", "labels": labels},
        "spec": {"providerID": f"aws:///use1-az4/sagemaker/cluster/{machine}"},
    }  # fmt: skip
    result = read(tmp_path, listed(one, node), "pods.json")
    assert picked(part(result, "node"), "resource_id", "accelerator_type", "chips") == [(machine, "trn1.32xlarge", 16)]
    assert ("kueue", "ml/jobset-llama-4f1c2") in picked(part(result, "alias"), "alias_system", "alias_id")
    assert {row["cluster_name"] for row in part(result, "run")} == {"prod-trn"}


def test_order_repetition_and_lines_of_a_file_change_nothing(tmp_path: Path) -> None:
    objects = [JOBSET, *PODS]
    stated = {
        "list": json.dumps(listed(*objects)),
        "shuffled": json.dumps(listed(*random.Random(4).sample(objects, len(objects)))),
        "twice": json.dumps(listed(*objects, *objects)),
        "lines": "\n".join(json.dumps(one) for one in objects),
        "array": json.dumps(objects),
    }
    found = {}
    for name, content in stated.items():
        result = read(tmp_path / name, content.encode(), "a.json")
        found[name] = {json.dumps(row, sort_keys=True, default=str) for row in [*part(result, "attempt"), *part(result, "node")]}
    assert all(rows == found["list"] and len(rows) == 10 for rows in found.values())


def test_a_node_object_names_the_machine_of_the_bill_and_its_type(tmp_path: Path) -> None:
    """On EKS a node's name is its address; NeuronCores are two to a chip of Trainium1, and three cores are two chips held."""
    machine = {
        "kind": "Node", "metadata": {"name": "ip-10-0-0-1.ec2.internal", "labels": {INSTANCE_TYPE: "trn1.32xlarge"}},
        "spec": {"providerID": "aws:///us-east-1a/i-0abc"},
    }  # fmt: skip
    job = {
        "kind": "Job", "metadata": {"name": "tune", "namespace": "ml", "uid": "j"}, "spec": {"parallelism": 1},
        "status": {"startTime": stamp(0), "completionTime": stamp(45), "conditions": [condition("Complete", 45)]},
    }  # fmt: skip

    def neuron(resource: str, count: str) -> dict[str, Any]:
        found = pod(0, 0, 0, 45)
        found["metadata"]["labels"] = {"batch.kubernetes.io/job-name": "tune"}
        found["spec"] = {"nodeName": "ip-10-0-0-1.ec2.internal", "containers": [{"resources": {"limits": {resource: count}}}]}
        return found

    asked = (("aws.amazon.com/neuroncore", "3", 2), ("aws.amazon.com/neuron", "16", 16), ("aws.amazon.com/neurondevice", "4", 4))
    for resource, count, chips in asked:
        result = read(tmp_path / resource, listed(job, neuron(resource, count), machine), "job.json")
        [node] = part(result, "node")
        assert (node["resource_id"], node["accelerator_type"], node["chips"]) == ("i-0abc", "trn1.32xlarge", chips)
        assert picked(part(result, "attempt"), "state", "started_at", "ended_at") == [("succeeded", at(0), at(45))]
        assert part(result, "run")[0]["provider_name"] == "AWS"


def test_a_job_that_fails_is_suspended_or_runs_has_that_state(tmp_path: Path) -> None:
    ends = {
        "failed": ([condition("Failed", 20)], ("failed", at(20))),
        "suspended": ([condition("Suspended", 10)], ("interrupted", at(10))),
        "running": ([condition("Suspended", 0, "False")], ("running", None)),
    }
    for name, (conditions, expected) in ends.items():
        job = {"kind": "Job", "metadata": {"name": "a"}, "status": {"startTime": stamp(0), "conditions": conditions}}
        result = read(tmp_path / name, job, "job.json")
        assert picked(part(result, "attempt"), "state", "ended_at") == [expected]
        assert [one.reason for one in result.refusals] == ["run_without_node"]


def test_a_pod_that_was_never_placed_or_asked_for_no_chip_holds_none(tmp_path: Path) -> None:
    waiting, plain = pod(0, 0, 0, None, phase="Pending"), pod(1, 0, 0, 5)
    waiting["spec"].pop("nodeName")
    plain["spec"]["containers"] = [{"resources": {"requests": {"cpu": "500m"}}}]
    assert part(read(tmp_path, listed(waiting, plain), "pods.json"), "node") == []


FORMS_OF = {"jobset": JOBSET, "pod": PODS[0], "batch": PARENT, "ray": RAY, "mlflow": MLFLOW, "pipeline": PIPELINE}


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(sorted(FORMS_OF)), st.data(), ANY_JSON)
def test_any_value_anywhere_is_read_or_refused_and_never_a_crash(name: str, data: st.DataObject, value: Any) -> None:
    document = json.loads(json.dumps(FORMS_OF[name]))
    place: Any = document
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = value
    rows, refused = rows_of_documents(FORMS, [document], "a.json")
    assert rows or refused
    assert all(row["recorded_id"] for row in rows)


def _held(tmp_path: Path, limits: dict[str, str], labels: dict[str, str], name: str = "job.json") -> dict[str, Any]:
    """What a pod of these limits holds on a node of these labels."""
    machine = {"kind": "Node", "metadata": {"name": "n", "labels": labels}, "spec": {"providerID": "aws:///us-east-1a/i-0abc"}}
    found = pod(0, 0, 0, 45)
    found["metadata"]["labels"] = {}
    found["spec"] = {"nodeName": "n", "containers": [{"resources": {"limits": limits}}]}
    [node] = part(read(tmp_path, listed(found, machine), name), "node")
    return node


@pytest.mark.parametrize(
    ("limits", "labels", "chips"),
    [
        ({"nvidia.com/mig-1g.10gb": "1"}, {}, 0.142857),
        ({"nvidia.com/mig-3g.40gb": "2"}, {}, 0.857143),
        ({"nvidia.com/mig-1g.10gb.me": "1", "nvidia.com/gpu": "1"}, {}, 1.142857),
        ({"nvidia.com/mig-7g.80gb": "1"}, {}, 1),
        ({"nvidia.com/mig-1g.6gb": "1"}, {}, 0.25),  # of an A30
        ({"nvidia.com/mig-1g.24gb": "1"}, {INSTANCE_TYPE: "g7e.48xlarge"}, 0.25),
        ({"nvidia.com/mig-1g.24gb": "1"}, {"nvidia.com/gpu.product": "NVIDIA-H100-NVL"}, 0.142857),
        ({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, 0.142857),
        ({"nvidia.com/gpu": "2"}, {"cloud.google.com/gke-gpu-partition-size": "2g.10gb"}, 0.571429),
        ({"nvidia.com/gpu": "1"}, {"cloud.google.com/gke-max-shared-clients-per-gpu": "4"}, 0.25),
        ({"nvidia.com/gpu.shared": "3"}, {"nvidia.com/gpu.replicas": "10"}, 0.3),
        ({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.product": "NVIDIA-L40S"}, 1),
        ({"nvidia.com/gpu.shared": "1"}, {}, 1),  # of how many is not stated
        ({"nvidia.com/mig-1g.10gb.shared": "1"}, {"nvidia.com/mig-1g.10gb.replicas": "2"}, 0.071429),
    ],
)
def test_parts_of_a_gpu_are_parts_of_a_chip(tmp_path: Path, limits: dict, labels: dict, chips: float) -> None:
    assert _held(tmp_path, limits, labels)["chips"] == chips


def test_seven_instances_never_have_more_than_their_gpu() -> None:
    for profiles in (["1g.10gb"] * 7, ["3g.40gb", "4g.40gb"], ["2g.20gb", "2g.20gb", "3g.40gb"], ["1g.10gb"] * 3 + ["4g.40gb"]):
        assert 0.999999 <= sum(in_millionths(mig_part(profile) or 0) for profile in profiles) <= 1 + 1e-12


def test_a_folder_or_a_node_names_the_cluster_of_a_workload(tmp_path: Path) -> None:
    for label in ("sagemaker.amazonaws.com/cluster-name", "alpha.eksctl.io/cluster-name"):
        assert (
            _held(tmp_path / label.partition(".")[0], {"nvidia.com/gpu": "1"}, {label: "trn-east"})["recorded_id"]
            == "trn-east/llama-0-0"
        )
    result = read(tmp_path, listed(JOBSET, *PODS), "cluster=prod/jobset.json")
    assert picked(part(result, "run"), "recorded_id", "cluster_name") == [("prod/llama", "prod")]
    assert ("kubernetes", "prod/ml/llama") in picked(part(result, "alias"), "alias_system", "alias_id")
