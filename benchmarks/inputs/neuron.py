"""neuron-monitor documents in bulk, in the sizes of large training nodes; each line has its own time.

Sections and fields are those of the real capture of a trn1.2xlarge, and the later `effective_flops`, devices and logical cores,
in the sizes of a trn1.32xlarge and a trn2.48xlarge. Three kinds of nodes take turns: one process with all cores, sixteen with
two each, and sixteen with four logical ones. `groups="few"` leaves only the counters and the average of the processors: the most
samples that a byte can hold, and the hardest case to read.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from dagster_project.demo.files import put

_MARK = "@collected_at@"
PERIOD_S, DRAWN = 5, 24  # documents drawn anew for a host, then repeated with other times
SHARES = ("user", "nice", "system", "idle", "io_wait", "irq", "soft_irq")
PERCENTILES = ("p0", "p1", "p100", "p25", "p50", "p75", "p99")
ERRORS = ("generic", "numerical", "transient", "model", "runtime", "hardware")
ENDED = ("completed", "completed_with_err", "completed_with_num_err", "timed_out", "incorrect_input", "failed_to_queue")
MEMORY = ("constants", "model_code", "model_shared_scratchpad", "runtime_memory", "tensors")

INSTANCE = {
    "instance_id": "i-01db7a16f4c054239",
    **{"instance_availability_zone": "us-west-2d", "instance_availability_zone_id": "usw2-az4", "instance_region": "us-west-2"},
    "ami_id": "ami-0ceecbb0f30a902a6",
    "subnet_id": "subnet-011289cb54b7c352a",
}


class Node(NamedTuple):
    """A machine and how its cores are divided among processes."""

    type: str
    cores: int  # of each of its 16 devices, logical ones on Trainium2
    runtimes: int
    processors: int
    kind: str
    version: str
    logical: int = 1
    devices: int = 16


NODES = (
    Node("trn1.32xlarge", 2, 1, 128, "trainium", "v2"),
    Node("trn1.32xlarge", 2, 16, 128, "trainium", "v2"),
    Node("trn2.48xlarge", 4, 16, 192, "trainium2", "v3", 2),
)


def sorted_names(numbers: range) -> list[str]:
    """As Go writes the keys of a map: 0, 1, 10, 11, ..."""
    return sorted(map(str, numbers))


def document(draw: random.Random, node: Node, groups: str) -> dict[str, Any]:
    """One document as neuron-monitor prints it."""
    per = node.devices * node.cores // node.runtimes
    runtimes = [_runtime(draw, node, rank, range(rank * per, (rank + 1) * per), groups) for rank in range(node.runtimes)]
    vcpu: dict[str, Any] = {"period": _period(draw), "average_usage": _usage(draw)}
    system: dict[str, Any] = {}
    if groups == "all":
        memory = {"memory_total_bytes": 549_755_813_888, "memory_used_bytes": draw.randrange(10**11), "swap_total_bytes": 0}
        system["memory_info"] = {"period": _period(draw), **memory, "swap_used_bytes": 0, "error": ""}
        counters = ("mem_ecc_corrected", "mem_ecc_uncorrected", "sram_ecc_uncorrected", "sram_ecc_corrected")
        devices = [{"neuron_device_index": index, **dict.fromkeys(counters, 0)} for index in range(node.devices)]
        system["neuron_hw_counters"] = {"period": _period(draw), "neuron_devices": devices, "error": ""}
        vcpu["usage_data"] = {name: _usage(draw) for name in sorted_names(range(node.processors))}
    system["vcpu_usage"] = {**vcpu, "context_switch_count": draw.randrange(10**6), "error": ""}
    return {
        "neuron_runtime_data": runtimes,
        "system_data": system,
        "instance_info": {"instance_name": "", "instance_type": node.type, **INSTANCE, "error": ""},
        "neuron_hardware_info": {
            **{"neuron_device_type": node.kind, "neuron_device_version": node.version, "neuroncore_version": node.version},
            **{"neuron_device_count": node.devices, "neuron_device_memory_size": 34_359_738_368},
            **{"neuroncore_per_device_count": node.cores, "logical_neuroncore_config": node.logical, "error": ""},
        },
    }


def _period(draw: random.Random) -> float:
    return round(PERIOD_S + draw.uniform(-0.001, 0.001), 9)


def _usage(draw: random.Random) -> dict[str, float]:
    user, system = round(draw.uniform(5, 40), 2), round(draw.uniform(1, 6), 2)
    return dict(zip(SHARES, (user, 0, system, round(100 - user - system, 2), 0, 0, 0), strict=True))


def _core(draw: random.Random, node: Node, core: int) -> dict[str, Any]:
    percent = draw.uniform(60, 100)
    found: dict[str, Any] = {"effective_flops": draw.randrange(10**12, 10**14), "neuroncore_utilization": percent}
    if node.logical == 2:
        halves = (min(percent + 0.5, 100.0), percent)
        found["v3d"] = {f"nc_v3.{2 * core + half}": {"neuroncore_utilization": one} for half, one in enumerate(halves)}
    return found


def _runtime(draw: random.Random, node: Node, rank: int, cores: range, groups: str) -> dict[str, Any]:
    pid = 16_851 + rank
    counters = {str(core): _core(draw, node, core) for core in cores}
    in_use = {name: counters[name] for name in sorted_names(cores)}
    report: dict[str, Any] = {}
    if groups == "all":
        report["execution_stats"] = _executions(draw)
        report["memory_used"] = _memory(draw, cores)
        vcpu = {"user": round(draw.uniform(5, 40), 2), "system": round(draw.uniform(1, 6), 2)}
        report["neuron_runtime_vcpu_usage"] = {"period": _period(draw), "vcpu_usage": vcpu, "error": ""}
    report["neuroncore_counters"] = {"period": _period(draw), "neuroncores_in_use": in_use, "error": ""}
    return {"pid": pid, "neuron_runtime_tag": str(pid), "error": "", "report": report}


def _executions(draw: random.Random) -> dict[str, Any]:
    latency = {name: draw.uniform(8e-5, 2e-4) for name in PERCENTILES}
    return {
        "period": _period(draw),
        "error_summary": dict.fromkeys(ERRORS, 0),
        "execution_summary": {**dict.fromkeys(ENDED, 0), "completed": draw.randrange(1_000)},
        "latency_stats": {"total_latency": latency, "device_latency": latency},
        "error": "",
    }


def _memory(draw: random.Random, cores: range) -> dict[str, Any]:
    host = {"application_memory": 609_656_832, "constants": 0, "dma_buffers": 1_048_576, "tensors": 0}
    by_core = {name: {one: draw.randrange(10**9) for one in MEMORY} for name in sorted_names(cores)}
    used = {"host": 610_705_408, "neuron_device": draw.randrange(10**10)}
    used_by = {"host": host, "neuroncore_memory_usage": by_core}
    return {
        "period": _period(draw),
        "neuron_runtime_used_bytes": {**used, "usage_breakdown": used_by},
        "loaded_models": [_model(draw, cores[0], number) for number in range(2)],
        "error": "",
    }


def _model(draw: random.Random, core: int, number: int) -> dict[str, Any]:
    device = {"constants": 98_304, "model_code": 53_632, "runtime_memory": 0, "tensors": 0}
    host = {"application_memory": 20_608, "constants": 0, "dma_buffers": 0, "tensors": 0}
    used = {"host": 20_608, "neuron_device": 151_936, "usage_breakdown": {"host": host, "neuron_device": device}}
    graph = {"memory_used_bytes": used, "neuroncore_index": core, "neuron_device_index": core // 2}
    found: dict[str, Any] = {}
    name = f"/var/tmp/neuron-compile-cache/USER_neuroncc-2.3.0.4+864822b6b/MODULE_{draw.randrange(10**19)}/MODULE_{number}"
    found["name"] = f"{name}_SyncTensorsGraph.387_{draw.randrange(10**19)}_ip-172-31-50-218.us-west-2.compute.internal"
    return {
        **found,
        "uuid": f"{draw.getrandbits(128):032x}",
        "model_id": number,
        "is_running": False,
        "subgraphs": {"sg_00": graph},
    }


def documents(host: str, number: int, groups: str, count: int) -> list[tuple[str, str]]:
    """Lines of a host without their time, as what comes before and after it."""
    draw, node = random.Random(f"{number}|{host}"), NODES[number % len(NODES)]
    wrapper = {"collected_at": _MARK, "host": {"resource_id": host, "instance_type": node.type}}
    drawn = (json.dumps({**wrapper, "document": document(draw, node, groups)}, separators=(",", ":")) for _ in range(count))
    return [(before, after) for before, _, after in (line.partition(_MARK) for line in drawn)]


def _run_of(number: int) -> str:
    return f"bench-{number}"


def write_files(
    root: Path,
    *,
    files: int,
    lines: int,
    start: datetime,
    hosts: int = 20,
    groups: str = "all",
    run_of: Callable[[int], str] = _run_of,
) -> int:
    """`files` files of `lines` documents each, spread over hosts; a host's files follow each other. Returns the bytes written."""
    written = 0
    for number in range(hosts):
        host = f"i-0be0{number:013x}"
        drawn = documents(host, number, groups, min(DRAWN, lines))
        for position in range(files // hosts + (number < files % hosts)):
            begun = start + timedelta(seconds=position * lines * PERIOD_S)
            times = [begun + timedelta(seconds=(line + 1) * PERIOD_S) for line in range(lines)]
            text = "".join(
                f"{before}{time:%Y-%m-%dT%H:%M:%SZ}{after}\n"
                for time, (before, after) in zip(times, (drawn[line % len(drawn)] for line in range(lines)), strict=True)
            )
            path = root / f"run={run_of(number)}" / f"host={host}" / f"{begun:%Y-%m-%dT%H-%M-%SZ}.jsonl"
            put(path, text, int(times[-1].astimezone(UTC).timestamp()) + 60)
            written += len(text)
    return written
