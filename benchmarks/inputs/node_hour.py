"""An hour of many Trainium nodes: neuron-monitor's lines every five seconds, the driver's power every minute, and their runs.

neuron-monitor's lines are those of inputs/neuron.py with little but the counters; power lines are what a recorder reads in
sysfs, a line a device and minute. Fifty nodes of one type are a run, with a record that names them.
"""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.inputs import neuron
from dagster_project.demo.files import put, put_json

HOUR = timedelta(hours=1)
MINUTES, LINES = 60, 3_600 // neuron.PERIOD_S
NODES_OF_A_RUN = 50
SYSFS = "/sys/devices/virtual/neuron_device/neuron{device}/stats/power/utilization"


def host_of(number: int) -> str:
    return f"i-0be0{number:013x}"


def run_of(number: int) -> str:
    """Nodes of one type: types take turns, as in inputs/neuron.py."""
    kind, position = number % len(neuron.NODES), number // len(neuron.NODES)
    return f"bench-{kind}-{position // NODES_OF_A_RUN}"


def write_hour(folder: Path, nodes: int, start: datetime, held: tuple[datetime, datetime] | None = None) -> int:
    """Write telemetry, power and records of `nodes` nodes below `folder`; returns the bytes of telemetry and power.

    Their runs hold them for that hour, or for the time `held`, whose records are as old as its beginning.
    """
    written = neuron.write_files(
        folder / "monitor", files=nodes, lines=LINES, start=start, hosts=nodes, groups="few", run_of=run_of
    )
    for number in range(nodes):
        written += _write_power(folder / "power", number, start)
    _write_records(folder / "node-runs", nodes, *(held or (start, start + HOUR)))
    return written


def _write_power(root: Path, number: int, start: datetime) -> int:
    draw, node, host = random.Random(f"power|{number}"), neuron.NODES[number % len(neuron.NODES)], host_of(number)
    shared = {"host": {"resource_id": host, "instance_type": node.type}, "run": run_of(number)}
    lines = []
    for minute in range(1, MINUTES + 1):
        time = start + timedelta(minutes=minute)
        collected = f"{time + timedelta(seconds=4):%Y-%m-%dT%H:%M:%SZ}"
        for device in range(node.devices):
            mean = draw.uniform(50, 80)
            text = f"POWER_STATUS_VALID,{int(time.timestamp())},{mean - 9:.2f},{mean + 9:.2f},{mean:.2f}"
            lines.append(json.dumps({"collected_at": collected, **shared, "path": SYSFS.format(device=device), "text": text}))
    text = "\n".join(lines) + "\n"
    put(root / f"host={host}" / f"{start:%Y-%m-%dT%H-%M-%SZ}.jsonl", text, int((start + HOUR).timestamp()) + 60)
    return len(text)


def _write_records(root: Path, nodes: int, start: datetime, end: datetime) -> None:
    runs: dict[str, list[int]] = {}
    for number in range(nodes):
        runs.setdefault(run_of(number), []).append(number)
    times = {"started_at": f"{start:%Y-%m-%dT%H:%M:%SZ}", "ended_at": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
    for run, members in runs.items():
        type_ = neuron.NODES[members[0] % len(neuron.NODES)].type
        held = [{"resource_id": host_of(number), "accelerator_type": type_, "chips": 16} for number in members]
        attempt = {"attempt_id": f"{run}-1", "state": "succeeded", **times, "nodes": held}
        record = {"training_run_id": run, "provider_name": "AWS", "attempts": [attempt]}
        put_json(root / f"{run}.run.json", record, int((start + HOUR).timestamp()) + 60)
