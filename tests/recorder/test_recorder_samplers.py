"""What each sampler reads, from trees and libraries that stand in for a machine's; the product's own connectors read it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.connectors.kit import converted, rows_of, write_bytes
from tests.recorder.kit import HOST, POWER, Node
from trainledger_recorder.samplers import Libtpu, NeuronPower, Nvml, kinds_here, lacking_here, stamped
from trainledger_recorder.sampling import sample, samplers_of

STAMP = stamped("2026-04-12T08:00:05.000Z", {"resource_id": HOST}, "run-a")


def test_the_drivers_power_is_found_in_both_trees_and_the_same_text_again_is_no_news(node: Node) -> None:
    files = [node.power(10), node.power(2, below="stats/hardware/power"), node.power(1, "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00")]
    (node.sysfs / "devices/virtual/neuron_device/neuron0/info").mkdir(parents=True)
    (node.sysfs / "module/neuron").mkdir(parents=True)
    (node.sysfs / "module/neuron/version").write_text("2.31.7.0\n")
    sampler = NeuronPower(node.sysfs)
    first = list(sampler.documents(STAMP))
    assert [one["device"] for one in first] == [1, 2, 10]
    assert first[1] == {
        "collected_at": "2026-04-12T08:00:05.000Z",
        "host": {"resource_id": HOST},
        "run": "run-a",
        "path": "/sys/devices/virtual/neuron_device/neuron2/stats/hardware/power/utilization",
        "device": 2,
        "text": POWER,
        "driver_version": "2.31.7.0",
    }
    files[0].write_text(POWER.replace("1787754600", "1787754660"))
    assert [one["device"] for one in sampler.documents(STAMP)] == [10]
    files[2].unlink()  # a reset takes the device away, and brings it back
    assert list(sampler.documents(STAMP)) == []
    node.power(1)
    node.power(3)
    files[0].unlink()
    assert [one["device"] for one in sampler.documents(STAMP)] == [1, 3]
    assert kinds_here({"PATH": ""}, node.sysfs, node.folder) == ["neuron_power"]


def test_chips_that_cannot_be_asked_are_named_with_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    for name in ("nvidiactl", "accel0"):
        (tmp_path / "dev" / name).touch()
    first, second = lacking_here(["neuron_power"], tmp_path)
    assert "pip install nvidia-ml-py" in first and "libtpu" in second
    assert lacking_here(["gpu_monitoring", "tpu_monitoring"], tmp_path) == []


class FakeError(Exception):
    """What NVML raises."""


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Two GPUs, of which the second is too old for an energy counter and has lost its power sensor."""
    fake = ModuleType("pynvml")

    def asked(good: Any) -> Any:
        def ask(handle: int) -> Any:
            if handle == 1:
                raise FakeError("Not Supported")
            return good

        return ask

    fake.__dict__.update(
        NVMLError=FakeError,
        nvmlInit=lambda: None,
        nvmlSystemGetDriverVersion=lambda: b"550.90.07",
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUUID=lambda handle: f"GPU-{handle}",
        nvmlDeviceGetName=lambda handle: b"NVIDIA H100 80GB HBM3",
        nvmlDeviceGetPowerUsage=asked(652_125),
        nvmlDeviceGetEnforcedPowerLimit=asked(700_000),
        nvmlDeviceGetTotalEnergyConsumption=asked(123_456_789),
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=97, memory=50),
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    yield fake


