"""Run records are found by name, taken whole or refused whole, and every refusal names its field."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import copy
import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.deliveries import Delivery
from connectors.runs.run_records import RecordError, run_json_rows
from connectors.runs.training_runs import SCHEMA, partition_of
from tests.connectors.kit import found, rows_of, write_bytes
from tests.connectors.records import ANY_JSON, part, read, refused

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


def test_numbers_of_jobs_are_those_of_the_records_cluster(tmp_path: Path) -> None:
    """Also where the run is called as its job is."""
    record = changed("cluster", "prod") | {"training_run_id": "4711", "parent_run_id": "Pre/1"}
    record["aliases"] = [{"system": "slurm", "id": "4711"}, {"system": "Slurm", "id": "dev/3"}, {"system": "batch", "id": "9"}]
    result = read(tmp_path, record)
    [run] = part(result, "run")
    assert (run["recorded_id"], run["cluster_name"], run["parent_run_id"]) == ("prod/4711", "prod", "Pre/1")
    assert [row["alias_id"] for row in part(result, "alias")] == ["prod/4711", "dev/3", "9"]


# finding


def test_each_json_file_is_a_delivery_found_without_reading_it(tmp_path: Path) -> None:
    for name in ("2026/a.run.json", "b.json", "notes.txt", ".hidden.json", "c.run.json.tmp"):
        write_bytes(tmp_path / "runs" / name, b"not JSON")
    deliveries = found("training_runs", tmp_path / "runs")
    assert [one.partition for one in deliveries] == ["2026~a.run.json", "b.json"]
    assert all(isinstance(one, Delivery) and one.manifest is None for one in deliveries)


def test_logs_and_tables_are_looked_at_and_texts_only_by_the_names_of_logs(tmp_path: Path) -> None:
    taken = [
        "a.jsonl",
        "jobs.csv",
        "worker-0.log",
        "x.json.gz",
        "run=a/metrics_step_000000_to_step_000099.txt",
        "gpt3_result_0.txt",
    ]
    for name in (*taken, "readme.txt", "results.md", "a.log.bak", ".result.txt"):
        write_bytes(tmp_path / "runs" / name, b"x")
    assert sorted(one.partition for one in found("training_runs", tmp_path / "runs")) == sorted(
        n.replace("/", "~") for n in taken
    )


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


def test_versions_of_software_and_checkpoints_are_taken(tmp_path: Path) -> None:
    versions = {"framework_version": "2.9", "sdk_name": "neuron", "sdk_version": "2.33.0", "driver_version": "2.31.7.0"}
    places = {"runtime_version": "2.35.30.0", "cluster_name": "prod-trn", "slice_name": "us-1"}
    saved = changed("attempts.0.checkpoints", [{"at": "2026-04-01T01:00:00Z", "step": 500}], RECORD | versions | places)
    result = read(tmp_path, saved)
    assert (versions | places).items() <= part(result, "run")[0].items()
    [row] = part(result, "progress")
    assert (row["attempt_id"], row["progress_kind"], row["step"], row["happened_at"]) == (
        "a1", "checkpoint", 500, dt.datetime(2026, 4, 1, 1),
    )  # fmt: skip
    wrong = refused(tmp_path / "wrong", changed("attempts.0.checkpoints", [{"at": "soon"}]))
    assert (wrong.reason, wrong.column_name) == ("wrong_type", "attempts[0].checkpoints[0].at")


def test_the_copy_of_a_record_is_written_plainly(tmp_path: Path) -> None:
    """Exactly the declared columns. A codec for each of some dozen rows costs more than the rows, to write and to read."""
    [copy] = read(tmp_path, {"training_run_id": "run-a"}).parts
    assert (copy.path.name, tuple(pq.read_schema(copy.path).names)) == ("runs.parquet", SCHEMA.names)
    SCHEMA.check(pq.read_schema(copy.path), "runs.parquet")
    columns = pq.read_metadata(copy.path).row_group(0).to_dict()["columns"]
    assert {(column["compression"], column["statistics"]) for column in columns} == {("UNCOMPRESSED", None)}


def test_a_run_without_nodes_is_kept_with_a_remark(tmp_path: Path) -> None:
    result = read(tmp_path, changed("attempts", []))
    assert len(part(result, "run")) == 1
    assert [(one.reason, one.source_object) for one in result.refusals] == [("run_without_node", "a.run.json")]


def test_unread_fields_are_counted(tmp_path: Path) -> None:
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
        ("attempts.0.nodes.0.chips", -0.5, "wrong_value", "attempts[0].nodes[0].chips"),
        ("attempts.0.nodes.0.chips", 1e30, "wrong_value", "attempts[0].nodes[0].chips"),
        ("attempts.0.nodes.0.chips", 1e-7, "wrong_value", "attempts[0].nodes[0].chips"),
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
    rows = run_json_rows({"training_run_id": "x", "attempts": [{"state": word}]})
    assert rows[1]["state"] == state


@settings(deadline=None)
@given(st.sampled_from(list(RECORD)), ANY_JSON)
def test_any_value_in_any_field_is_taken_or_refused_by_name(field: str, value: Any) -> None:
    try:
        rows = run_json_rows(RECORD | {field: value})
    except RecordError as error:
        assert error.field is not None and error.field.startswith(field)
    else:
        assert rows[0]["part"] == "run"
