"""SageMaker's training job is a run record: the job is the resource, and its groups of machines are the nodes."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.runs.run_records import RecordError
from connectors.runs.sagemaker import sagemaker_rows
from tests.connectors.records import ANY_JSON, part, read, refused

JOB: dict[str, Any] = {
    "TrainingJobName": "job-1",
    "TrainingJobArn": "arn:aws:sagemaker:us-east-1:012345678901:training-job/job-1",
    "TrainingJobStatus": "Completed",
    "ResourceConfig": {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 4, "VolumeSizeInGB": 100},
    "TrainingStartTime": "2026-04-01T02:00:00.250000+02:00",
    "TrainingEndTime": 1775008800.5,
    "ResponseMetadata": {},
}


@settings(deadline=None)
@given(st.sampled_from(list(JOB)), ANY_JSON)
def test_any_value_in_a_job_is_taken_or_refused_by_name(field: str, value: Any) -> None:
    try:
        rows = sagemaker_rows(JOB | {field: value})
    except RecordError as error:
        assert error.field is not None and (error.field.startswith(field) or error.reason == "ends_before_start")
    else:
        assert rows[0]["part"] == "run"


def test_a_sagemaker_job_is_a_run_whose_resource_is_the_job(tmp_path: Path) -> None:
    result = read(tmp_path, JOB, "job.json")
    arn = JOB["TrainingJobArn"]
    common = {"record_system": "sagemaker", "recorded_id": "job-1"}
    times = {"started_at": dt.datetime(2026, 4, 1, 0, 0, 0, 250000), "ended_at": dt.datetime(2026, 4, 1, 2, 0, 0, 500000)}
    assert part(result, "alias") == [{"part": "alias", **common, "alias_system": "sagemaker", "alias_id": arn}]
    assert part(result, "attempt") == [{"part": "attempt", **common, "attempt_id": "1", "state": "succeeded", **times}]
    assert part(result, "node") == [
        {
            "part": "node",
            **common,
            "attempt_id": "1",
            "resource_id": arn,
            "accelerator_type": "trn1.32xlarge",
            "node_count": 4,
            **times,
        }
    ]


def test_the_plan_that_paid_for_a_job_is_read_or_refused_by_name(tmp_path: Path) -> None:
    arn = "arn:aws:sagemaker:us-east-1:012345678901:training-plan/p"
    planned = JOB | {"ResourceConfig": {**JOB["ResourceConfig"], "TrainingPlanArn": arn}}
    aliases = {(row["alias_system"], row["alias_id"]) for row in part(read(tmp_path, planned, "job.json"), "alias")}
    assert aliases == {("sagemaker", JOB["TrainingJobArn"]), ("training_plan", arn)}
    with pytest.raises(RecordError) as caught:
        sagemaker_rows(JOB | {"ResourceConfig": {"TrainingPlanArn": 7}})
    assert caught.value.field == "ResourceConfig.TrainingPlanArn"


def test_a_job_that_never_started_holds_nothing(tmp_path: Path) -> None:
    job = {key: value for key, value in JOB.items() if key not in {"TrainingStartTime", "TrainingEndTime"}}
    result = read(tmp_path, job | {"TrainingJobStatus": "Stopped"}, "job.json")
    assert part(result, "node") == []
    assert part(result, "attempt")[0]["state"] == "stopped"
    assert [one.reason for one in result.refusals] == ["run_without_node"]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["trn1.32xlarge", "trn1.2xlarge"], [("trn1.32xlarge", 1), ("trn1.2xlarge", 2)]),
        (["c5.large", "trn1.32xlarge"], [("trn1.32xlarge", 2)]),  # a group that only feeds the others
        (["c5.large"], [("c5.large", 1)]),
    ],
)
def test_each_kind_of_machine_with_chips_is_a_node(tmp_path: Path, types: list[str], expected: list[Any]) -> None:
    groups = [{"InstanceType": f"ml.{type_}", "InstanceCount": count} for count, type_ in enumerate(types, start=1)]
    result = read(tmp_path, JOB | {"ResourceConfig": {"InstanceGroups": groups}}, "job.json")
    assert [(row["accelerator_type"], row["node_count"]) for row in part(result, "node")] == expected


def test_of_the_types_a_job_would_have_taken_the_one_it_was_given_counts(tmp_path: Path) -> None:
    offered = [{"InstanceType": "ml.trn2.48xlarge", "InstanceCount": 1}, {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 4}]
    config = {"InstancePreferences": offered, "SelectedInstanceType": "ml.trn1.32xlarge", "SelectedInstanceCount": 4}
    result = read(tmp_path, JOB | {"ResourceConfig": config}, "job.json")
    assert [(row["accelerator_type"], row["node_count"]) for row in part(result, "node")] == [("trn1.32xlarge", 4)]


def test_two_instance_groups_of_one_type_are_the_machines_of_both(tmp_path: Path) -> None:
    groups = [{"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 1}, {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 1}]
    result = read(tmp_path, JOB | {"ResourceConfig": {"InstanceGroups": groups}}, "job.json")
    assert [(row["accelerator_type"], row["node_count"]) for row in part(result, "node")] == [("trn1.32xlarge", 2)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"TrainingJobName": None}, "missing_value"),
        ({"TrainingJobArn": 7}, "wrong_type"),
        ({"TrainingStartTime": "now"}, "wrong_type"),
        ({"TrainingStartTime": 1e300}, "wrong_type"),
        ({"TrainingEndTime": "2026-03-01T00:00:00Z"}, "ends_before_start"),
        ({"ResourceConfig": {"InstanceType": "ml.trn1.2xlarge", "InstanceCount": 0}}, "wrong_type"),
    ],
)
def test_a_malformed_job_is_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    assert refused(tmp_path, JOB | change, "job.json").reason == reason