def test_a_gpu_reports_its_watts_and_what_it_does_not_report_is_null_and_never_zero(nvml: ModuleType, tmp_path: Path) -> None:
    (document,) = Nvml().documents(STAMP)
    assert document["gpus"] == [
        {
            "index": 0,
            "uuid": "GPU-0",
            "name": "NVIDIA H100 80GB HBM3",
            "power_w": 652.125,
            "power_limit_w": 700.0,
            "energy_mj": 123_456_789,
            "utilization_percent": 97,
        },
        {
            "index": 1,
            "uuid": "GPU-1",
            "name": "NVIDIA H100 80GB HBM3",
            "power_w": None,
            "power_limit_w": None,
            "energy_mj": None,
            "utilization_percent": 97,
        },
    ]
    assert (document["driver_version"], document["run"]) == ("550.90.07", "run-a")
    write_bytes(tmp_path / "gpu/host=i-1/2026-04-12T08-00-00Z-1-ab-000001.jsonl", json.dumps(document).encode() + b"\n")
    result = converted("gpu_monitoring", tmp_path / "gpu", tmp_path / "landing")
    assert result.refusals == ()
    rows = sorted(rows_of(result), key=lambda row: row["device_index"])
    assert [(row["host_id"], row["run_key"], row["power_w"], row["utilisation_ratio"]) for row in rows] == [
        (HOST, "run-a", 652.125, 0.97),
        (HOST, "run-a", None, 0.97),
    ]


class Tpu:
    """libtpu's metrics, as lists of texts."""

    def __init__(self, **metrics: list[str]) -> None:
        self.metrics = metrics

    def get_metric(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(data=lambda: self.metrics[name])


def read_tpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **metrics: list[str]) -> list[dict[str, Any]]:
    fake = ModuleType("libtpu_sdk_stand_in")
    fake.tpumonitoring = Tpu(**metrics)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    sampler = Libtpu({"location": "us-central2", "accelerator_type": "ct6e-standard-4t"}, fake.__name__)
    stamp = stamped(STAMP["collected_at"], {"resource_id": "4519384756201"}, "run-a")
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in sampler.documents(stamp))
    if not lines:
        return []
    write_bytes(tmp_path / "tpu/run=run-a/host=4519384756201/2026-04-12T08-00-00Z-1-ab-000001.jsonl", lines)
    result = converted("tpu_monitoring", tmp_path / "tpu", tmp_path / "landing")
    assert result.refusals == ()
    return sorted(rows_of(result), key=lambda row: (row["device_index"], row["evidence"]))


def test_libtpus_duty_cycles_are_read_as_the_use_of_each_chip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = read_tpu(tmp_path, monkeypatch, duty_cycle_pct=["45.32", "n/a"], hbm_capacity_usage=["1024", "2048"])
    assert [(row["device_index"], row["evidence"], row["utilisation_ratio"]) for row in rows] == [
        (0, "measured", 0.4532),
        (0, "presence", 0.0),
        (1, "measured", None),
        (1, "presence", 0.0),
    ]
    assert {(row["host_id"], row["run_key"], row["accelerator_type"], row["region_id"]) for row in rows} == {
        ("4519384756201", "run-a", "v6e", "us-central2")
    }
    assert {row["sample_end"].isoformat() for row in rows} == {"2026-04-12T08:00:05"}


def test_chips_whose_duty_cycle_cannot_be_read_are_not_called_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_tpu(tmp_path, monkeypatch, hbm_capacity_usage=["1024"]) == []
    assert read_tpu(tmp_path, monkeypatch, duty_cycle_pct=[], hbm_capacity_usage=[]) == []


def test_a_library_that_is_missing_or_fails_is_named_once_and_the_others_go_on(node: Node, nvml: ModuleType) -> None:
    messages: list[str] = []
    settings = {"kinds": ["tpu_monitoring", "gpu_monitoring", "neuron_power"], "sysfs": str(node.sysfs), "labels": {}}
    settings |= {"host": {"resource_id": HOST}, "run": "run-a"}
    node.power(0)
    samplers = samplers_of(settings, messages.append)
    assert [one.kind for one in samplers] == ["gpu_monitoring", "neuron_power"]
    assert messages == ["tpu_monitoring cannot be recorded here: ModuleNotFoundError: No module named 'libtpu'"]
    nvml.nvmlDeviceGetUtilizationRates = lambda handle: 1 / 0  # type: ignore[attr-defined]
    out, failed = io.StringIO(), set[str]()
    for _ in range(2):
        sample(samplers, settings, out, messages.append, failed)
    assert [line.split(" ")[0] for line in out.getvalue().splitlines()] == ["neuron_power"]
    assert messages[1:] == ["gpu_monitoring cannot be read now: ZeroDivisionError: division by zero"]
