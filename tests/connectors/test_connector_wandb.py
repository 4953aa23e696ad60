"""Weights & Biases: its names and scales, what one core proves, and the API through a real server of its wire shape."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.deliveries import Converted
from connectors.errors import ConnectorError, ExportChangedError
from connectors.stores import StoreOptions
from connectors.stores.opening import open_store
from connectors.stores.wandb import WandbStore
from tests.connectors.kit import converted, rows_of, write_bytes
from tests.connectors.wandb_server import KEY, Wandb, serving

SECONDS = 1775001600
AT = dt.datetime(2026, 4, 1, 0, 0, 0, 500000)
RUN = {"name": "r1", "state": "finished", "createdAt": "2026-04-01T00:00:00Z", "heartbeatAt": "2026-04-01T01:00:00Z"}
HEADER = {"run": RUN | {"eventsLineCount": 1}, "metadata": {"host": "ip-10-0-0-7", "gpu": "NVIDIA H100 80GB HBM3"}}
EVENT = {
    "_timestamp": SECONDS + 0.5,
    "_runtime": 15.0,
    "_wandb": True,
    "system.cpu": 3.5,
    "system.gpu.0.powerWatts": 412.5,
    "system.gpu.0.gpu": 97,
    "system.gpu.0.smActive": 0.5,
    "system.gpu.process.0.gpu": 97,
}


def read(tmp_path: Path, content: str | bytes, key: str = "run=a/events.jsonl", place: str = "wandb") -> Converted:
    write_bytes(tmp_path / place / key, content if isinstance(content, bytes) else content.encode())
    return converted("wandb", tmp_path / place, tmp_path / f"landing-{place}")


def figures(result: Converted) -> list[tuple[Any, ...]]:
    names = ("run_key", "host_id", "device_index", "power_w", "utilisation_ratio", "evidence", "meter")
    return [tuple(row[name] for name in names) for row in rows_of(result)]


def reasons(result: Converted) -> list[str]:
    return [remark.reason for remark in result.refusals]


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def test_an_event_is_a_reading_per_device(tmp_path: Path) -> None:
    """412.5 W and 97 %; smActive has two scales under one name and is not read, and a process is no device."""
    result = read(tmp_path, lines(HEADER, EVENT))
    assert figures(result) == [("a", "ip-10-0-0-7", 0, 412.5, 0.97, "measured", "nvml")]
    (row,) = rows_of(result)
    assert (row["sample_start"], row["sample_end"], row["boundary"], result.refusals) == (None, AT, "chip", ())
    assert figures(read(tmp_path, lines(HEADER, EVENT), "events.jsonl", "named"))[0][0] == "r1"  # the run of the header


@pytest.mark.parametrize(
    ("event", "row"),
    [
        ({"system/gpu.1.powerWatts": 0}, ("nvml", 1, 0.0, None, "power")),  # the other spelling; zero is a reading
        ({"gpu.1.gpu": 100}, ("nvml", 1, None, 1.0, "measured")),
        ({"system.tpu.2.dutyCycle": 50.0, "system.tpu.2.tensorcoreUtilization": 20.0}, ("libtpu", 2, None, 0.5, "measured")),
        ({"system.tpu.2.tensorcoreUtilization": 20.0, "system.tpu.2.dutyCycle": 50.0}, ("libtpu", 2, None, 0.5, "measured")),
        ({"system.tpu.2.tensorcoreUtilization": 20.0}, ("libtpu", 2, None, 0.2, "lower_bound")),
        # core 5 of devices of two cores is on device 2, which is busy for at least half of 80 %
        ({"system.trn.5.neuroncore_utilization": 80.0}, ("neuron_core", 2, None, 0.4, "lower_bound")),
    ],
)
def test_each_name_has_its_device_its_scale_and_what_it_proves(
    tmp_path: Path, event: dict[str, Any], row: tuple[Any, ...]
) -> None:
    header = {"run": RUN, "metadata": {"host": "n", "trainium": {"neuron_device_count": 16, "neuroncore_per_device_count": 2}}}
    [(_, _, device, watts, use, evidence, meter)] = figures(read(tmp_path, lines(header, {"_timestamp": SECONDS, **event})))
    assert (meter, device, watts, use, evidence) == row


def test_writers_of_one_run_are_told_apart_by_their_labels(tmp_path: Path) -> None:
    event = {"_timestamp": SECONDS, "system.gpu.0.powerWatts/l:node-1": 100, "system.gpu.0.powerWatts/l:node-2": 200}
    assert [row[1:4] for row in figures(read(tmp_path, lines(event)))] == [("node-1", 0, 100.0), ("node-2", 0, 200.0)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"_timestamp": "yesterday"}, "bad_time"),
        ({"_timestamp": 17}, "bad_time"),
        ({"system.gpu.0.gpu": 101.5}, "wrong_power"),
        ({"system.gpu.0.powerWatts": "412 W"}, "wrong_type"),
        ({"system.trn.0.neuroncore_utilization": 5}, "missing_hardware"),
    ],
)
def test_what_cannot_be_used_is_left_out_by_name(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    assert reasons(read(tmp_path, lines({**EVENT, **change}))) == [reason]


def test_an_exported_table_gives_the_rows_of_the_events(tmp_path: Path) -> None:
    """As pandas writes the history: its index first, nothing where an event lacks a name; and W&B's own folder names the run."""
    text = (
        ",_runtime,_timestamp,system.gpu.0.gpu,system.gpu.0.powerWatts\n0,15.0,1775001600.5,97.0,412.5\n1,30.0,1775001615.5,,\n"
    )
    events = lines(EVENT)
    expected = [("a", None, 0, 412.5, 0.97, "measured", "nvml")]
    assert figures(read(tmp_path, text, "run=a/events.csv", "csv")) == expected
    columns = {
        "_timestamp": [SECONDS + 0.5, SECONDS + 15.5],
        "system.gpu.0.gpu": [97.0, None],
        "system.gpu.0.powerWatts": [412.5, None],
    }
    target = tmp_path / "parquet/run=a/events.parquet"
    target.parent.mkdir(parents=True)
    pq.write_table(pa.table(columns), target)
    assert figures(converted("wandb", tmp_path / "parquet", tmp_path / "landing-parquet")) == expected
    own = read(tmp_path, events, "wandb/run-20260401_000000-r9/files/wandb-events.jsonl", "own")
    assert figures(own) == [("r9", None, 0, 412.5, 0.97, "measured", "nvml")]
    same = {
        row["document_hash"]
        for place in ("csv", "parquet")
        for row in rows_of(converted("wandb", tmp_path / place, tmp_path / "x"))
    }
    assert len(same) == 1


