"""A result of MLPerf in its folders: the log of a run, power logs beside it and the description of its system."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.connectors.kit import write_bytes

FOLDER = "Acme/results/4xTPU/bert"
START = 1_780_000_000_000
SYSTEM = {"number_of_nodes": "2", "accelerators_per_node": "4", "accelerator_model_name": "TPU-trillium", "framework": "maxtext"}


def event(time_ms: int, key: str, value: Any = None, rank: str = "", **metadata: Any) -> str:
    return f"{rank}:::MLLOG " + json.dumps(
        {"namespace": "", "time_ms": time_ms, "key": key, "value": value, "metadata": metadata}
    )


def run_log(seconds: int = 100, *more: str, status: str = "success") -> str:
    stop = event(START + seconds * 1000, "run_stop", rank="0: ", status=status)
    return "\n".join(["a line of the job", event(START, "run_start", rank="0: "), *more, stop, ""])


def node_log(readings: Iterable[tuple[int, Any]], efficiency: float | None = 0.94, stop: int | None = 120) -> str:
    """Readings by their second; the window begins with the run."""
    events = [event(START, "power_measurement_start")]
    if efficiency is not None:
        events.append(event(START, "conversion_eff", efficiency, measurement_type="AC"))
    events += [event(START + second * 1000, "power_reading", watts, host="node_0") for second, watts in readings]
    if stop is not None:
        events.append(event(START + stop * 1000, "power_measurement_stop"))
    return "\n".join(events) + "\n"


def write_result(root: Path, **files: str) -> Path:
    """Write result_0.txt and what is named: node_0, sw_0, with the description of the system."""
    write_bytes(root / "Acme/systems/4xTPU.json", json.dumps(SYSTEM).encode())
    for name, text in files.items():
        place = f"{FOLDER}/{name}.txt" if name.startswith("result") else f"{FOLDER}/power/result_0/{name}.txt"
        write_bytes(root / place, text.encode())
    return root
