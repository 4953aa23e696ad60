"""MaxText's logs, goodput entries and the environment of a profile: how far a run got, by its own log."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from tests.connectors.records import part, read, refused
from tests.connectors.test_connector_job_forms import picked

# from MaxText's own guide to its logs (docs/guides/monitoring_and_debugging/understand_logs_and_metrics.md at e591f30c)
GUIDE = """Config param steps: 10
Config param per_device_batch_size: 24.0
Config param max_target_length: 2048
Config param dtype: bfloat16
Config param model_name: deepseek2-16b
Config param run_name: demo
System Information: Jax Version: 0.7.2.dev20250826
System Information: Jax Backend: PJRT C API
TFRT TPU v5
Num_devices: 4, shape (1, 1, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1)
Per train step:
 Total TFLOPs: 764.67
 split as 94.54% learnable weight flops and 5.46% attention flops
completed step: 0, seconds: 44.923, TFLOP/s/device: 17.022, Tokens/s/device: 1094.129, total_weights: 196608, loss: 12.038
completed step: 1, seconds: 0.319, TFLOP/s/device: 2400.734, Tokens/s/device: 154316.608, total_weights: 196608, loss: 12.038
I0811 21:54:55.531340 138 metric_logger.py:226] completed step: 2, seconds: 5.658, TFLOP/s/device: 135.158, loss: 11.689
completed profiler activation/deactivation step: 3, total_weights: 196608, loss: 11.379
"""


def test_a_log_of_steps_gives_steps_with_the_tokens_and_operations_of_each_device(tmp_path: Path) -> None:
    """24 sequences of 2048 tokens on each of four devices, and 764.67e12 operations a step and device."""
    result = read(tmp_path, GUIDE.encode(), "demo-worker-0.log")
    [run] = part(result, "run")
    assert (run["recorded_id"], run["framework"], run["model_name"]) == ("demo", "maxtext", "deepseek2-16b")
    assert (run["sdk_name"], run["sdk_version"], run["provider_name"]) == ("jax", "0.7.2.dev20250826", "Google Cloud")
    steps = part(result, "progress")
    assert picked(steps, "step", "seconds") == [(0, 44.923), (1, 0.319), (2, 5.658), (3, None)]
    assert {(row["device_tokens"], row["device_count"], row["arithmetic"]) for row in steps} == {(24 * 2048, 4, "bf16")}
    assert {row["device_flops"] for row in steps} == {764.67 * 10**12}
    assert 4 * sum(row["device_tokens"] for row in steps) == 4 * 196608  # as the log counts them itself


def test_a_log_without_its_configuration_gives_what_its_rates_say(tmp_path: Path) -> None:
    line = b"completed step: 9, seconds: 5.667, TFLOP/s/device: 134.924, Tokens/s/device: 8672.758, total_weights: 1, loss: 1\n"
    result = read(tmp_path, line, "run=demo2/worker-0.log")
    [step] = part(result, "progress")
    assert step["recorded_id"] == "demo2"
    assert step["device_tokens"] == round(8672.758 * 5.667) == 49149  # 49152 without the rounding of the log
    assert step["device_flops"] == 134.924 * 5.667 * 10**12


def test_metrics_by_step_are_read_and_evaluations_are_no_steps(tmp_path: Path) -> None:
    stated = {
        "learning/loss": 2.5,
        "perf/step_time_seconds": 2.0,
        "perf/per_device_tflops": 100.0,
        "perf/per_device_tokens": 8192.0,
    }
    lines = [
        stated | {"step": 0.0, "run_name": "a"},
        stated | {"step": 1.0, "run_name": "a"},
        {"learning/loss": 2.4, "step": 2.0, "run_name": "a"},  # a batch that still grows has no figures of speed
        {"eval/avg_loss": 2.4, "learning/loss": 0.0, "step": 2.0, "run_name": "a"},
        stated | {"step": 0.0, "run_name": "b"},
    ]
    content = "\n".join(json.dumps(line) for line in lines)
    result = read(tmp_path, content.encode(), "metrics_step_000000_to_step_000002.txt")
    assert picked(part(result, "progress"), "recorded_id", "step", "seconds", "device_tokens", "device_flops") == [
        ("a", 0, 2.0, 8192.0, 1e14),
        ("a", 1, 2.0, 8192.0, 1e14),
        ("a", 2, None, None, None),
        ("b", 0, 2.0, 8192.0, 1e14),
    ]


def entry(**payload: object) -> dict[str, object]:
    return {"logName": "projects/p/logs/goodput_llama", "severity": "INFO", "jsonPayload": {"job_name": "llama", **payload}}


T0 = 1782864000.0  # 2026-07-01T00:00:00Z


def test_goodput_entries_become_moments_and_spans(tmp_path: Path) -> None:
    entries = [
        entry(job_start_time=T0),
        entry(tpu_init_start_time=T0 + 1),
        entry(tpu_init_end_time=T0 + 11.5),
        entry(step_count=0, step_start_time=T0 + 60),
        entry(custom_badput_event_type="eval", custom_badput_event_start_time=T0 + 70),
        entry(step=5, event_type="save", checkpoint_manager_blocking_start_time=T0 + 80),
        entry(job_end_time=T0 + 100),
    ]
    result = read(tmp_path, entries, "goodput.json")
    zero = dt.datetime(2026, 7, 1)
    found = {row["progress_kind"]: row for row in part(result, "progress") if "until_at" not in row}
    seconds = {kind: (row["happened_at"] - zero).total_seconds() for kind, row in found.items()}
    assert seconds == {"job_start": 0, "tpu_init": 1, "step": 60, "custom:eval": 70, "checkpoint": 80, "job_end": 100}
    assert (found["step"]["step"], found["checkpoint"]["step"]) == (0, 5)
    [ended] = [row for row in part(result, "progress") if "until_at" in row]
    assert (ended["progress_kind"], ended["until_at"] - zero) == ("tpu_init", dt.timedelta(seconds=11.5))
    assert part(result, "alias")[0]["alias_id"] == "llama"
    assert result.refusals == ()  # a log names no machines by its nature


def test_a_profile_has_its_run_from_its_folder_alone(tmp_path: Path) -> None:
    table = [{"cols": [], "rows": []}, {"p": {"device_type": "TPU v6 Lite", "host_count": "4", "device_core_count": "16"}}]
    result = read(tmp_path / "1", table, "run=llama/plugins/profile/s/overview_page.json")
    assert picked(part(result, "run"), "recorded_id", "provider_name") == [("llama", "Google Cloud")]
    assert picked(part(result, "progress"), "progress_kind", "device_count") == [("environment", 16)]
    same = {"runEnvironment": {"deviceType": "TPU v6 Lite", "hostCount": 4, "deviceCoreCount": 16}}
    assert part(read(tmp_path / "2", same, "run=llama/environment.json"), "progress") == part(result, "progress")
    assert refused(tmp_path / "3", same, "environment.json").reason == "missing_value"


@pytest.mark.parametrize("content", [b"hello\n", b"completed nothing\n", b"a,b\n1,2\n", b"\x00\xff\xfe", b"{}\n{}\n"])
def test_a_log_or_table_of_no_known_form_is_refused(tmp_path: Path, content: bytes) -> None:
    assert refused(tmp_path, content, "a.log").reason in {"bad_json", "unknown_record"}
