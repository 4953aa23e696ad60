"""neuron-monitor's documents become one sample per device, and every trap of its format has a test with its name."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import copy
import datetime as dt
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.deliveries import Converted
from connectors.errors import ExportContentError
from connectors.neuron_documents import Document, devices_of
from connectors.samples import SampleError
from tests.connectors.kit import converted, found, rows_of, write_bytes
from tests.shared import SHARED, SHARED_REASON

KIND = "neuron_monitor"
KEY = "run=run-a/host=i-0abc/2026-04-01T00:00:00Z.jsonl"
NOON = dt.datetime(2026, 4, 1, 12)


def runtime(*percents: float | None, tag: str = "4711", error: str = "", **more: Any) -> dict[str, Any]:
    """One runtime that lists cores 0, 1, ...; None leaves a core out."""
    cores = {str(core): {"neuroncore_utilization": percent} for core, percent in enumerate(percents) if percent is not None}
    counters = {"period": 5.0, "error": error, "neuroncores_in_use": cores, **more}
    return {"pid": 4711, "neuron_runtime_tag": tag, "error": "", "report": {"neuroncore_counters": counters}}


def document(*runtimes: dict[str, Any], devices: int = 1, cores: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "neuron_runtime_data": list(runtimes),
        "system_data": {"vcpu_usage": {"period": 5.0, "error": ""}},
        "instance_info": {"instance_id": "i-0abc", "instance_type": "trn1.2xlarge", "error": ""},
        "neuron_hardware_info": {"neuron_device_count": devices, "neuroncore_per_device_count": cores, "error": ""},
        **more,
    }


def wrapped(inner: dict[str, Any], collected_at: str = "2026-04-01T12:00:05Z", host: str = "i-0abc") -> dict[str, Any]:
    return {"collected_at": collected_at, "host": {"resource_id": host}, "document": inner}


def packed(*lines: Any, end: str = "\n") -> bytes:
    return "".join((line if isinstance(line, str) else json.dumps(line)) + end for line in lines).encode()


def read(tmp_path: Path, *lines: Any, key: str = KEY, content: bytes | None = None) -> Converted:
    write_bytes(tmp_path / "neuron" / key, packed(*lines) if content is None else content)
    return converted(KIND, tmp_path / "neuron", tmp_path / "landing")


def ratios(*runtimes: dict[str, Any], **shape: Any) -> list[float | None]:
    parsed = msgspec.json.decode(json.dumps(document(*runtimes, **shape)), type=Document)
    return [device.utilisation_ratio for device in devices_of(parsed)]


# --- real documents


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_the_real_capture_of_a_trn1_gives_what_a_person_computes(tmp_path: Path) -> None:
    assert SHARED
    content = (SHARED / "samples/telemetry/neuron_monitor_trn1_2xlarge.jsonl").read_bytes()
    rows = rows_of(read(tmp_path, content=content, key="run=bert/2026-04-01T00:00:00Z.jsonl"))
    # one device with two cores, of which only the first worked: its percentages over two cores and a hundred percent
    expected = [1.3631567613356375 / 200, 1.3560819560861623 / 200, 1.3128372400154966 / 200]
    assert [row["utilisation_ratio"] for row in rows] == pytest.approx(expected, abs=1e-12)
    # the periods 0.999163146 s, 1.000533415 s and 0.999577264 s one behind the other: 0.999163, 1.999696, 2.999273
    ends = [dt.datetime(2026, 4, 1, 0, 0, s, us) for s, us in ((0, 999_163), (1, 999_696), (2, 999_273))]
    assert [row["sample_end"] for row in rows] == ends
    assert [row["sample_start"] for row in rows] == [dt.datetime(2026, 4, 1), *ends[:2]]
    assert {(row["host_id"], row["accelerator_type"], row["run_key"]) for row in rows} == {
        ("i-01db7a16f4c054239", "trn1.2xlarge", "bert")
    }
    # the capture of 2023 has no operations per second yet
    assert [(row["device_index"], row["device_count"], row["effective_flops"]) for row in rows] == [(0, 1, None)] * 3


# --- traps


def test_several_runtimes_per_core_add_up_and_stop_at_a_full_core() -> None:
    # core 0: 30 + 40; core 1: 80 + 90, which is full; together 170 of 200
    assert ratios(runtime(30, 80), runtime(40, 90)) == [0.85]


def test_idle_cores_and_cores_nobody_lists_count_zero() -> None:
    # 60 on one of two cores of the first device, nothing at all on the second
    assert ratios(runtime(60), devices=2) == [0.3, 0.0]


def test_cores_belong_to_devices_in_order() -> None:
    assert ratios(runtime(10, 20, 30, 40, 50, 60, 70, 80), devices=2, cores=4) == [0.25, 0.65]


@pytest.mark.parametrize(
    "broken",
    [
        runtime(0, 0, error="cannot read counters"),
        {**runtime(0, 0), "error": "runtime is gone"},
        {"pid": 1, "error": "", "report": {}},
        {"pid": 1, "error": "", "report": {"neuroncore_counters": {"period": 5.0, "error": ""}}},
    ],
)
def test_an_error_means_unknown_and_not_zero(broken: dict[str, Any]) -> None:
    assert ratios(broken) == [None]
    assert ratios(runtime(50, 50), broken, devices=2) == [None, None]  # nobody knows which cores the broken one holds


def test_an_error_of_another_group_does_not_matter() -> None:
    one = runtime(50, 50)
    one["report"]["neuron_runtime_vcpu_usage"] = {"error": "open /proc/4711/stat: no such file", "vcpu_usage": {"user": 0}}
    assert ratios(one) == [0.5]


def test_a_core_without_a_value_makes_its_own_device_unknown() -> None:
    one = runtime(50, 50, 50, 50)
    one["report"]["neuroncore_counters"]["neuroncores_in_use"]["3"] = {}
    assert ratios(one, devices=2) == [0.5, None]


def test_logical_cores_are_averaged_as_the_cores_they_are() -> None:
    """On Trainium2 four logical cores stand for eight; a logical value is the mean of the two behind it."""
    hardware = {"neuron_device_count": 1, "neuroncore_per_device_count": 4, "logical_neuroncore_config": 2, "error": ""}
    one = runtime(42.01, 0, 0)
    cores = one["report"]["neuroncore_counters"]["neuroncores_in_use"]
    behind = {"nc_v3.0": {"neuroncore_utilization": 21.01}, "nc_v3.1": {"neuroncore_utilization": 63.01}}
    cores["0"]["v3d"] = behind
    assert ratios(one, neuron_hardware_info=hardware) == [pytest.approx(42.01 / 400)]
    del cores["0"]["neuroncore_utilization"]
    assert ratios(one, neuron_hardware_info=hardware) == [pytest.approx((21.01 + 63.01) / 2 / 400)]
    del cores["0"]["v3d"]["nc_v3.1"]  # of two physical cores only one worked
    assert ratios(one, neuron_hardware_info=hardware) == [pytest.approx(21.01 / 2 / 400)]


@pytest.mark.parametrize("name", ["flops", "effective_flops"])
def test_operations_per_second_have_two_names(tmp_path: Path, name: str) -> None:
    one, two = runtime(50, 50), runtime(10, 10)
    for core, rate in (("0", 875_590_474_948), ("1", 1_000)):
        one["report"]["neuroncore_counters"]["neuroncores_in_use"][core][name] = rate
    (row,) = rows_of(read(tmp_path, wrapped(document(one, two))))
    assert row["effective_flops"] == 875_590_475_948


def test_a_document_without_runtimes_is_idle_by_absence(tmp_path: Path) -> None:
    empty, null = document(devices=2), document(devices=2)
    null["neuron_runtime_data"] = None
    rows = rows_of(read(tmp_path, wrapped(empty), wrapped(null, "2026-04-01T12:00:10Z")))
    assert [(row["utilisation_ratio"], row["is_idle_by_absence"], row["evidence"]) for row in rows] == [
        (0.0, True, "presence")
    ] * 4
    # the host's own groups say how long the document covers
    assert [row["sample_start"] for row in rows[::2]] == [NOON, NOON + dt.timedelta(seconds=5)]


def test_a_wrapped_document_ends_when_it_was_collected(tmp_path: Path) -> None:
    partial = runtime(18.25, 0, period=2.5)  # the first period of a run is partial and weighs only what it lasted
    (row,) = rows_of(read(tmp_path, wrapped(document(partial), "2026-04-01T14:00:05+02:00", host="node-7")))
    assert (row["sample_start"], row["sample_end"]) == (NOON + dt.timedelta(seconds=2.5), NOON + dt.timedelta(seconds=5))
    assert (row["host_id"], row["run_key"], row["is_idle_by_absence"], row["evidence"]) == ("node-7", "run-a", False, "measured")


def test_bare_documents_take_host_and_start_from_the_key(tmp_path: Path) -> None:
    bare = document(runtime(50, 50))
    del bare["instance_info"]
    rows = rows_of(read(tmp_path, bare, "{cut", bare, key="a/run=r%2F1/host=h%3A1/20260401T120000Z.jsonl"))
    assert [(row["host_id"], row["run_key"], row["line_number"]) for row in rows] == [("h:1", "r/1", 1), ("h:1", "r/1", 3)]
    # the cut line took as long as the one before it
    assert [row["sample_start"] for row in rows] == [NOON, NOON + dt.timedelta(seconds=10)]


def test_a_bare_document_goes_on_where_a_wrapped_one_ended(tmp_path: Path) -> None:
    bare = document(runtime(50, 50))
    rows = rows_of(read(tmp_path, wrapped(bare, "2026-04-01T12:00:30Z"), bare, bare, key="run=r/host=h/20260401T120000Z.jsonl"))
    assert [row["sample_end"] for row in rows] == [NOON + dt.timedelta(seconds=seconds) for seconds in (30, 35, 40)]


def test_without_a_run_in_the_key_the_tag_all_runtimes_share_is_the_run(tmp_path: Path) -> None:
    key = "host=i-0abc/2026-04-01T00:00:00Z.jsonl"
    lines = [
        wrapped(document(runtime(1, tag="job-9"), runtime(1, tag="job-9"))),
        wrapped(document(runtime(1, tag="job-9"), runtime(1, tag="job-8"))),
        wrapped(document(runtime(1, tag="4711"))),  # the default: a process id
        wrapped(document(runtime(1, tag="job-9"), runtime(1, tag="4711"))),  # somebody else is on the node as well
        wrapped(document(runtime(1, tag=""))),
    ]
    assert [row["run_key"] for row in rows_of(read(tmp_path, *lines, key=key))] == ["job-9", None, None, None, None]


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_plain_and_packed_lines_are_the_same_samples(tmp_path: Path, packing: str) -> None:
    content = packed(wrapped(document(runtime(50, 70))), wrapped(document(runtime(10, 30)), "2026-04-01T12:00:10Z"))
    if packing == ".gz":
        half = len(content) // 2  # a collector that appends writes one gzip member behind the other
        content = gzip.compress(content[:half], mtime=0) + gzip.compress(content[half:], mtime=0)
    elif packing == ".zst":
        content = pa.Codec("zstd").compress(content, asbytes=True)
    rows = rows_of(read(tmp_path, content=content, key=KEY + packing))
    assert [row["utilisation_ratio"] for row in rows] == [0.6, 0.2]


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("kept", [0.9, 0.0])
def test_a_truncated_file_is_refused_by_name(tmp_path: Path, packing: str, kept: float) -> None:
    lines = packed(*(wrapped(document(runtime(n % 100)), f"2026-04-01T12:{n // 60:02}:{n % 60:02}Z") for n in range(600)))
    content = gzip.compress(lines) if packing == ".gz" else pa.Codec("zstd").compress(lines, asbytes=True)
    with pytest.raises(ExportContentError, match=r"jsonl\.(gz|zst) is cut off or damaged") as refused:
        read(tmp_path, content=content[: int(len(content) * kept)], key=KEY + packing)
    assert refused.value.reason == "truncated"


def test_duplicate_documents_have_the_same_hash_and_others_have_not(tmp_path: Path) -> None:
    one = wrapped(document(runtime(50, 70)))
    spelled = dict(reversed(list(one.items())))  # the same, with its fields in another order and its zeros written out
    spelled["document"] = copy.deepcopy(one["document"])
    spelled["document"]["neuron_runtime_data"][0]["report"]["neuroncore_counters"]["period"] = 5
    spelled["document"]["system_data"]["vcpu_usage"]["context_switch_count"] = 1
    later, elsewhere = wrapped(one["document"], "2026-04-01T12:00:10Z"), wrapped(one["document"], host="i-0def")
    busier = wrapped(document(runtime(50, 71)))
    rows = rows_of(read(tmp_path, one, one, spelled, later, elsewhere, busier))
    first, *others = [row["document_hash"] for row in rows]
    assert others[:2] == [first, first]
    assert len({first, *others[2:]}) == 4


def test_the_same_document_of_two_runs_that_share_a_node_has_one_hash(tmp_path: Path) -> None:
    line = wrapped(document(runtime(50, 70)))
    hashes = set()
    for run in ("a", "b"):
        rows = rows_of(read(tmp_path / run, line, key=f"run={run}/host=i-0abc/2026-04-01T00:00:00Z.jsonl"))
        hashes |= {row["document_hash"] for row in rows}
    assert len(hashes) == 1


# --- refused lines


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{not json", "bad_json"),
        (wrapped({**document(runtime(1)), "neuron_hardware_info": {"error": "no devices"}}), "missing_hardware"),
        (wrapped(document(runtime(1), devices=10**9)), "missing_hardware"),
        (wrapped(document(runtime(1, 1, 1))), "core_out_of_range"),
        (wrapped(document(runtime(-1))), "negative_utilisation"),
        (wrapped(document(runtime(1)), "yesterday"), "bad_time"),
        ({"document": {"neuron_runtime_data": []}}, "missing_period"),
        ({"document": document(runtime("much"))}, "wrong_type"),  # type: ignore[arg-type]
        ("[]", "wrong_type"),
        ('{"a":' * 100_000, "too_deep"),
    ],
)
def test_a_line_that_says_nothing_is_left_out_and_counted(tmp_path: Path, line: Any, reason: str) -> None:
    good = wrapped(document(runtime(50, 50)))
    result = read(tmp_path, good, line, good, line)
    assert [row["line_number"] for row in rows_of(result)] == [1, 3]
    (remark,) = result.refusals
    assert (remark.reason, remark.row_number, remark.value) == (reason, 2, "2 left out")


def test_a_line_without_host_or_time_anywhere_is_left_out(tmp_path: Path) -> None:
    bare = document(runtime(50, 50))
    del bare["instance_info"]
    timed = {"collected_at": "2026-04-01T12:00:05Z", "document": bare}
    result = read(tmp_path, timed, bare, key="today.jsonl")
    assert (result.rows, [remark.reason for remark in result.refusals]) == (0, ["missing_host", "missing_time"])


def test_a_last_line_that_a_crash_cut_costs_only_itself(tmp_path: Path) -> None:
    good = packed(wrapped(document(runtime(50, 50))))
    result = read(tmp_path, content=good + good[: len(good) // 2])
    assert (result.rows, [remark.reason for remark in result.refusals]) == (1, ["bad_json"])


def test_an_empty_file_and_blank_lines_are_no_trouble(tmp_path: Path) -> None:
    assert read(tmp_path / "empty", content=b"").rows == 0
    line = packed(wrapped(document(runtime(50, 50))))
    assert read(tmp_path / "blank", content=b"\n  \n" + line.replace(b"\n", b"\r\n")).rows == 1


def test_each_file_is_a_delivery_and_others_are_left_alone(tmp_path: Path) -> None:
    names = [KEY, f"{KEY}.gz", f"{KEY}.zst", "run=a/host=b/notes.md", "run=a/.2026.jsonl.part", "run=a/_SUCCESS"]
    for name in names:
        write_bytes(tmp_path / "neuron" / name, b"")
    assert sorted(one.delivery_id for one in found(KIND, tmp_path / "neuron")) == names[:3]  # type: ignore[union-attr]


@given(st.lists(st.lists(st.floats(0, 100), min_size=1, max_size=4), max_size=5), st.randoms())
def test_the_order_of_runtimes_changes_nothing(percents: list[list[float]], order: Any) -> None:
    runtimes = [runtime(*cores) for cores in percents]
    shuffled = order.sample(runtimes, len(runtimes))
    found_ratios = ratios(*runtimes, devices=2)
    assert found_ratios == ratios(*shuffled, devices=2)
    assert all(ratio is not None and 0 <= ratio <= 1 for ratio in found_ratios)


def test_an_unknown_core_of_a_document_is_an_error_that_names_its_field() -> None:
    with pytest.raises(SampleError) as refused:
        ratios(runtime(1, 2, 3))
    assert refused.value.column == "neuroncores_in_use"
