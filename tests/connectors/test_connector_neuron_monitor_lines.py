"""Each line of neuron-monitor has its time, host and run, from itself or its file's key, or is left out by name and counted."""

from __future__ import annotations

import copy
import datetime as dt
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.errors import ExportContentError
from tests.connectors.kit import found, rows_of, write_bytes
from tests.connectors.neuron import KEY, KIND, NOON, document, packed, read, runtime, wrapped


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


def of_groups(**periods: float) -> dict[str, Any]:
    """A bare document of the named groups only."""
    counters = periods.pop("neuroncore_counters", None)
    own = runtime(50, 50)
    own["report"] = (
        {} if counters is None else {"neuroncore_counters": own["report"]["neuroncore_counters"] | {"period": counters}}
    )
    return document(own) | {"system_data": {name: {"period": period} for name, period in periods.items()}}


def test_groups_of_different_periods_share_one_clock(tmp_path: Path) -> None:
    """Processors every 2 s, counters every 5 s: lines at 2, 4, 5, 6, 8, 10. All periods added up would be 18 s."""
    vcpu, counters = of_groups(vcpu_usage=2.0), of_groups(neuroncore_counters=5.0)
    both = of_groups(vcpu_usage=2.0, neuroncore_counters=5.0)
    rows = rows_of(read(tmp_path, *[vcpu, vcpu, counters, vcpu, vcpu, both] * 2, key="run=r/host=h/20260401T120000Z.jsonl"))
    assert [(row["sample_end"] - NOON).total_seconds() for row in rows] == [2, 4, 5, 6, 8, 10, 12, 14, 15, 16, 18, 20]
    measured = [row for row in rows if row["utilisation_ratio"] is not None]
    assert [(row["sample_start"] - NOON).total_seconds() for row in measured] == [0, 5, 10, 15]


def test_a_process_that_ended_and_another_that_began_do_not_move_the_clock(tmp_path: Path) -> None:
    alone, both = of_groups(vcpu_usage=5.0), of_groups(vcpu_usage=5.0, neuroncore_counters=5.0)
    partial = of_groups(vcpu_usage=5.0, neuroncore_counters=2.5)
    rows = rows_of(read(tmp_path, both, alone, alone, alone, partial, both, key="run=r/host=h/20260401T120000Z.jsonl"))
    assert [(row["sample_end"] - NOON).total_seconds() for row in rows] == [5, 10, 15, 20, 25, 30]


def test_groups_that_contradict_each_other_about_the_time_are_left_out_by_name(tmp_path: Path) -> None:
    """Each line repeats the last counters, also where they did not come again: which of them are new is not known."""
    both = of_groups(vcpu_usage=2.0, neuroncore_counters=5.0)
    result = read(tmp_path, *[both] * 3, key="run=r/host=h/20260401T120000Z.jsonl")
    (remark,) = result.refusals
    assert (remark.reason, remark.row_number, remark.value) == ("unclear_period", 2, "2 left out")
    assert "one period" in remark.remedy


def test_a_line_after_one_that_was_left_out_for_its_time_is_not_ahead_of_its_own(tmp_path: Path) -> None:
    """The second line ended at 7 s or at 10 s: where the earlier one is taken, the third ends at 9 s and not at 12 s."""
    vcpu, both = of_groups(vcpu_usage=2.0), of_groups(vcpu_usage=2.0, neuroncore_counters=5.0)
    rows = rows_of(read(tmp_path, both, both, vcpu, key="run=r/host=h/20260401T120000Z.jsonl"))
    assert [(row["sample_end"] - NOON).total_seconds() for row in rows] == [5, 9]


@pytest.mark.parametrize(("counters", "ends"), [(3.0, [3, 6]), (3.1, [3.1])])
def test_groups_agree_on_a_line_whose_ends_by_them_lie_at_most_half_a_period_apart(
    tmp_path: Path, counters: float, ends: list[float]
) -> None:
    """Of processors every 2 s the half is one second: 5 s and 6 s are one line, 5.1 s and 6.2 s are not."""
    both = of_groups(vcpu_usage=2.0, neuroncore_counters=counters)
    rows = rows_of(read(tmp_path, both, both, key="run=r/host=h/20260401T120000Z.jsonl"))
    assert [(row["sample_end"] - NOON).total_seconds() for row in rows] == ends


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


def behind_one_core(*percents: float) -> dict[str, Any]:
    """A runtime on one logical core that has no use of its own, only those of the physical ones behind it."""
    one = runtime(1)
    core = one["report"]["neuroncore_counters"]["neuroncores_in_use"]["0"]
    del core["neuroncore_utilization"]
    core["v3d"] = {f"nc_v3.{number}": {"neuroncore_utilization": percent} for number, percent in enumerate(percents)}
    return one


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{not json", "bad_json"),
        (wrapped({**document(runtime(1)), "neuron_hardware_info": {"error": "no devices"}}), "missing_hardware"),
        (wrapped(document(runtime(1), devices=0)), "missing_hardware"),
        (wrapped(document(runtime(1), devices=10**9)), "missing_hardware"),
        (wrapped(document(runtime(1, 1, 1))), "core_out_of_range"),
        (wrapped(document(runtime(-1))), "negative_utilisation"),
        (wrapped(document(runtime(1)), "yesterday"), "bad_time"),
        ({"document": {"neuron_runtime_data": []}}, "missing_period"),
        ({"document": document(runtime("much"))}, "wrong_type"),  # type: ignore[arg-type]
        (wrapped(document(behind_one_core(1e308, 1e308))), "wrong_type"),  # their sum is no number
        ("[]", "wrong_type"),
        ('{"a":' * 100_000, "too_deep"),
    ],
)
def test_a_line_without_a_sample_is_left_out_and_counted(tmp_path: Path, line: Any, reason: str) -> None:
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