def test_a_record_is_the_run_with_figures_under_our_names(tmp_path: Path) -> None:
    config = json.dumps({"training_run_id": {"value": "run-a"}, "team": {"value": "core"}, "lr": {"value": 0.1}})
    run = RUN | {
        "config": config,
        "summaryMetrics": json.dumps({"tokens": 5000, "loss": 2.5}),
        "group": "sweep-1",
        "state": "crashed",
    }
    write_bytes(tmp_path / "runs/run=r1/run.json", json.dumps({"run": run, "metadata": None}).encode())
    rows = rows_of(converted("training_runs", tmp_path / "runs", tmp_path / "landing"))
    by_part = {row["part"]: row for row in rows}
    assert (by_part["run"]["recorded_id"], by_part["run"]["team"], by_part["run"]["tokens"]) == ("run-a", "core", 5000)
    assert (by_part["alias"]["alias_system"], by_part["alias"]["alias_id"]) == ("wandb", "r1")
    assert (by_part["attempt"]["state"], by_part["attempt"]["ended_at"]) == ("failed", dt.datetime(2026, 4, 1, 1))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wandb]:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    with serving() as wandb:
        yield wandb


def store(server: Wandb, location: str = "wandb://acme/llama") -> WandbStore:
    found = open_store(location, base=Path(), options=StoreOptions(endpoint_url=server.uri))
    assert isinstance(found, WandbStore)
    return found


def fetched(server: Wandb, tmp_path: Path, location: str = "wandb://acme/llama") -> dict[str, list[dict[str, Any]]]:
    place, found = store(server, location), {}
    for info in place.list_objects():
        place.fetch(info, tmp_path / "object")
        found[info.key] = [json.loads(line) for line in (tmp_path / "object").read_text().splitlines()]
    return found


