"""neuron-monitor documents in bulk: lines of a thousand drawn documents of a trn1.32xlarge, each with its own time."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from demo.files import put

CORES, PERIOD_S, DRAWN = 32, 5, 1_000
VCPU = {"user": 21.4, "nice": 0, "system": 3.1, "idle": 75.5, "io_wait": 0, "irq": 0, "soft_irq": 0}
_MARK = "@collected_at@"


def documents(host: str, seed: int, count: int = DRAWN) -> list[tuple[str, str]]:
    """Lines without their time, as what comes before and after it."""
    random = Random(f"{seed}|{host}")
    lines = (json.dumps(_wrapped(host, random), separators=(",", ":")).partition(_MARK) for _ in range(count))
    return [(before, after) for before, _, after in lines]


def _wrapped(host: str, random: Random) -> dict:
    base = random.uniform(20, 90)
    cores = {str(core): {"neuroncore_utilization": round(base + random.uniform(-9, 9), 12)} for core in range(CORES)}
    pid = random.randrange(2_000, 60_000)
    latency = {f"p{part}": round(random.uniform(0.001, 0.2), 9) for part in (0, 1, 25, 50, 75, 99, 100)}
    report = {
        "neuroncore_counters": {"period": PERIOD_S + random.uniform(-0.002, 0.002), "neuroncores_in_use": cores, "error": ""},
        "execution_stats": {
            "period": PERIOD_S,
            "error_summary": dict.fromkeys(("generic", "numerical", "transient", "model", "runtime", "hardware"), 0),
            "execution_summary": {"completed": random.randrange(99, 190), "completed_with_err": 0, "timed_out": 0},
            "latency_stats": {"total_latency": latency, "device_latency": latency},
            "error": "",
        },
    }
    runtime = {"pid": pid, "neuron_runtime_tag": str(pid), "error": "", "report": report}
    memory = {"memory_total_bytes": 540_000_000_000, "memory_used_bytes": random.randrange(90_000_000_000), "swap_used_bytes": 0}
    document = {
        "neuron_runtime_data": [runtime],
        "system_data": {
            "memory_info": {"period": PERIOD_S, **memory, "error": ""},
            "vcpu_usage": {
                "period": PERIOD_S,
                "average_usage": VCPU,
                "context_switch_count": random.randrange(90_000),
                "error": "",
            },
        },
        "instance_info": {"instance_name": "", "instance_id": host, "instance_type": "trn1.32xlarge", "error": ""},
        "neuron_hardware_info": {
            "neuron_device_count": 16,
            "neuroncore_per_device_count": 2,
            "neuron_device_memory_size": 32 << 30,
            "error": "",
        },
    }
    return {"collected_at": _MARK, "host": {"resource_id": host, "instance_type": "trn1.32xlarge"}, "document": document}


def write_files(root: Path, *, files: int, lines: int, start: datetime, hosts: int = 20, seed: int = 1) -> int:
    """`files` files of `lines` documents each, spread over hosts; a host's files follow each other. Returns the bytes written."""
    written = 0
    for number in range(hosts):
        host = f"i-0be0{number:013x}"
        drawn = documents(host, seed, min(DRAWN, lines))
        for position in range(files // hosts + (number < files % hosts)):
            begun = start + timedelta(seconds=position * lines * PERIOD_S)
            times = [begun + timedelta(seconds=(line + 1) * PERIOD_S) for line in range(lines)]
            text = "".join(
                f"{before}{time:%Y-%m-%dT%H:%M:%SZ}{after}\n"
                for time, (before, after) in zip(times, (drawn[line % len(drawn)] for line in range(lines)), strict=True)
            )
            path = root / f"run=bench-{number}" / f"host={host}" / f"{begun:%Y-%m-%dT%H-%M-%SZ}.jsonl"
            put(path, text, int(times[-1].astimezone(UTC).timestamp()) + 60)
            written += len(text)
    return written
