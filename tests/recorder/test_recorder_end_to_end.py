"""`trainledger record` as a user starts it: exit codes, signals, kills, what the product's own connectors read of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.connectors.kit import converted, rows_of
from tests.recorder.kit import HOST, POWER, SECONDS, Node, files_below

pytestmark = pytest.mark.slow

WHILE_RECORDED = "while kill -0 $PPID 2> /dev/null; do sleep 0.05; done"
UNTIL_PRINTED = 'until [ -e "$PRINTED" ]; do sleep 0.02; done; '


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):  # a file that is finished is moved
            if is_so():
                return
        time.sleep(0.02)
    raise AssertionError("it never came")


def test_what_is_recorded_is_read_by_the_products_own_connectors(node: Node, tmp_path: Path) -> None:
    node.monitor()
    node.power(0)
    given = '{"tokens": 1e9, "final_value": 2.07}'
    command = f"{UNTIL_PRINTED} echo '{given}' > \"$TRAINLEDGER_RECORD_FILE\"; echo trained; exit 3"
    options = ["--tag", "experiment=a", "--record", "steps=2e3", "--record", "team=foundation", "--type", "ml.trn1.2xlarge"]
    kinds = ["--only", "neuron_monitor", "--only", "neuron_power"]
    done = node.record(*options, *kinds, "--", "sh", "-c", command, run="team/a", PRINTED=str(node.printed), SLURM_JOB_ID="48213")
    assert (done.returncode, done.stdout) == (3, "trained\n"), done.stderr
    assert node.waiting() == [], "what was delivered is gone from the spool"
    telemetry = converted("neuron_monitor", node.out / "neuron_monitor", tmp_path / "landed")
    assert (telemetry.refusals, telemetry.unknown_columns) == ((), ())
    rows = rows_of(telemetry)
    assert {(row["run_key"], row["host_id"]) for row in rows} == {("team/a", HOST)}
    assert sorted(row["utilisation_ratio"] for row in rows) == [0.5, 0.6]
    records = converted("training_runs", node.out / "runs", tmp_path / "landed-runs")
    assert (records.refusals, records.unknown_columns) == ((), ())
    parts = {row["part"]: row for row in rows_of(records)}
    assert (parts["run"]["recorded_id"], parts["run"]["tokens"], parts["run"]["steps"]) == ("team/a", 10**9, 2000)
    assert (parts["alias"]["alias_system"], parts["alias"]["alias_id"]) == ("slurm", "48213")
    assert (parts["attempt"]["attempt_id"], parts["attempt"]["state"]) == ("48213.1", "failed")
    assert parts["attempt"]["ended_at"] >= parts["attempt"]["started_at"]
    assert (parts["node"]["resource_id"], parts["node"]["accelerator_type"]) == (HOST, "trn1.2xlarge")
    assert (parts["tag"]["tag_key"], parts["tag"]["tag_value"]) == ("experiment", "a")
    power = converted("neuron_power", node.out / "neuron_power", tmp_path / "landed-power")
    assert (power.refusals, power.unknown_columns) == ((), ())
    (row,) = rows_of(power)
    assert (row["run_key"], row["host_id"], row["device_index"], row["meter"]) == ("team/a", HOST, 0, "neuron_sysfs")
    assert row["power_ratio"] == 0.0157


def test_a_run_of_a_pair_is_registered_once_when_it_starts_and_never_written_again(node: Node, tmp_path: Path) -> None:
    given = ["workload_key=llama-8b", "pair_key=seed-7", "target_metric=loss", "target_direction=below", "target_value=2.1"]
    options = [text for field in given for text in ("--record", field)]
    # delivered while the job still runs
    is_there = "for _ in $(seq 200); do ls $OUT/runs/*/*/*.registered.json && break; sleep 0.05; done"
    later = """echo '{"pair_key": "seed-8", "final_value": 2.0}' > "$TRAINLEDGER_RECORD_FILE" """
    assert node.record(*options, "--", "sh", "-c", f"{is_there}; {later}", OUT=str(node.out)).returncode == 0
    assert node.waiting() == []
    record, registration = sorted(node.delivered("runs"), key=lambda path: "registered" in path.name)
    assert registration.name == record.name.replace(".run.json", ".registered.json")
    assert registration.stat().st_mtime_ns < record.stat().st_mtime_ns
    (row,) = rows_of(converted("training_runs", registration, tmp_path / "landed"))
    named = {name: row[name] for name in ("part", "recorded_id", "workload_key", "pair_key", "target_metric", "target_value")}
    assert named == {
        "part": "registration",
        "recorded_id": "run-a",
        "workload_key": "llama-8b",
        "pair_key": "seed-7",
        "target_metric": "loss",
        "target_value": 2.1,
    }
    assert json.loads(record.read_text())["pair_key"] == "seed-8"


def test_a_registration_that_could_not_be_delivered_is_delivered_by_the_next_recorder(node: Node, tmp_path: Path) -> None:
    named = ["--record", "workload_key=w", "--record", "pair_key=p", "--drain", "0.1"]
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    target = tmp_path / "out"
    target.symlink_to(blocked)  # no folder can be made below it
    assert node.record(*named, "--", "true", to=target).returncode == 0
    assert [path for path in files_below(node.spool) if path.name == "registration.json"]
    target.unlink()
    assert node.record("--flush", to=target, run=None).returncode == 0
    assert [path.name.partition(".")[2] for path in files_below(target)] == ["registered.json", "run.json"]


def test_a_second_start_of_a_run_adds_an_attempt(node: Node, tmp_path: Path) -> None:
    for code in ("1", "0"):
        assert node.record("--", "sh", "-c", f"exit {code}").returncode == int(code)
    rows = [row for path in node.delivered("runs") for row in rows_of(converted("training_runs", path, tmp_path / path.name))]
    assert sorted(row["state"] for row in rows if row["part"] == "attempt") == ["failed", "succeeded"]
    assert len({row["attempt_id"] for row in rows if row["part"] == "attempt"}) == 2
    assert {row["recorded_id"] for row in rows} == {"run-a"}


def test_the_exit_code_is_the_commands_and_its_options_are_its_own(node: Node) -> None:
    done = node.record("sh", "-c", 'echo "$@"; kill -9 $$', "train", "--lr", "1", "--to", "x")
    assert (done.returncode, done.stdout) == (128 + signal.SIGKILL, "--lr 1 --to x\n")
    missing = node.record("--", "no-such-program")
    assert (missing.returncode, missing.stderr.count("no-such-program cannot be started")) == (127, 1)
    assert node.delivered("runs") == [next(path for path in node.delivered("runs"))], "what never started is no attempt"


def test_a_job_outlives_whatever_goes_wrong_in_its_recorder(node: Node) -> None:
    (node.folder / "file").touch()
    lost = node.record("--spool", node.folder / "file", "--", "sh", "-c", "exit 5")
    assert lost.returncode == 5 and "nothing is recorded" in lost.stderr, "there is no spool"
    gone = node.record("--", "sh", "-c", f"rm -r '{node.spool}'; sleep 0.1; exit 6")
    assert gone.returncode == 6, "the spool was taken away meanwhile"
    clock = node.record("--", "sh", "-c", "exit 7", GCE_METADATA_HOST="a host that is none:x")
    assert clock.returncode == 7 and "recording ended, the job goes on" in clock.stderr, "a fault of the recorder itself"


def test_a_job_starts_and_its_record_is_delivered_whatever_its_fields_are(node: Node) -> None:
    """1e999 is a number to a shell and to JSON, and infinite: it cost the start of the job, or the end of its record."""
    written = '{"tokens": 1e999, "final_value": 2.07}'
    options = [
        "--record",
        "tokens=1e999",
        "--record",
        "steps=7",
        "--record",
        "loss=2",
        "--tag",
        "x",
        "--tag",
        "a=b",
        "--chips",
        "9" * 30,
    ]
    done = node.record(*options, "--", "sh", "-c", f"echo '{written}' > \"$TRAINLEDGER_RECORD_FILE\"; exit 3")
    assert done.returncode == 3, done.stderr
    record = node.record_of()
    assert {name: record.get(name) for name in ("tokens", "steps", "final_value", "tags")} == {
        "tokens": None, "steps": 7, "final_value": 2.07, "tags": {"a": "b"},
    }  # fmt: skip
    assert record["attempts"][0]["ended_at"] and record["attempts"][0]["state"] == "failed"
    for fault in (
        "--record tokens is no number",
        "--record loss is no field",
        "--tag x is no KEY=VALUE",
        "--chips 9999",
        "added.json: tokens",
    ):
        assert done.stderr.count(fault) == 1, fault


def test_a_job_whose_environment_names_no_run_starts_without_a_record(node: Node) -> None:
    done = node.record("--", "sh", "-c", "exit 4", run=None, NEURON_PROCESS_TAG="x" * 300)
    assert done.returncode == 4 and "nothing is recorded" in done.stderr


def test_a_signal_is_the_jobs_and_what_was_recorded_is_delivered_before_the_job_ends(node: Node) -> None:
    node.monitor()
    command = 'trap \'until [ -e "$GO" ]; do sleep 0.02; done; exit 9\' TERM; touch "$READY"; while :; do sleep 0.05; done'
    ready, go = node.folder / "ready", node.folder / "go"
    process = node.start("--only", "neuron_monitor", "--", "sh", "-c", command, READY=str(ready), GO=str(go))
    until(lambda: ready.exists() and node.printed.exists() and [path for path in node.waiting() if path.stat().st_size > 100])
    process.send_signal(signal.SIGTERM)
    until(lambda: node.delivered("neuron_monitor") and node.delivered("runs"))
    assert process.poll() is None, "the job is still at its last checkpoint"
    assert node.record_of()["attempts"][0]["state"] == "running"
    go.touch()
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 9, err
    assert node.record_of()["attempts"][0]["state"] == "stopped"


def test_a_killed_recorder_leaves_a_spool_that_the_next_start_delivers_with_the_end_of_its_run(node: Node) -> None:
    node.monitor()
    process = node.start("--only", "neuron_monitor", "--", "sh", "-c", WHILE_RECORDED)
    until(lambda: node.printed.exists() and [path for path in node.waiting() if path.suffix == ".jsonl"])
    until(lambda: node.delivered("runs"))
    assert node.record_of()["attempts"][0]["state"] == "running"
    process.kill()
    process.wait()  # before its pipes are: the job holds them until it sees that the recorder is gone
    process.communicate(timeout=SECONDS)
    flushed = node.record("--flush")
    assert flushed.returncode == 0 and "an earlier recorder was killed" in flushed.stderr, flushed.stderr
    (attempt,) = node.record_of()["attempts"]
    assert (attempt["state"], attempt["ended_at"] >= attempt["started_at"]) == ("unknown", True)
    assert len(node.delivered("neuron_monitor")) == 1 and node.waiting() == []


def test_beside_a_running_process_the_record_begins_with_the_process_and_ends_with_it(node: Node) -> None:
    with subprocess.Popen(["sleep", "100"]) as job:
        first = node.start("--pid", job.pid)
        until(lambda: node.delivered("runs"))
        first.kill()  # a recorder that is started again beside the same process writes the same record
        first.communicate(timeout=SECONDS)
        left = set(node.waiting())
        second = node.start("--pid", job.pid)
        until(lambda: [path for path in node.waiting() if path.name == "record.json" and path not in left])
        job.terminate()
        job.wait()
        _, err = second.communicate(timeout=SECONDS)
    assert second.returncode == 0, err
    (attempt,) = node.record_of()["attempts"]
    assert (attempt["state"], attempt["ended_at"] >= attempt["started_at"]) == ("unknown", True)
    gone = node.record("--pid", job.pid)
    assert gone.returncode == 2 and f"there is no process {job.pid}" in gone.stderr


@pytest.mark.parametrize("run", ["run-a", None])
def test_a_sidecar_records_until_a_signal_ends_it_and_without_a_run_it_is_of_the_machine(run: str | None, node: Node) -> None:
    node.power(0)
    process = node.start(run=run)
    until(lambda: [path for path in node.waiting() if path.suffix == ".jsonl"])
    process.send_signal(signal.SIGTERM if run else signal.SIGINT)  # Kubernetes; Ctrl-C
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    (path,) = node.delivered("neuron_power")
    assert path.relative_to(node.out).parts[1:-1] == (("run=run-a",) if run else ()) + (f"host={HOST}",)
    assert len(node.delivered("runs")) == bool(run)
    if run:
        assert node.record_of()["attempts"][0]["ended_at"]


def test_a_store_that_never_answers_keeps_no_sample_waiting_and_no_job(node: Node) -> None:
    path = node.power(0)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        endpoint = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        keys = {"AWS_ACCESS_KEY_ID": "planted", "AWS_SECRET_ACCESS_KEY": "planted", "AWS_DEFAULT_REGION": "us-east-1"}
        options = ["--endpoint-url", endpoint, "--period", 1, "--drain", 0]
        process = node.start(*options, to="s3://bucket/recorded", **keys)
        deaf.accept()  # the run record is on its way, and stays there
        path.write_text(POWER.replace("1787754600", "1787754660"))
        until(lambda: "1787754660" in "".join(one.read_text() for one in node.waiting() if one.suffix == ".jsonl"))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0 and "1 files wait" in err, err


def test_the_main_packages_command_is_the_same_recorder_and_loads_nothing_of_the_warehouse(node: Node) -> None:
    shown = node.folder / "modules.json"
    look = (
        "import atexit, json, sys;"
        f"atexit.register(lambda: open({str(shown)!r}, 'w').write(json.dumps(sorted(sys.modules))));"
        "from dagster_project import main; sys.argv[0] = 'trainledger'; main()"
    )
    node.program = [sys.executable, "-P", "-c", look, "record"]
    done = node.record("--", "sh", "-c", 'echo "$@"; exit 3', "train", "--help", "--to", "x")
    assert (done.returncode, done.stdout) == (3, "--help --to x\n"), done.stderr
    heavy = {
        "connectors",
        "duckdb",
        "polars",
        "pyarrow",
        "dbt",
        "dagster",
        "boto3",
        "google",
        "jinja2",
        "numpy",
        "yaml",
        "msgspec",
    }
    assert {name.partition(".")[0] for name in json.loads(shown.read_text())} & heavy == set()
    assert len(node.delivered("runs")) == 1
    usage = node.record("--help")
    assert usage.returncode == 0 and "usage: trainledger record --to LOCATION" in usage.stdout
    wrong = node.record("--only", "watts", "--", "touch", str(node.folder / "started"))
    assert wrong.returncode == 2 and not (node.folder / "started").exists(), "wrong use is refused before the job starts"
    assert os.listdir(node.out) == ["runs"]  # noqa: PTH208
