"""neuron-monitor lines of large training nodes, and what reading them costs beside an untyped parse of the same bytes.

    python -m benchmarks.neuron_lines --megabytes 1000 --turns 3 [--groups few] [--packing .gz] [--folder DIR]

Sections and fields are those of the real capture of a trn1.2xlarge, and the later `effective_flops`, devices and logical cores,
in the sizes of a trn1.32xlarge and a trn2.48xlarge. Three kinds of nodes take turns: one process with all cores, sixteen with
two each, and sixteen with four logical ones. A third of the files is bare. `--groups few` leaves only the counters and the
average of the processors: the most samples that a byte can hold, and the hardest case.
CPU seconds are those of a child process, user and system, less what it needs for a file of one line. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

START = datetime(2026, 4, 1, tzinfo=UTC)
PERIOD = 5
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
    return round(PERIOD + draw.uniform(-0.001, 0.001), 9)


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


def lines(number: int, size: int, groups: str) -> Iterator[bytes]:
    """About `size` bytes of the file of one node. Values are drawn anew for some documents and repeated, times are not."""
    draw, node, is_bare = random.Random(number), NODES[number % len(NODES)], number // len(NODES) % 3 == 2
    drawn = [msgspec.json.encode(document(draw, node, groups)) for _ in range(24)]
    written, count = 0, 0
    while written < size:
        count += 1
        text = drawn[count % len(drawn)]
        if not is_bare:
            end = (START + timedelta(seconds=PERIOD * count, microseconds=draw.randrange(10**6))).isoformat().encode()
            text = b'{"collected_at":"%b","host":{"resource_id":"i-%017x"},"document":%b}' % (end, number, text)
        written += len(text) + 1
        yield text + b"\n"


def write(folder: Path, size: int, count: int, groups: str, packing: str) -> tuple[list[Path], int]:
    """So many files of about equal size and the bytes of their text, about `size`."""
    paths, text = [], 0
    for number in range(count):
        path = folder / f"run=bench/host=i-{number:017x}" / f"2026-04-01T00-00-00Z.jsonl{packing}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wb", 6) if packing == ".gz" else path.open("wb") as file:
            for line in lines(number, size // count, groups):
                text += file.write(line)
        paths.append(path)
    return paths, text


# --- what is measured: each in a process of its own


def parse(paths: list[Path]) -> None:
    """The floor: every line as untyped Python objects, of the same bytes after decompression."""
    decoder = msgspec.json.Decoder()
    for path in paths:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line in file:
                decoder.decode(line)


def convert(paths: list[Path]) -> None:
    """Ours: from the file to the Parquet that the landing keeps, with every check and refusal."""
    from connectors.deliveries import Delivery
    from connectors.stores import ObjectInfo
    from connectors.telemetry import neuron_monitor

    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            key = "/".join(path.parts[-3:])
            info = ObjectInfo(key, path.stat().st_size, "", START)
            made = neuron_monitor.convert(
                Delivery("neuron_monitor", key, key, START, (info,)), {key: path}, Path(folder), "file:"
            )
            if made.refusals or not made.rows:
                raise SystemExit(f"{key}: {made.rows} rows, {made.refusals}")


def land(paths: list[Path]) -> None:
    """The whole landing of these deliveries: fetched and hashed, converted, summed up, committed."""
    from dagster_project.landing.opening import open_landing
    from dagster_project.landing.planning import land_all, make_plan
    from dagster_project.settings import settings_of

    with tempfile.TemporaryDirectory(dir=paths[0].parents[3]) as home:
        source = {"name": "neuron", "kind": "neuron_monitor", "location": str(paths[0].parents[2].resolve())}
        given = {"organisation": {"name": "Bench"}, "home": home, "sources": [source]}
        settings = settings_of(given, Path(home) / "trainledger.yaml")
        landing = open_landing(settings)
        landed = land_all(landing, make_plan(settings.sources, settings.base, landing))
        if {one.outcome for one in landed} != {"landed"}:
            raise SystemExit(f"{landed}")


WAYS = {"parse": parse, "convert": convert, "land": land}


def cpu_seconds(way: str, paths: list[Path]) -> tuple[float, int]:
    """User and system seconds of a child that does it, and the most memory that it held in MiB."""
    command = [sys.executable, "-m", "benchmarks.neuron_lines", "--only", way, *map(str, paths)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(told)


def measure(folder: Path, size: int, turns: int, groups: str, packing: str) -> list[dict[str, Any]]:
    """Each way in turns: median seconds without those of one line, its share of the floor and its peak."""
    count = max(9, -(-size // 120_000_000))
    paths, text = write(folder / "lines", size, count, groups, packing)
    tiny, _ = write(folder / "tiny", 1, 1, groups, packing)
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    peaks: dict[str, int] = {}
    for _ in range(turns):
        for way in WAYS:
            spent, peak = cpu_seconds(way, paths)
            seconds[way].append(spent - cpu_seconds(way, tiny)[0])
            peaks[way] = max(peak, peaks.get(way, 0))
    floor = statistics.median(seconds["parse"])
    measures = []
    for way, found in seconds.items():
        own = statistics.median(found)
        told = {"name": f"neuron-monitor, {way}, {groups} groups{packing}", "bytes": text, "cpu_seconds": round(own, 3)}
        measures.append({**told, "ratio": round(floor / own, 3), "peak_mb": peaks[way]})
    return measures


def main() -> None:
    """Write the lines, measure each way and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--groups", choices=["all", "few"], default="all")
    parser.add_argument("--packing", choices=["", ".gz"], default="")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=list(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("paths", nargs="*", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        WAYS[given.only](given.paths)
        status = Path("/proc/self/status").read_text()  # not ru_maxrss: a child begins with what its parent held
        print(int(status.partition("VmHWM:")[2].split()[0]) >> 10)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = measure(Path(folder), given.megabytes * 1_000_000, given.turns, given.groups, given.packing)
    print(json.dumps({"processors": os.cpu_count(), "msgspec": msgspec.__version__, "measures": found}, indent=2))


if __name__ == "__main__":
    main()