def test_a_project_is_its_runs_page_by_page_with_their_events(
    server: Wandb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five runs in pages of two; no login goes to the store of files that a signed address leads to, nor one of ~/.netrc."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for number in range(5):
        server.add(f"r/{number}", EVENT, metadata={"host": f"n-{number}"} if number == 3 else None)
    found = fetched(server, tmp_path)
    assert list(found) == [f"run=r%2F{number}/events.jsonl" for number in range(5)]
    assert found["run=r%2F3/events.jsonl"][0]["metadata"] == {"host": "n-3"}
    assert [line[1:] for line in found.values()] == [[EVENT]] * 5
    files = [login for what, login in server.asked if what.startswith("/")]
    assert files == [None] and all(login for what, login in server.asked if what.startswith("query"))
    assert [what for what, _ in server.asked].count("query Runs") == 3
    records = fetched(server, tmp_path, "wandb://acme/llama/runs")
    assert list(records) == [f"run=r%2F{number}/run.json" for number in range(5)] and all(
        len(one) == 1 for one in records.values()
    )


def test_a_run_that_goes_on_is_another_object_and_one_that_does_not_the_same(server: Wandb) -> None:
    server.add("r1", EVENT, state="running")
    first = [*store(server).list_objects()]
    assert [*store(server).list_objects()] == first
    server.add("r1", EVENT, EVENT, state="running", heartbeatAt="2026-04-01T02:00:00Z")
    [later] = store(server).list_objects()
    assert later.etag != first[0].etag and later.last_modified > first[0].last_modified


def test_a_busy_server_is_asked_again_and_a_sampled_answer_is_remarked_on(server: Wandb, tmp_path: Path) -> None:
    server.add("r1", EVENT, eventsLineCount=40)
    server.failures = [429, 503]
    [(key, found)] = fetched(server, tmp_path).items()
    result = read(tmp_path, lines(*found), key)
    assert (result.rows, reasons(result)) == (1, ["partial_answer"])


def test_the_proxy_of_the_environment_is_asked(server: Wandb, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, server.uri)
    elsewhere = StoreOptions(endpoint_url="http://wandb.example")
    with pytest.raises(ConnectorError, match="refuses the key"):  # the proxy here is a server that knows no such address
        [*open_store("wandb://acme/llama", base=Path(), options=elsewhere).list_objects()]
    assert [what for what, _ in server.asked] == ["query Runs"]


@pytest.mark.parametrize(
    ("change", "location", "reason"),
    [
        ({"WANDB_API_KEY": "of-another"}, "wandb://acme/llama", "permission_denied"),
        ({"WANDB_API_KEY": ""}, "wandb://acme/llama", "no_credentials"),
        ({}, "wandb://acme/other", "missing_project"),
        ({}, "wandb://acme", "bad_location"),
    ],
)
def test_a_project_that_cannot_be_read_is_named_with_a_remedy(
    server: Wandb, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], location: str, reason: str
) -> None:
    for name, value in change.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConnectorError) as caught:
        [*store(server, location).list_objects()]
    assert caught.value.reason == reason and caught.value.remedy
    assert KEY not in caught.value.message


def test_a_run_that_was_deleted_since_stops_its_landing(server: Wandb, tmp_path: Path) -> None:
    server.add("r1", EVENT)
    place = store(server)
    [info] = place.list_objects()
    server.runs.clear()
    with pytest.raises(ExportChangedError):
        place.fetch(info, tmp_path / "object")


def test_an_answer_of_another_shape_is_named_and_not_taken(server: Wandb) -> None:
    server.add("r1", EVENT, createdAt=None, heartbeatAt=None)
    with pytest.raises(ConnectorError, match="none of W&B's API") as caught:
        [*store(server).list_objects()]
    assert caught.value.reason == "broken_stream"
    server.add("r1", EVENT)
    [info] = store(server).list_objects()
    assert json.loads(store(server).read(info))["run"]["name"] == "r1"
    with pytest.raises(ConnectorError) as caught:
        store(server).read(info, limit=10)
    assert caught.value.reason == "too_large"
