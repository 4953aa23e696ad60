"""Run records are found by name, taken whole or refused whole, and every refusal names its field."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import copy
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.deliveries import Converted, Delivery
from connectors.errors import ExportContentError
from connectors.run_records import RecordError, run_json_rows
from connectors.sagemaker_records import sagemaker_rows
from connectors.training_runs import SCHEMA, partition_of
from tests.connectors.kit import converted, found, rows_of, write_bytes

RECORD: dict[str, Any] = {
    "training_run_id": "Run A/1",
    "aliases": [{"system": "slurm", "id": "4711"}],
    "provider_name": "aws",
    "workload_key": "llm-7b",
    "tokens": 1e12,
    "steps": 1000,
    "model_flops": 4.2e22,
    "target_value": 2.5,
    "tags": {"team": "x", "priority": 3, "is_demo": True, "empty": None},
    "attempts": [
        {
            "attempt_id": "a1",
            "state": "COMPLETED",
            "started_at": "2026-04-01T00:00:00Z",
            "ended_at": "2026-04-01T04:00:00+02:00",
            "nodes": [
                {"resource_id": "i-1", "accelerator_type": "trn1.32xlarge", "chips": 16},
                {"resource_id": "i-2", "started_at": "2026-04-01T00:30:00Z", "ended_at": None},
            ],
        }
    ],
}
JOB: dict[str, Any] = {
    "TrainingJobName": "job-1",
    "TrainingJobArn": "arn:aws:sagemaker:us-east-1:012345678901:training-job/job-1",
    "TrainingJobStatus": "Completed",
    "ResourceConfig": {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 4, "VolumeSizeInGB": 100},
    "TrainingStartTime": "2026-04-01T02:00:00.250000+02:00",
    "TrainingEndTime": 1775008800.5,
    "ResponseMetadata": {},
}


def changed(path: str, value: Any, record: dict[str, Any] = RECORD) -> dict[str, Any]:
    """A copy of a record with one field set, or removed when the value is `...`."""
    result = copy.deepcopy(record)
    *parents, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = result
    for step in parents:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return result


def read(tmp_path: Path, record: Any, name: str = "a.run.json") -> Converted:
    content = record if isinstance(record, bytes) else json.dumps(record).encode()
    write_bytes(tmp_path / "runs" / name, content)
    return converted("training_runs", tmp_path / "runs", tmp_path / "landing")


def refused(tmp_path: Path, record: Any, name: str = "a.run.json") -> ExportContentError:
    with pytest.raises(ExportContentError) as caught:
        read(tmp_path, record, name)
    assert caught.value.source_object == name
    return caught.value


def part(result: Converted, name: str) -> list[dict[str, Any]]:
    """The rows of one part, with the filled columns alone."""
    return [{key: value for key, value in row.items() if value is not None} for row in rows_of(result) if row["part"] == name]


# finding


def test_each_json_file_is_a_delivery_found_without_reading_it(tmp_path: Path) -> None:
    for name in ("2026/a.run.json", "b.json", "notes.txt", ".hidden.json", "c.run.json.tmp"):
        write_bytes(tmp_path / "runs" / name, b"not JSON")
    deliveries = found("training_runs", tmp_path / "runs")
    assert [one.partition for one in deliveries] == ["2026~a.run.json", "b.json"]
    assert all(isinstance(one, Delivery) and one.manifest is None for one in deliveries)


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("ab~%/é."), min_size=1, max_size=300), min_size=2, max_size=2, unique=True))
def test_two_keys_never_share_a_partition_and_each_is_one_folder_name(keys: list[str]) -> None:
    first, second = (partition_of(key) for key in keys)
    assert first != second
    assert all("/" not in name and len(name.encode()) < 255 for name in (first, second))


# our own record


def test_a_run_json_becomes_its_rows(tmp_path: Path) -> None:
    result = read(tmp_path, RECORD)
    common = {"record_system": "run_json", "recorded_id": "Run A/1"}
    assert part(result, "run") == [
        {"part": "run", **common, "provider_name": "AWS", "workload_key": "llm-7b", "tokens": 10**12, "steps": 1000,
         "model_flops": 4.2e22, "target_value": 2.5}
    ]  # fmt: skip
    assert part(result, "alias") == [{"part": "alias", **common, "alias_system": "slurm", "alias_id": "4711"}]
    start, end = dt.datetime(2026, 4, 1), dt.datetime(2026, 4, 1, 2)
    assert part(result, "attempt") == [
        {"part": "attempt", **common, "attempt_id": "a1", "state": "succeeded", "started_at": start, "ended_at": end}
    ]
    first, second = part(result, "node")
    assert first == {"part": "node", **common, "attempt_id": "a1", "resource_id": "i-1", "accelerator_type": "trn1.32xlarge",
                     "chips": 16, "node_count": 1}  # fmt: skip
    assert second["started_at"] == dt.datetime(2026, 4, 1, 0, 30)
    assert [(row["tag_key"], row["tag_value"]) for row in part(result, "tag")] == [
        ("team", "x"),
        ("priority", "3"),
        ("is_demo", "true"),
    ]
    assert (result.rows, result.refusals) == (len(rows_of(result)), ())


def test_the_file_has_exactly_the_declared_columns(tmp_path: Path) -> None:
    (one,) = read(tmp_path, {"training_run_id": "x"}).parts
    assert one.path.name == "runs.parquet"
    assert tuple(pq.read_schema(one.path).names) == SCHEMA.names
    SCHEMA.check(pq.read_schema(one.path), "runs.parquet")


def test_a_run_without_nodes_is_kept_with_a_remark(tmp_path: Path) -> None:
    result = read(tmp_path, changed("attempts", []))
    assert len(part(result, "run")) == 1
    assert [(one.reason, one.source_object) for one in result.refusals] == [("run_without_node", "a.run.json")]


def test_fields_nobody_reads_are_counted(tmp_path: Path) -> None:
    assert read(tmp_path, RECORD | {"mood": "good"}).unknown_columns == ("mood",)


@pytest.mark.parametrize(
    ("path", "value", "reason", "field"),
    [
        ("training_run_id", ..., "missing_value", "training_run_id"),
        ("training_run_id", " ", "missing_value", "training_run_id"),
        ("training_run_id", 7, "wrong_type", "training_run_id"),
        ("tokens", "many", "wrong_type", "tokens"),
        ("tokens", 1.5, "wrong_type", "tokens"),
        ("tokens", -1, "wrong_type", "tokens"),
        ("tokens", 10**30, "wrong_type", "tokens"),
        ("tokens", True, "wrong_type", "tokens"),
        ("target_value", 10**400, "wrong_type", "target_value"),
        ("provider_name", "Azure", "wrong_value", "provider_name"),
        ("aliases.0.id", ..., "missing_value", "aliases[0]"),
        ("attempts", {"a": 1}, "wrong_type", "attempts"),
        ("attempts.0.started_at", "yesterday", "wrong_type", "attempts[0].started_at"),
        ("attempts.0.started_at", 1775001600, "wrong_type", "attempts[0].started_at"),
        ("attempts.0.ended_at", "2026-03-31T23:59:59Z", "ends_before_start", "attempts[0].ended_at"),
        # the second node has no end of its own: it is given back when the attempt ends
        ("attempts.0.nodes.1.started_at", "2026-04-30T00:00:00Z", "ends_before_start", "attempts[0].nodes[1].ended_at"),
        ("attempts.0.nodes.0.chips", 0.5, "wrong_type", "attempts[0].nodes[0].chips"),
        ("attempts.0.nodes.0.resource_id", ..., "missing_value", "attempts[0].nodes[0]"),
        ("attempts.0.nodes.0.resource_id", "", "missing_value", "attempts[0].nodes[0].resource_id"),
        ("attempts.0.nodes.1.ended_at", "2026-04-01T00:29:59Z", "ends_before_start", "attempts[0].nodes[1].ended_at"),
        ("attempts.0.started_at", None, "missing_value", "attempts[0].nodes[0].started_at"),
        ("tags", {"a": [1]}, "wrong_type", "tags[...]"),
    ],
)
def test_a_malformed_record_is_refused_with_its_field(tmp_path: Path, path: str, value: Any, reason: str, field: str) -> None:
    error = refused(tmp_path, changed(path, value))
    assert (error.reason, error.column_name) == (reason, field)
    assert "a.run.json" in str(error) and "Correct the record" in error.remedy


def test_two_attempts_of_one_id_are_two(tmp_path: Path) -> None:
    """A node without times has those of its attempt, and of no other."""
    attempts = [
        {"attempt_id": name, "started_at": f"2026-04-01T0{hour}:00:00Z", "nodes": [{"resource_id": f"i-{hour}"}]}
        for hour, name in enumerate(["2", None, "2"])
    ]
    result = read(tmp_path, changed("attempts", attempts))
    assert [row["attempt_id"] for row in part(result, "attempt")] == ["2", "2'", "2''"]
    assert [(row["attempt_id"], row["resource_id"]) for row in part(result, "node")] == [
        ("2", "i-0"),
        ("2'", "i-1"),
        ("2''", "i-2"),
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "bad_json"),
        (b'{"training_run_id": "x"', "bad_json"),
        (b"\xff", "bad_json"),
        (b"[]", "unknown_record"),
        (b'"x"', "unknown_record"),
        (b'{"training_run_id": "x", "tags": ' + b'{"a":' * 200_000, "too_deep"),
    ],
)
def test_a_file_that_is_no_record_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    assert refused(tmp_path, content).reason == reason


def test_json_that_is_neither_record_is_unknown(tmp_path: Path) -> None:
    assert refused(tmp_path, {"jobName": "x"}, "other.json").reason == "unknown_record"


_WORDS = {"Completed": "succeeded", "FAILED": "failed", "NODE_FAIL": "failed", "cancelled": "stopped", "Preempted": "interrupted"}


@pytest.mark.parametrize(("word", "state"), [*_WORDS.items(), ("in-progress", "running"), ("odd", "unknown"), (None, "unknown")])
def test_states_become_those_of_the_contract(word: str | None, state: str) -> None:
    rows, _ = run_json_rows({"training_run_id": "x", "attempts": [{"state": word}]})
    assert rows[1]["state"] == state


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.sampled_from(list(RECORD)), _JSON)
def test_any_value_in_any_field_is_taken_or_refused_by_name(field: str, value: Any) -> None:
    try:
        rows, _ = run_json_rows(RECORD | {field: value})
    except RecordError as error:
        assert error.field is not None and error.field.startswith(field)
    else:
        assert rows[0]["part"] == "run"


@settings(deadline=None)
@given(st.sampled_from(list(JOB)), _JSON)
def test_any_value_in_a_job_is_taken_or_refused_by_name(field: str, value: Any) -> None:
    try:
        rows = sagemaker_rows(JOB | {field: value})
    except RecordError as error:
        assert error.field is not None and (error.field.startswith(field) or error.reason == "ends_before_start")
    else:
        assert rows[0]["part"] == "run"


# SageMaker


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
