"""`--reduce 60s`: the sums of a minute are those that the ledger makes of the documents, and what cannot be reduced stays."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

import trainledger_recorder
from connectors.deliveries import Converted
from tests.connectors.kit import converted, rows_of, write_bytes
from tests.connectors.neuron import document, read, runtime
from tests.recorder.kit import HOST, Node, chip_answer
from trainledger_recorder.reducing import ChipReducer, Reducer

NOON = dt.datetime(2026, 4, 1, 12, tzinfo=dt.UTC)


def lines_of(*documents: tuple[float, dict[str, Any] | bytes]) -> list[dict[str, Any]]:
    """What is written of documents that came so many seconds after noon."""
    reducer, found = Reducer(), list[tuple[dt.datetime, bytes]]()
    stamped: dict[str, Any] = {}
    for seconds, one in documents:
        moment = NOON + dt.timedelta(milliseconds=round(seconds * 1000))
        stamped = {"collected_at": moment.isoformat(timespec="milliseconds"), "host": {"resource_id": "i-1"}}
        found += reducer.add(one if isinstance(one, bytes) else json.dumps(one).encode(), stamped)
    found += reducer.rest(stamped)
    return [json.loads(text) for _, text in found]


def reduced(*documents: tuple[float, dict[str, Any] | bytes]) -> list[dict[str, Any]]:
    return [line["reduced"] for line in lines_of(*documents)]


def times(line: dict[str, Any]) -> tuple[float, float]:
    first, last = (dt.datetime.fromisoformat(line[name]) - NOON for name in ("first", "last"))
    return first.total_seconds(), last.total_seconds()


def test_a_minute_of_a_device_is_one_line_with_its_sum_first_last_number_least_and_greatest() -> None:
    (line,) = reduced(*((5.0 * number, document(runtime(10.0 * number, 0))) for number in range(1, 7)))
    assert (line["minute"], line["device"], line["device_count"]) == ("2026-04-01T12:00:00.000000Z", 0, 1)
    assert times(line) == (0.0, 30.0) and line["samples"] == 6
    assert line["used_ppm_us"] == sum(50_000 * number * 5_000_000 for number in range(1, 7))
    assert (line["covered_us"], line["known_us"], line["least_ppm"], line["greatest_ppm"]) == (
        30_000_000,
        30_000_000,
        50_000,
        300_000,
    )


def test_where_two_documents_overlap_the_greater_use_counts_and_a_short_gap_belongs_to_the_later() -> None:
    """0-5 at 50 %, 4-9 at 80 %, 9.4-14.4 at 10 %: 4 x 0.5 + 5 x 0.8 + 5.4 x 0.1 = 6.54 s of use."""
    given = ((5.0, 50.0), (9.0, 80.0), (14.4, 10.0))
    (line,) = reduced(*((end, document(runtime(percent, percent))) for end, percent in given))
    assert (times(line), line["used_ppm_us"]) == ((0.0, 14.4), 6_540_000_000_000)


def test_a_gap_an_error_and_a_machine_without_processes_are_lines_of_their_own() -> None:
    found = reduced(
        (5.0, document(runtime(50.0, 50.0))),
        (11.0, document(runtime(50.0, 50.0))),  # a second was not seen
        (16.0, document(runtime(50.0, 50.0, error="driver"))),
        (21.0, document()),
        (26.0, document(runtime(50.0, 50.0))),
    )
    assert [(line["evidence"], times(line)) for line in found] == [
        ("measured", (0.0, 5.0)),
        ("measured", (6.0, 11.0)),
        ("unknown", (11.0, 16.0)),
        ("presence", (16.0, 21.0)),
        ("measured", (21.0, 26.0)),
    ]
    assert [line["known_us"] for line in found] == [5_000_000, 5_000_000, 0, 5_000_000, 5_000_000]


def test_a_clock_that_is_set_back_ends_a_line_and_loses_nothing() -> None:
    found = reduced(*((seconds, document(runtime(50.0, 50.0))) for seconds in (30.0, 35.0, 10.0, 15.0)))
    assert [times(line) for line in found] == [(25.0, 35.0), (5.0, 15.0)]


def test_what_cannot_be_reduced_is_written_as_it_came_and_the_ledger_names_it(tmp_path: Path) -> None:
    broken = [b"{cut", json.dumps(document(runtime(-1.0))).encode(), json.dumps(document(devices=0)).encode()]
    logical = document(runtime(), cores=1)
    logical["neuron_runtime_data"][0]["report"]["neuroncore_counters"]["neuroncores_in_use"] = {
        "0": {"v3d": {"0": {"neuroncore_utilization": 40.0}, "1": {"neuroncore_utilization": 60.0}}}
    }
    reducer, texts = Reducer(), list[bytes]()
    for number, one in enumerate([*broken, json.dumps(logical).encode()]):
        stamped = {"collected_at": f"2026-04-01T12:00:{number:02}.000Z", "host": {"resource_id": "i-1"}}
        texts += [text for _, text in reducer.add(one, stamped)]
    assert [*reducer.rest(stamped)] == []
    result = read(tmp_path, content=b"".join(texts))
    assert [(row["line_number"], row["utilisation_ratio"]) for row in rows_of(result)] == [(4, 0.5)]
    assert {one.reason for one in result.refusals} == {"bad_json", "negative_utilisation", "missing_hardware"}


def test_any_hour_has_the_use_that_the_connector_reads_of_its_documents(tmp_path: Path) -> None:
    """Sixteen devices, two processes: per device the sum of use times time, where clocks neither overlap nor leave gaps."""
    draw, documents = random.Random("an hour"), []
    for number in range(1, 721):
        runtimes = [runtime(*(round(draw.uniform(0, 90), 2) for _ in range(32))) for _ in range(2)]
        documents.append((5.0 * number, document(*runtimes, devices=16)))
    lines = lines_of(*documents)
    assert len(lines) == 16 * 60
    minutes = rows_of(read(tmp_path / "reduced", *lines))
    wrapped = [
        {
            "collected_at": f"{NOON + dt.timedelta(seconds=end):%Y-%m-%dT%H:%M:%SZ}",
            "host": {"resource_id": "i-1"},
            "document": one,
        }
        for end, one in documents
    ]
    samples = rows_of(read(tmp_path / "raw", *wrapped))
    for device in range(16):
        expected = sum(round(row["utilisation_ratio"] * 1e6) * 5_000_000 for row in samples if row["device_index"] == device)
        assert sum(row["used_ppm_us"] for row in minutes if row["device_index"] == device) == expected


def test_a_recorder_that_reduces_delivers_minutes_that_its_connector_reads(node: Node, tmp_path: Path) -> None:
    node.monitor()
    found = node.record("--reduce", "60s", "--by-day", "--only", "neuron_monitor", "--", "sleep", "2")
    assert found.returncode == 0, found.stderr
    (path,) = node.delivered("neuron_monitor")
    assert path.relative_to(node.out).as_posix().split("/")[1].startswith("day=2")
    rows = rows_of(read(tmp_path, key=path.name, content=path.read_bytes()))
    assert rows and {row["host_id"] for row in rows} == {HOST} and all(row["used_ppm_us"] > 0 for row in rows)


# --- the sampler of libtpu


def answer(seconds: float, *percents: float | str, memory: int = 0) -> tuple[float, bytes]:
    """What the sampler prints so many seconds after noon."""
    return seconds, chip_answer(NOON + dt.timedelta(seconds=seconds), "451938", *percents, memory=memory)


def chip_lines(*answers: tuple[float, bytes], period: float = 5.0) -> list[bytes]:
    reducer, found = ChipReducer(period), list[bytes]()
    stamped = {"collected_at": "2026-04-01T13:00:00.000Z", "host": {"resource_id": "451938"}, "run": "run-a"}
    for _, text in answers:
        found += [line for _, line in reducer.add(text, stamped)]
    return [*found, *(line for _, line in reducer.rest(stamped))]


def read_tpu(folder: Path, *lines: bytes) -> Converted:
    write_bytes(folder / "tpu/host=451938/lines.jsonl", b"".join(line.strip() + b"\n" for line in lines))
    return converted("tpu_monitoring", folder / "tpu", folder / "landing")


def test_a_chips_minute_is_one_line_and_a_silence_and_an_unknown_duty_cycle_are_lines_of_their_own() -> None:
    """Points every 5 s until 60 s, none until 80 s: that one covers 5 s, as it would in the ledger."""
    given = [answer(5.0 * number, 40.0 if number < 7 else 80.0) for number in range(1, 13)]
    lines = [json.loads(line)["reduced"] for line in chip_lines(*given, answer(80.0, 50.0), answer(85.0, "NaN"))]
    assert [(line["evidence"], times(line), line["samples"]) for line in lines] == [
        ("measured", (0.0, 60.0), 12),
        ("measured", (75.0, 80.0), 1),
        ("unknown", (80.0, 85.0), 1),
    ]
    assert lines[0]["used_ppm_us"] == 30_000_000 * 400_000 + 30_000_000 * 800_000
    assert (lines[0]["least_ppm"], lines[0]["greatest_ppm"]) == (400_000, 800_000)


def test_an_hour_of_chips_has_the_rows_who_where_and_sum_that_the_connector_reads_of_the_answers(tmp_path: Path) -> None:
    """Of a mean over a minute half a millionth is rounded off; the sums are exact."""
    draw = random.Random("chips")
    answers = [answer(5.0 * number, *(round(draw.uniform(0, 100), 3) for _ in range(4)), memory=4) for number in range(1, 721)]
    lines = chip_lines(*answers)
    assert len(lines) == 2 * 4 * 60
    raw, minutes = (
        rows_of(read_tpu(tmp_path / way, *texts)) for way, texts in (("a", [text for _, text in answers]), ("b", lines))
    )
    who = ("host_id", "device_index", "evidence", "is_idle_by_absence", "accelerator_type", "region_id")
    assert {tuple(row[name] for name in who) for row in minutes} == {tuple(row[name] for name in who) for row in raw}
    assert {row["run_key"] for row in minutes} == {"run-a"}
    for chip in range(4):
        points = [row for row in raw if (row["device_index"], row["evidence"]) == (chip, "measured")]
        expected = sum(round(row["utilisation_ratio"] * 1e6) * 5_000_000 for row in points)
        found = [json.loads(line)["reduced"] for line in lines]
        sums = [one["used_ppm_us"] for one in found if (one["device"], one["evidence"]) == (chip, "measured")]
        assert sum(sums) == expected
        means = [row for row in minutes if (row["device_index"], row["evidence"]) == (chip, "measured")]
        assert sum(row["utilisation_ratio"] * 60e12 for row in means) == pytest.approx(expected, rel=1e-9)


def test_what_is_no_answer_of_the_sampler_is_written_as_it_came_and_the_ledger_names_it(tmp_path: Path) -> None:
    lines = chip_lines((0, b"{cut"), answer(5.0, -1.0), (0, b'{"timeSeries": []}'))
    assert [line.strip() for line in lines] == [b"{cut", answer(5.0, -1.0)[1], b'{"timeSeries": []}']
    assert {one.reason for one in read_tpu(tmp_path, *lines).refusals} == {"bad_json", "negative_utilisation"}
    rare = answer(300.0, 50.0)
    assert chip_lines(rare, period=120.0) == [rare[1] + b"\n"]


def test_a_chips_line_that_contradicts_itself_is_left_out_by_name(tmp_path: Path) -> None:
    (line,) = chip_lines(answer(5.0, 50.0))
    wrong = json.loads(line)
    wrong["reduced"]["used_ppm_us"] *= 2
    result = read_tpu(tmp_path, line, json.dumps(wrong).encode())
    assert [(one.reason, one.column_name) for one in result.refusals] == [("contradictory_minute", "reduced.used_ppm_us")]
    assert result.rows == 1


def test_a_recorder_that_reduces_delivers_minutes_of_chips(node: Node, tmp_path: Path) -> None:
    library = tmp_path / "lib/libtpu/sdk.py"
    library.parent.mkdir(parents=True)
    library.write_text(
        "from types import SimpleNamespace as Of\n"
        "lists = {'duty_cycle_pct': ['40', '80'], 'hbm_capacity_usage': ['1', '1']}\n"
        "tpumonitoring = Of(get_metric=lambda name: Of(data=lambda: lists[name]))\n"
    )
    path = os.pathsep.join(map(str, (tmp_path / "lib", Path(trainledger_recorder.__file__).parents[1])))
    asked = ("--reduce", "60s", "--period", "1", "--only", "tpu_monitoring", "--", "sleep", "3")
    found = node.record(*asked, PYTHONPATH=path)
    assert found.returncode == 0, found.stderr
    (delivered,) = node.delivered("tpu_monitoring")
    write_bytes(tmp_path / "tpu" / delivered.name, delivered.read_bytes())
    result = converted("tpu_monitoring", tmp_path / "tpu", tmp_path / "landing")
    assert not result.refusals
    rows = rows_of(result)
    assert {(row["device_index"], row["evidence"], row["utilisation_ratio"]) for row in rows} == {
        *((0, "measured", 0.4), (1, "measured", 0.8)),
        *((0, "presence", 0.0), (1, "presence", 0.0)),
    }
    assert {(row["host_id"], row["run_key"]) for row in rows} == {(HOST, "run-a")}
    assert min(row["sample_end"] - row["sample_start"] for row in rows) >= dt.timedelta(seconds=1)
