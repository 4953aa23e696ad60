"""Slurm's accounting, of old and new parsers: who ran where, and the joules that were counted, once."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import copy
import datetime as dt
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.runs.host_lists import hosts_of
from connectors.runs.run_records import RecordError
from connectors.runs.slurm import is_sacct, runs_of, slurm_rows
from tests.connectors.records import ANY_JSON, part, read, refused

START, END = 1_780_000_000, 1_780_003_600
NO_VALUE = 2**64 - 2


def number(value: int | None, infinite: bool = False) -> dict[str, Any]:
    """A number as parsers from v0.0.40 on write it."""
    return {"set": value is not None and not infinite, "infinite": infinite, "number": value or 0}


def step(label: Any, joules: Any, nodes: list[str], start: Any = START, end: Any = END) -> dict[str, Any]:
    return {
        "time": {"start": start, "end": end},
        "nodes": {"count": len(nodes), "range": ",".join(nodes), "list": nodes},
        "step": {"id": label, "name": "x"},
        "statistics": {"CPU": {"actual_frequency": 0}, "energy": {"consumed": joules}},
    }


def job(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A job as data_parser/v0.0.41 writes it: 16 Neuron devices on each of four machines."""
    return {
        "account": "research",
        "cluster": "trn",
        "comment": {"administrator": "", "job": "training_run_id=llama-8b", "system": ""},
        "array": {"job_id": 0, "task_id": number(None), "task": ""},
        "het": {"job_id": 0, "job_offset": number(None)},
        "job_id": 48213,
        "nodes": "trn[01-03,7]",
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "steps": list(steps),
        "time": {"submission": START - 60, "start": START, "end": END, "elapsed": END - START},
        "tres": {
            "allocated": [
                {"type": "node", "name": "", "id": 4, "count": 4},
                {"type": "gres", "name": "neuron", "id": 1001, "count": 64},
            ]
        },
        "wckey": {"wckey": "*pretraining", "flags": []},
        **more,
    }


def answer(*jobs: dict[str, Any]) -> dict[str, Any]:
    return {"jobs": list(jobs), "meta": {"plugin": {"data_parser": "data_parser/v0.0.41"}}, "errors": [], "warnings": []}


