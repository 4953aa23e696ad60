"""Vertex AI's CustomJob is a run record: who held which TPUs from when to when."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import copy
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import ExportContentError
from connectors.formats.tpu_names import topology_chips_of, tpu_chips_of, tpu_type_of
from connectors.runs.run_records import RecordError
from connectors.runs.vertex import is_vertex, vertex_rows
from tests.connectors.kit import converted, rows_of, write_bytes

NAME = "projects/000123456789/locations/us-west4/customJobs/4711"
JOB: dict[str, Any] = {
    "name": NAME,
    "displayName": "llm-7b",
    "jobSpec": {
        "workerPoolSpecs": [
            {"machineSpec": {"machineType": "ct5p-hightpu-4t"}, "replicaCount": "16", "diskSpec": {"bootDiskSizeGb": 100}},
            {"machineSpec": {"machineType": "n2-standard-8"}, "replicaCount": "2"},
        ]
    },
    "state": "JOB_STATE_SUCCEEDED",
    "createTime": "2026-04-01T00:00:00.123456Z",
    "startTime": "2026-04-01T01:00:00Z",
    "endTime": "2026-04-01T03:00:00Z",
    "labels": {"team": "x"},
}


def job(pool: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """The job, with its first worker pool replaced."""
    result = {**copy.deepcopy(JOB), **changes}
    if pool is not None:
        result["jobSpec"] = {"workerPoolSpecs": [pool]}
    return result


def nodes(document: dict[str, Any]) -> list[tuple[str | None, int | None, int]]:
    rows = [row for row in vertex_rows(document) if row["part"] == "node"]
    return [(row["accelerator_type"], row["chips"], row["node_count"]) for row in rows]


def test_a_job_is_a_run_with_its_name_as_alias_and_resource(tmp_path: Path) -> None:
    write_bytes(tmp_path / "runs" / "vertex/4711.json", json.dumps(JOB).encode())
    result = converted("training_runs", tmp_path / "runs", tmp_path / "landing")
    run, alias, attempt, node = rows_of(result)
    assert {row["record_system"] for row in (run, alias, attempt, node)} == {"vertex"}
    assert (run["recorded_id"], run["provider_name"]) == ("4711", "Google Cloud")
    assert (alias["alias_system"], alias["alias_id"]) == ("vertex", NAME)
    # createTime is when the job began to wait
    assert (attempt["state"], attempt["started_at"], attempt["ended_at"]) == (
        "succeeded", dt.datetime(2026, 4, 1, 1), dt.datetime(2026, 4, 1, 3),
    )  # fmt: skip
    # sixteen machines of four chips; the pool of plain machines holds none
    assert (node["resource_id"], node["accelerator_type"], node["chips"], node["node_count"]) == (NAME, "v5p", 4, 16)
    assert result.refusals == ()


def test_a_label_names_the_run_and_the_display_name_does_not() -> None:
    """Two jobs may have one display name; they would become one run."""
    assert vertex_rows(job(labels={"training_run_id": "run-a"}))[0]["recorded_id"] == "run-a"
    assert vertex_rows(job(labels=None))[0]["recorded_id"] == "4711"


@pytest.mark.parametrize("count", ["16", 16])
def test_a_replica_count_is_text_or_a_number(count: Any) -> None:
    assert nodes(job({"machineSpec": {"machineType": "ct6e-standard-8t"}, "replicaCount": count})) == [("v6e", 8, 16)]


@pytest.mark.parametrize(
    ("topology", "replicas", "machines"),
    # one replica of a 4x4 slice is 16 chips, which are four machines of four; a slice of one machine is one
    [("4x4", "1", 4), ("2x2", "1", 1), (None, "4", 4), ("4x4", "4", 4), ("2x2x4", "1", 4), ("odd", "3", 3)],
)
def test_a_replica_is_a_slice_that_may_be_many_machines(topology: str | None, replicas: str, machines: int) -> None:
    machine = {"machineType": "ct5lp-hightpu-4t", "tpuTopology": topology}
    assert nodes(job({"machineSpec": machine, "replicaCount": replicas})) == [("v5e", 4, machines)]


def test_a_chief_and_a_worker_of_one_kind_are_two_machines() -> None:
    """As two equal rows they would be read as one row delivered twice."""
    pool = {"machineSpec": {"machineType": "ct6e-standard-4t"}, "replicaCount": 1}
    other = {"machineSpec": {"machineType": "ct6e-standard-8t"}, "replicaCount": 3}
    assert nodes(job(jobSpec={"workerPoolSpecs": [pool, pool]})) == [("v6e", 4, 2)]
    assert nodes(job(jobSpec={"workerPoolSpecs": [pool, other, pool]})) == [("v6e", 4, 2), ("v6e", 8, 3)]


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({"machineType": "cloud-tpu", "acceleratorType": "TPU_V5_LITEPOD", "acceleratorCount": 8}, [("v5e", 8, 1)]),
        (
            {"machineType": "a2-highgpu-8g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 8},
            [("a2-highgpu-8g", 8, 1)],
        ),
        ({"machineType": "a3-highgpu-8g"}, [("a3-highgpu-8g", None, 1)]),
        ({"machineType": "n1-standard-4", "acceleratorType": "ACCELERATOR_TYPE_UNSPECIFIED"}, []),
    ],
)
def test_other_accelerators_keep_their_machines_name(machine: dict[str, Any], expected: list[Any]) -> None:
    assert nodes(job({"machineSpec": machine})) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("JOB_STATE_FAILED", "failed"), ("JOB_STATE_CANCELLED", "stopped"), ("JOB_STATE_CANCELLING", "running"),
        ("JOB_STATE_RUNNING", "running"), ("JOB_STATE_EXPIRED", "failed"), ("JOB_STATE_PAUSED", "interrupted"),
        ("JOB_STATE_QUEUED", "unknown"), (None, "unknown"),
    ],
)  # fmt: skip
def test_states_are_ours(state: str | None, expected: str) -> None:
    assert [row["state"] for row in vertex_rows(job(state=state)) if row["part"] == "attempt"] == [expected]


def test_a_job_that_still_waits_holds_nothing(tmp_path: Path) -> None:
    waiting = job(state="JOB_STATE_PENDING", startTime=None, endTime=None)
    assert nodes(waiting) == []
    write_bytes(tmp_path / "runs" / "a.json", json.dumps(waiting).encode())
    (remark,) = converted("training_runs", tmp_path / "runs", tmp_path / "landing").refusals
    assert remark.reason == "run_without_node"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": None}, "name"),
        ({"name": "customJobs/1"}, "name"),
        ({"startTime": "soon"}, "startTime"),
        ({"endTime": "2026-03-31T00:00:00Z"}, "endTime"),
        ({"state": 3}, "state"),
        ({"jobSpec": {"workerPoolSpecs": {}}}, None),
        ({"jobSpec": {"workerPoolSpecs": [1]}}, "jobSpec.workerPoolSpecs"),
        ({"jobSpec": {"workerPoolSpecs": [{"machineSpec": 1}]}}, "jobSpec.workerPoolSpecs.machineSpec"),
        (
            {"jobSpec": {"workerPoolSpecs": [{"machineSpec": {"machineType": "ct6e-standard-4t"}, "replicaCount": "-1"}]}},
            "replicaCount",
        ),
    ],
)
def test_a_malformed_job_is_refused_by_field(changes: dict[str, Any], field: str | None) -> None:
    if field is None:
        assert nodes(job(**changes)) == []  # an empty list that some client wrote as an object
        return
    with pytest.raises(RecordError) as refused:
        vertex_rows(job(**changes))
    assert refused.value.field == field


def test_a_malformed_job_is_refused_with_its_file(tmp_path: Path) -> None:
    write_bytes(tmp_path / "runs" / "a.json", json.dumps(job(endTime="2026-03-31T00:00:00Z")).encode())
    with pytest.raises(ExportContentError, match=r"runs/a\.json: endTime lies before its start"):
        converted("training_runs", tmp_path / "runs", tmp_path / "landing")


def test_only_a_custom_job_is_one() -> None:
    assert is_vertex(JOB) and is_vertex({"name": NAME}) and is_vertex({"jobSpec": {}})
    assert not is_vertex({"training_run_id": "a"}) and not is_vertex({"name": 3})


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("ct5lp-hightpu-4t", "v5e"), ("ct5l-hightpu-1t", "v5e"), ("tpu-v5-lite-podslice", "v5e"), ("TPU_V5_LITEPOD", "v5e"),
        ("ct5p-hightpu-4t", "v5p"), ("tpu-v5p-slice", "v5p"), ("ct6e-standard-8t", "v6e"), ("tpu-v6e-slice", "v6e"),
        ("tpu7x", "v7x"), ("tpu7x-standard-4t", "v7x"), ("ct4p-hightpu-4t", "v4"), ("tpu-v4-podslice", "v4"), ("TPU_V3", "v3"),
        ("ct3p-hightpu-4t", "v3"), ("TPU_V4_POD", "v4"), ("v5litepod-8", "v5e"), ("v5p-1024", "v5p"), ("TPU v6 lite", "v6e"),
        ("tpu8t-standard-4t", "v8t"), ("ct8i-standard-8t", "v8i"), ("TPU 8t", "v8t"), ("tpu-v8-slice", "v8"), ("8i", "v8i"),
        ("n2-standard-8", None), ("a3-megagpu-8g", None), ("NVIDIA_TESLA_V100", None), ("cloud-tpu", None), (None, None),
    ],
)  # fmt: skip
def test_every_name_of_a_generation_means_one_type(name: str | None, type_: str | None) -> None:
    assert tpu_type_of(name) == type_


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ({"machineType": "tpu8t-standard-4t"}, [("v8t", 4, 2)]),
        ({"machineType": "zeta-4t"}, [("zeta-4t", 4, 2)]),
        ({"machineType": "zeta-standard", "tpuTopology": "4x4"}, [("zeta-standard", 16, 2)]),
        ({"machineType": "zeta-4t", "tpuTopology": "4x4"}, [("zeta-4t", 4, 4)]),
        ({"acceleratorType": "TPU_V9", "acceleratorCount": 8}, [("v9", 8, 2)]),
    ],
)
def test_an_unknown_generation_keeps_its_name_and_chips(machine: dict[str, Any], expected: list[Any]) -> None:
    assert nodes(job({"machineSpec": machine, "replicaCount": 2})) == expected


def test_chips_stand_in_the_name_of_a_machine_and_of_a_slice() -> None:
    assert (tpu_chips_of("ct6e-standard-8t"), tpu_chips_of("n2-standard-8"), tpu_chips_of(None)) == (8, None, None)
    assert (topology_chips_of("4x4x8"), topology_chips_of("2x2"), topology_chips_of("8"), topology_chips_of(None)) == (
        128,
        4,
        None,
        None,
    )
