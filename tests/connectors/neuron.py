"""Documents of neuron-monitor, bare and wrapped, and the lines of a file of them."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

from connectors.deliveries import Converted
from tests.connectors.kit import converted, write_bytes

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


def reduced(**more: Any) -> dict[str, Any]:
    """Device 1 of a node over a minute and 41 ms at half use, as a recorder that reduces has it."""
    return {
        "minute": "2026-04-01T12:00:00.000000Z",
        "device": 1,
        "device_count": 16,
        "evidence": "measured",
        "first": "2026-04-01T11:59:55.031000Z",
        "last": "2026-04-01T12:00:55.072000Z",
        "samples": 12,
        "covered_us": 60_041_000,
        "known_us": 60_041_000,
        "used_ppm_us": 30_020_500_000_000,
        "least_ppm": 400_000,
        "greatest_ppm": 612_500,
        "instance_info": {"instance_type": "trn1.32xlarge", "instance_region": "us-east-1"},
        **more,
    }


def packed(*lines: Any, end: str = "\n") -> bytes:
    return "".join((line if isinstance(line, str) else json.dumps(line)) + end for line in lines).encode()


def read(tmp_path: Path, *lines: Any, key: str = KEY, content: bytes | None = None) -> Converted:
    write_bytes(tmp_path / "neuron" / key, packed(*lines) if content is None else content)
    return converted(KIND, tmp_path / "neuron", tmp_path / "landing")
