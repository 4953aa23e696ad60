"""neuron-monitor's documents become one sample per device, and every trap of its counters has a test with its name."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.telemetry.neuron_documents import Document, devices_of
from connectors.telemetry.samples import SampleError
from tests.connectors.kit import rows_of
from tests.connectors.neuron import NOON, document, read, runtime, wrapped
from tests.shared import SHARED, SHARED_REASON


def ratios(*runtimes: dict[str, Any], **shape: Any) -> list[float | None]:
    parsed = msgspec.json.decode(json.dumps(document(*runtimes, **shape)), type=Document)
    return list(devices_of(parsed).ratios)


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
    assert {row["region_id"] for row in rows} == {"us-west-2"}
    # the capture of 2023 has no operations per second yet
    assert [(row["device_index"], row["device_count"], row["effective_flops"]) for row in rows] == [(0, 1, None)] * 3


# --- traps


def test_several_runtimes_per_core_add_up_and_stop_at_a_full_core() -> None:
    # core 0: 30 + 40; core 1: 80 + 90, which is full; together 170 of 200
    assert ratios(runtime(30, 80), runtime(40, 90)) == [0.85]


def test_idle_cores_and_unlisted_cores_count_zero() -> None:
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
    assert ratios(runtime(50, 50), broken, devices=2) == [None, None]  # which cores the broken one holds is unknown


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