def readings(tmp_path: Path, *jobs: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = part(read(tmp_path, answer(*jobs), "sacct.json"), "reading")
    return [(row.get("resource_id"), row["energy_j"], (row["ended_at"] - row["started_at"]).total_seconds()) for row in rows]


ALL = ["trn01", "trn02", "trn03", "trn7"]


def test_a_job_is_a_run_with_its_machines_chips_team_and_names(tmp_path: Path) -> None:
    result = read(tmp_path, answer(job()), "sacct.json")
    (run,) = part(result, "run")
    assert (run["recorded_id"], run["team"], run["workload_key"], run["cluster_name"]) == (
        "llama-8b",
        "research",
        "pretraining",
        "trn",
    )
    assert [row["alias_id"] for row in part(result, "alias")] == ["trn/48213"]
    (attempt,) = part(result, "attempt")
    assert (attempt["state"], attempt["started_at"]) == ("succeeded", dt.datetime(2026, 5, 28, 20, 26, 40))
    nodes = part(result, "node")
    assert [row["resource_id"] for row in nodes] == ALL
    assert {(row["chips"], row["ended_at"] - row["started_at"]) for row in nodes} == {(16, dt.timedelta(hours=1))}


def test_the_oldest_parser_writes_plain_numbers_and_one_state(tmp_path: Path) -> None:
    """As in a real answer of Slurm 22.05.9 (openapi/dbv0.0.38): an array's task on four machines with 16 GPUs."""
    old = job(
        comment={"administrator": None, "job": None, "system": None},
        array={"job_id": 20247445, "limits": {"max": {"running": {"tasks": 0}}}, "task": None, "task_id": 100},
        het={"job_id": 0, "job_offset": None},
        job_id=20247446,
        nodes="ng[30103,30203,30706-30707]",
        state={"current": "CANCELLED", "reason": "None"},
        tres={
            "allocated": [
                {"type": "gres", "name": "gpu", "id": 1001, "count": 16},
                {"type": "gres", "name": "gpu:a100", "count": 16},
            ]
        },
    )
    result = read(tmp_path, answer(old), "sacct.json")
    (run,) = part(result, "run")
    assert run["recorded_id"] == "trn/20247445_100"
    assert [row["alias_id"] for row in part(result, "alias")] == ["trn/20247445_100", "trn/20247446"]
    assert [row["resource_id"] for row in part(result, "node")] == ["ng30103", "ng30203", "ng30706", "ng30707"]
    assert {(row["chips"], row["accelerator_type"]) for row in part(result, "node")} == {(4, "a100")}
    assert [row["state"] for row in part(result, "attempt")] == ["stopped"]


@pytest.mark.parametrize("none", [0, None, NO_VALUE, 2**32 - 2, number(None), number(0), number(7, infinite=True)])
def test_no_plugin_is_never_zero_energy(tmp_path: Path, none: Any) -> None:
    assert readings(tmp_path, job(step("batch", none, ALL[:1]), step(0, none, ALL))) == []


@pytest.mark.parametrize(("joules", "expected"), [(3_599_999_999_999, [3_599_999_999_999.0]), (3_600_000_000_000, [])])
def test_joules_of_a_job_are_those_of_less_than_a_gigawatt(tmp_path: Path, joules: int, expected: list[float]) -> None:
    """Of an hour that is 3.6e12: a counter that ran over gives more."""
    assert [row[1] for row in readings(tmp_path, job(step("48213.extern", number(joules), ALL)))] == expected


def test_the_extern_step_counts_all_machines_once(tmp_path: Path) -> None:
    """With PrologFlags=Contain Slurm itself takes the joules of the extern step as the job's; the others run inside it."""
    steps = (
        step("48213.extern", number(8_000_000), ALL),
        step("48213.batch", number(2_000_000), ALL[:1]),
        step("48213.0", number(7_900_000), ALL),
    )
    assert readings(tmp_path, job(*steps)) == [(None, 8_000_000.0, 3600.0)]


def test_without_it_one_machines_batch_step_holds_its_sruns(tmp_path: Path) -> None:
    one = job(step("batch", 1000, ["trn1"]), step(0, 900, ["trn1"]), step(1, 50, ["trn1"]), nodes="trn1")
    assert readings(tmp_path, one) == [(None, 1000.0, 3600.0)]


def test_and_of_several_machines_the_sruns_count_on_their_own(tmp_path: Path) -> None:
    first, last = step(0, 4001, ALL, END - 3600, END - 1800), step("48213.1", number(11), ALL[1:3], END - 1800, END)
    expected = [(None, 4001.0, 1800.0), ("trn02", 6.0, 1800.0), ("trn03", 5.0, 1800.0)]
    assert readings(tmp_path, job(step("batch", 2000, ALL[:1]), first, last)) == expected
    assert readings(tmp_path, job(step("batch", 2000, ALL[:1]))) == [("trn01", 2000.0, 3600.0)]
    added_up = job(tres={"allocated": [{"type": "energy", "name": None, "id": 3, "count": 5000}]})
    assert readings(tmp_path, added_up) == [(None, 5000.0, 3600.0)]


def test_a_job_that_is_queued_again_has_two_attempts(tmp_path: Path) -> None:
    """As in a real answer: the one that a machine ended has no end of its own, but a length."""
    failed = job(state={"current": "NODE_FAIL"}, time={"submission": START, "start": START, "end": 0, "elapsed": 600})
    again = job(time={"submission": START, "start": START + 900, "end": END, "elapsed": 2700})
    result = read(tmp_path, answer(again, failed), "sacct.json")
    attempts = [(row["attempt_id"], row["state"], row["ended_at"] - row["started_at"]) for row in part(result, "attempt")]
    assert attempts == [
        ("2026-05-28T20:26:40Z", "failed", dt.timedelta(seconds=600)),
        ("2026-05-28T20:41:40Z", "succeeded", dt.timedelta(seconds=2700)),
    ]
    assert part(read(tmp_path / "b", answer(again), "sacct.json"), "attempt")[0]["attempt_id"] == attempts[1][0]
    assert len(part(result, "run")) == 1 and len(part(result, "node")) == 8


def test_parts_of_a_heterogeneous_job_are_one_run_and_keep_their_joules(tmp_path: Path) -> None:
    parts = [
        job(
            step("extern", 100, nodes),
            job_id=48213 + place,
            het={"job_id": 48213, "job_offset": number(place)},
            nodes=",".join(nodes),
        )
        for place, nodes in enumerate((["head"], ["w1", "w2"]))
    ]
    result = read(tmp_path, answer(*parts), "sacct.json")
    assert len(part(result, "run")) == len(part(result, "attempt")) == 1
    assert [row["resource_id"] for row in part(result, "node")] == ["head", "w1", "w2"]
    assert [(row["resource_id"], row["energy_j"]) for row in part(result, "reading")] == [("head", 100), ("w1", 50), ("w2", 50)]


def test_a_job_that_waits_or_runs_has_no_end_and_a_cancelled_one_no_machine(tmp_path: Path) -> None:
    waits = job(job_id=1, comment="", nodes="None assigned", state={"current": ["PENDING"]}, time={"start": 0, "end": 0})
    runs = job(job_id=2, comment="", state={"current": ["RUNNING"]}, time={"start": START, "end": 0, "elapsed": 60})
    result = read(tmp_path, answer(waits, runs), "sacct.json")
    assert [row["recorded_id"] for row in part(result, "run")] == ["trn/1", "trn/2"]
    assert {(row["recorded_id"], row.get("ended_at")) for row in part(result, "node")} == {("trn/2", None)}


def test_jobs_of_one_number_in_two_clusters_are_two_and_without_a_cluster_the_number_is_all_there_is(tmp_path: Path) -> None:
    jobs = (job(job_id=7000, comment="", cluster=cluster) for cluster in ("prod", "dev", ""))
    assert [row["recorded_id"] for row in part(read(tmp_path, answer(*jobs), "sacct.json"), "run")] == [
        "prod/7000",
        "dev/7000",
        "7000",
    ]


@pytest.mark.parametrize("state", [" ", {"current": " "}, {"current": ["", " "]}, {"current": []}])
def test_a_state_without_a_word_is_unknown(tmp_path: Path, state: Any) -> None:
    assert [row["state"] for row in part(read(tmp_path, answer(job(state=state)), "sacct.json"), "attempt")] == ["unknown"]


def test_one_broken_job_is_refused_and_the_others_are_taken(tmp_path: Path) -> None:
    result = read(tmp_path, answer(job(), job(job_id="x"), job(job_id=3, nodes="a[1-")), "sacct.json")
    assert len(part(result, "run")) == 1
    assert sorted(refusal.reason for refusal in result.refusals) == ["wrong_type", "wrong_value"]


def test_the_order_and_repetition_of_jobs_and_steps_change_nothing() -> None:
    steps = [step("extern", 100, ALL), step("batch", 9, ALL[:1]), step(0, 90, ALL)]
    jobs = [job(*steps, job_id=number, comment="") for number in (1, 2)]
    stated = {tuple(map(str, row.items())) for run in runs_of([answer(*jobs)]) for row in slurm_rows(run)}
    for seed in range(5):
        mixed = copy.deepcopy(jobs)
        random.Random(seed).shuffle(mixed)
        for one in mixed:
            random.Random(seed).shuffle(one["steps"])
        assert {tuple(map(str, row.items())) for run in runs_of([answer(*mixed)]) for row in slurm_rows(run)} == stated


def test_the_table_of_sacct_gives_what_its_json_gives(tmp_path: Path) -> None:
    table = (
        "JobID|JobIDRaw|Cluster|Account|Comment|WCKey|Submit|Start|End|State|NodeList|AllocTRES|ConsumedEnergyRaw\n"
        "48213|48213|trn|research|training_run_id=llama-8b|*pretraining|2026-05-28T20:25:40|2026-05-28T20:26:40|2026-05-28T21:26:40|COMPLETED|"
        "trn[01-03,7]|billing=1,gres/neuron=64,node=4|8000000\n"
        f"48213.batch|48213.batch|trn|research||||{START}|{END}|COMPLETED|trn01||2000000\n"
        f"48213.extern|48213.extern|trn|research||||{START}|{END}|COMPLETED|trn[01-03,7]||8000000\n"
        "48214_[8-20]|48214|trn|research||||Unknown|Unknown|PENDING|None assigned||\n"
    )
    of_table = read(tmp_path / "t", table.encode(), "sacct.csv")
    of_json = read(tmp_path / "j", answer(job(step("extern", 8_000_000, ALL))), "sacct.json")
    for name in ("run", "alias", "attempt", "node", "reading"):
        assert part(of_table, name) == part(of_json, name), name
    assert refused(tmp_path / "r", f"{table}1|2\n".encode(), "sacct.csv").reason == "slipped_columns"


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("node[01-04,7]", ["node01", "node02", "node03", "node04", "node7"]),
        ("a,b[9-11]c", ["a", "b9c", "b10c", "b11c"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
        ("queue-dy-trn1-[1-2],queue-dy-trn1-1", ["queue-dy-trn1-1", "queue-dy-trn1-2"]),
        ("None assigned", []),
    ],
)
def test_lists_of_machines_are_written_out(text: str, hosts: list[str]) -> None:
    assert hosts_of(text) == hosts


@pytest.mark.parametrize("text", ["n[1-", "n]1[", "n[a-b]", "n[1-999999999]", "n[0-99][0-99][0-99]", "n[[1]]"])
def test_a_list_that_is_none_or_has_no_end_is_refused_at_once(text: str) -> None:
    with pytest.raises(RecordError):
        hosts_of(text)


@settings(max_examples=50, deadline=None)
@given(
    ANY_JSON,
    st.sampled_from(["steps", "tres", "time", "state", "nodes", "array", "het", "comment", "job_id", "wckey", "account"]),
)
def test_any_json_in_a_job_is_read_or_refused(value: Any, name: str) -> None:
    document = answer(job(**{name: value}))
    assert is_sacct(document)
    try:
        rows = [row for run in runs_of([document]) for row in slurm_rows(run)]
    except RecordError:
        return
    assert all(row["recorded_id"] for row in rows)
