"""JSON of XProf and JAX: traces with counters give what their profile gives; of a page only what is energy, or the reason."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.kit import converted, rows_of, write_bytes
from tests.connectors.test_connector_xprof import CORE, HBM, KIND, at, joules
from tests.connectors.xspaces import START

FOLDER = "plugins/profile/2026_04_01_12_00_00"
PROCESS = {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "host-1 /device:TPU:0"}}
CORE_SAMPLES = [(0, 100.0), (4, 200.0), (8, 150.0)]
HBM_SAMPLES = [(2, 20.0), (6, 30.0)]


def read(tmp_path: Path, document: Any, key: str = f"{FOLDER}/trace_viewer.json") -> Any:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    write_bytes(tmp_path / "pages" / key, gzip.compress(content) if key.endswith(".gz") else content)
    return converted(KIND, tmp_path / "pages", tmp_path / "landing")


def reasons(result: Any) -> list[str]:
    assert result.rows == 0
    return [refusal.reason for refusal in result.refusals]


def counters(form: str) -> list[dict[str, Any]]:
    """The same counters in each form that a trace has: times in microseconds."""
    events = []
    for name, samples in ((CORE, CORE_SAMPLES), (HBM, HBM_SAMPLES)):
        one = {"ph": "C", "pid": 3, "name": name, "event_stats": "power"}
        if form == "pairs":  # XProf
            events.append(one | {"entries": [[seconds * 1e6, watts] for seconds, watts in samples]})
        elif form == "objects":  # its viewer
            events.append(one | {"entries": [{"ts": seconds * 1e6, "value": watts} for seconds, watts in samples]})
        else:  # JAX: an event for each, its figure as text
            for seconds, watts in samples:
                shown = {"name": name, "ts": seconds * 1e6, "tid": 7, "args": {"power": str(watts), "device_offset_ps": "1"}}
                events.append({"ph": "X", "pid": 3} | shown)
    return events


@pytest.mark.parametrize(
    ("form", "key"),
    [
        ("pairs", f"{FOLDER}/trace_viewer@.json"),
        ("objects", f"{FOLDER}/page.json.gz"),
        ("events", f"{FOLDER}/host-1.trace.json.gz"),
    ],
)
def test_a_trace_gives_the_joules_of_its_profile(tmp_path: Path, form: str, key: str) -> None:
    trace = {"displayTimeUnit": "ns", "traceEvents": [PROCESS, *counters(form), {"ph": "X", "pid": 3, "name": "fusion"}, {}]}
    rows = rows_of(read(tmp_path, trace | {"showCounterMessage": ""}, key))
    # a trace does not say when its session ended, so the last samples prove no time: Core is known to 8 s, HBM from 2 s to 6 s
    assert joules(rows) == 2 * 100 + 2 * 200 + 4 * 20
    assert {(row["host_id"], row["device_index"], row["sample_start"], row["sample_end"]) for row in rows} == {
        ("host-1", 0, at(2), at(6))
    }


def test_a_trace_without_its_time_or_with_counters_left_out_is_reported(tmp_path: Path) -> None:
    trace = {"traceEvents": [PROCESS, *counters("pairs")]}
    assert reasons(read(tmp_path, trace, "downloads/trace.json")) == ["missing_time"]
    thinned = trace | {"showCounterMessage": "Only 10000 counter events are shown. Zoom in or pan to see more."}
    assert reasons(read(tmp_path / "2", thinned)) == ["not_all_counters"]
    odd = {"traceEvents": [PROCESS, {"ph": "C", "pid": 3, "name": CORE, "entries": [["x", None]]}]}
    assert reasons(read(tmp_path / "3", odd)) == ["wrong_type"]


@pytest.mark.parametrize(("latest", "reason"), [(10**12 - 1, None), (10**12, "bad_time"), (-(10**12), "bad_time")])
def test_a_time_of_a_trace_lies_within_a_million_seconds_of_its_session(tmp_path: Path, latest: int, reason: str | None) -> None:
    """No profile takes eleven days: such a time is of another clock."""
    entries = [[latest - 2_000_000, 100.0], [latest - 1_000_000, 200.0], [latest, 1.0]]
    result = read(tmp_path, {"traceEvents": [PROCESS, {"ph": "C", "pid": 3, "name": CORE, "entries": entries}]})
    assert [refusal.reason for refusal in result.refusals] == ([reason] if reason else [])
    assert bool(result.rows) == (reason is None)


def page(**more: Any) -> dict[str, Any]:
    """OverviewPage as protobuf JSON, whose 64-bit numbers are texts."""
    environment = {
        "hostCount": 1,
        "hostnames": {"host_1": True},
        "deviceType": "TPU v6 Lite",
        "deviceCoreCount": 1,
        "hostIndependentJobInfo": {"profileDurationMs": 2000},
        "hostDependentJobInfo": [{"hostId": "host_1", "profileTimeNs": str(START)}],
        "powerMetrics": {
            "powerComponentMetrics": [
                {"componentName": "HBM", "maxPower": 60.5, "avgPower": 20.25, "maxMovingAvgPower1ms": 50, "sampleCount": "2000"},
                {"componentName": "Core", "maxPower": 140, "avgPower": 90.5, "sampleCount": "2000"},
                {"componentName": "VDD Core FW Power Meter PL1(W)", "maxPower": 130, "timescaleUs": 1000},
            ]
        },
    }
    return {"runEnvironment": environment | more, "analysis": {}}


def test_the_means_of_one_chip_are_its_energy_and_maxima_are_not(tmp_path: Path) -> None:
    rows = rows_of(read(tmp_path, page(), f"{FOLDER}/overview_page.json"))
    # 2 s x (20.25 W + 90.5 W)
    assert joules(rows) == 221.5
    assert {(row["host_id"], row["component"], row["meter"], row["accelerator_type"]) for row in rows} == {
        ("host_1", "HBM", "xprof_spi", "v6e"),
        ("host_1", "Core", "xprof_spi", "v6e"),
    }
    snake = {
        "power_metrics": {"power_component_metrics": [{"component_name": "HBM", "avg_power": 20.25}]},
        "device_core_count": 1,
        "host_dependent_job_info": [{"profile_time_ns": START}],
        "host_independent_job_info": {"profile_duration_ms": 2000},
    }
    assert joules(rows_of(read(tmp_path / "2", snake, "run=a/run_environment.json"))) == 40.5


def test_a_page_that_is_no_chips_energy_is_refused_with_its_reason(tmp_path: Path) -> None:
    assert reasons(read(tmp_path / "1", page(deviceCoreCount=4))) == ["several_chips"]
    assert reasons(read(tmp_path / "2", page(hostCount=2))) == ["several_chips"]
    only_maxima = page(powerMetrics={"powerComponentMetrics": [{"componentName": "HBM", "maxPower": 60.5}]})
    assert reasons(read(tmp_path / "3", only_maxima)) == ["no_mean"]
    assert reasons(read(tmp_path / "4", page(hostIndependentJobInfo={}))) == ["no_window"]
    assert reasons(read(tmp_path / "5", page(powerMetrics={"powerComponentMetrics": [7]}))) == ["wrong_type"]
    texts = [
        {
            "cols": [],
            "rows": [],
            "p": {"fw_power_metrics": "HBM PL1: 60.5 W/1 ms##Core PL1: 130 W/1 ms", "device_core_count": "1"},
        }
    ]
    assert reasons(read(tmp_path / "6", texts)) == ["no_window"]
    assert reasons(read(tmp_path / "7", [{"cols": [], "rows": []}])) == ["no_power"]
    assert reasons(read(tmp_path / "8", b"<html>")) == ["bad_json"]
    assert reasons(read(tmp_path / "9", page(hostnames={}))) == ["missing_host"]
