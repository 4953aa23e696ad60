"""neuron-monitor documents of every Trainium run, as a collector on each host ships them: JSON lines, mostly packed.

What goes wrong on purpose is in FLAWS; everything else is seen from the first to the last microsecond.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pyarrow as pa

from dagster_project.demo.clock import HOUR, MICRO, iso, iso_micro, seconds
from dagster_project.demo.files import put
from dagster_project.demo.organisation import BERT, VIT, digest, generator
from dagster_project.demo.simulation import Hold, Run, World
from dagster_project.demo.telemetry.observed import BUSY_PARTS, Observed, window_of

PERIOD = HOUR  # coarser than anyone would choose, to keep the demo small
SHORT_PERIOD = HOUR // 2
SHIPPED = 240  # seconds from the last document to the file
RUNTIME_CORES = 16
SPREAD = tuple(generator("spread", core).randrange(-620, 621) for core in range(23))  # cores are never quite alike
IDLE = (seconds("2026-06-28T20:05:00") * MICRO, seconds("2026-06-29T03:20:00") * MICRO)
VCPU = {"user": 21.4, "nice": 0, "system": 3.1, "idle": 75.5, "io_wait": 0, "irq": 0, "soft_irq": 0}
MEMORY = {"memory_total_bytes": 540_000_000_000, "memory_used_bytes": 96_500_000_000, "swap_total_bytes": 0, "swap_used_bytes": 0}
NOT_COMPLETED = ("completed_with_err", "completed_with_num_err", "timed_out", "incorrect_input", "failed_to_queue")
ERRORS = ("generic", "numerical", "transient", "model", "runtime", "hardware")


class Chip(NamedTuple):
    devices: int
    cores: int  # of a device, logical ones where two physical make one
    kind: str
    core_version: str
    memory: int
    logical: int = 1


CHIPS = {
    "trn1.2xlarge": Chip(1, 2, "trainium", "v2", 32 << 30),
    "trn1.32xlarge": Chip(16, 2, "trainium", "v2", 32 << 30),
    "trn2.48xlarge": Chip(16, 4, "trainium2", "v3", 96 << 30, 2),
    "trn2.3xlarge": Chip(1, 4, "trainium2", "v3", 96 << 30, 2),
}
STEADY_BASE = 8_700  # hundredths of a per cent


class Flaws(NamedTuple):
    """What is wrong with the files of one host of a run; documents are counted from 0 in each attempt."""

    skew: int = 0
    missing: range = range(0)
    failing: range = range(0)  # the counters report an error
    idle: range = range(0)  # cores are listed and do nothing
    absent: range = range(0)  # no process at all
    is_bare: bool = False
    is_repeated: bool = False


FLAWS = {
    ("llm8b-cpt-01", 0): Flaws(is_repeated=True),
    ("llm8b-cpt-02", 3): Flaws(missing=range(20, 25)),
    ("llm8b-cpt-04", 2): Flaws(failing=range(11, 12)),
    **{("llm8b-cpt-05", host): Flaws(idle=range(30, 34)) for host in range(6)},
    ("bert-mlm-01", 0): Flaws(is_bare=True),
    ("bert-mlm-03", 1): Flaws(skew=100 * MICRO),
    **{("embedding-refresh-2026-06", host): Flaws(absent=range(300, 306)) for host in range(2)},
}


class Host(NamedTuple):
    """One collector: a run on one machine in one attempt, or a machine between its runs, which has no id of a run."""

    run: Run
    hold: Hold
    number: int
    name: str  # of the file, after its start
    flaws: Flaws

    @property
    def chip(self) -> Chip:
        return CHIPS[self.hold.instance_type]

    @property
    def devices(self) -> int:
        return self.hold.chips or self.chip.devices  # a container sees the devices it was given, counted from 0

    @property
    def has_two_runtimes(self) -> bool:
        return self.run.workload is VIT and self.run.record == "run_json"

    @property
    def seed(self) -> tuple[object, ...]:
        return self.run.recorded_id, self.hold.resource_id, self.hold.start, self.name


def write_telemetry(root: Path, worlds: list[World], observed: Observed) -> None:
    for world in worlds:
        for host in _hosts(world):
            _write_host(root, host, observed)


def _hosts(world: World) -> Iterator[Host]:
    for run in world.runs:
        # a SageMaker job is one hold with a collector in each of its containers
        names = [f"-algo-{n + 1}" for n in range(run.node_count)] if run.record == "sagemaker" else [""]
        for attempt in run.attempts:
            for number, hold in enumerate(attempt.holds):
                if hold.instance_type not in CHIPS:  # GPUs
                    continue
                flaws = FLAWS.get((run.recorded_id.removesuffix(world.suffix), number), Flaws())
                yield from (Host(run, hold, number, name, flaws) for name in names)
    # a machine of the Capacity Block between its runs sees no process
    machine = next(each for each in world.instances if each.name == "block-5-again")
    hold = Hold(machine.instance_id, machine.instance_type, *IDLE)
    yield Host(Run("", VIT, [], record="host"), hold, 0, "", Flaws(absent=range(1_000)))


def _write_host(root: Path, host: Host, observed: Observed) -> None:
    run, hold, flaws = host.run, host.hold, host.flaws
    start, end = window_of(hold)
    period = (SHORT_PERIOD if run.workload is BERT else PERIOD) * MICRO
    random, lines = generator("neuron", *host.seed), []
    edges = [*range(start, end, period), end]
    for number, (begun, done) in enumerate(pairwise(edges)):
        if number in flaws.missing:
            continue
        base = 0 if number in flaws.absent else random.randrange(7_100, 9_000)
        base = STEADY_BASE if run.workload.is_steady else base
        if number == 0 or done == end:
            base = base * 11 // 16  # starting and stopping
        document, busy = _document(host, number, (done - begun) / MICRO, base)
        if busy is not None and run.recorded_id:
            observed.see(run, hold, begun + flaws.skew, done + flaws.skew, busy)
        lines.append(dumps(document if flaws.is_bare else _shipped(host, document, done)))
    run_key = run.run_id if host.number % 3 == 1 else run.recorded_id
    folder = root / (f"run={quote(run_key, safe='')}" if run_key else "") / f"host={quote(hold.resource_id, safe='')}"
    stem = iso(start // MICRO).replace(":", "-") + host.name
    modified = -(-end // MICRO) + SHIPPED
    packing = ".jsonl" if flaws.is_bare or not run_key else (".jsonl.zst" if len(lines) > 150 else ".jsonl.gz")
    put(folder / f"{stem}{packing}", packed(lines, packing), modified)
    if flaws.is_repeated:  # shipped again after a restart of the collector, cut at another place
        put(folder / f"{stem}-again.jsonl.zst", packed(lines[len(lines) // 2 :], ".jsonl.zst"), modified + HOUR)


def packed(lines: list[str], packing: str) -> bytes:
    content = "".join(f"{line}\n" for line in lines).encode()
    if packing == ".jsonl":
        return content
    sink = pa.BufferOutputStream()
    with (
        pa.CompressedOutputStream(sink, "zstd")
        if packing == ".jsonl.zst"
        else gzip.GzipFile(filename="", mode="wb", fileobj=sink, compresslevel=6, mtime=0)
    ) as file:
        file.write(content)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _shipped(host: Host, document: dict[str, Any], done: int) -> dict[str, Any]:
    """A document in the collector's envelope."""
    machine = {"resource_id": host.hold.resource_id, "instance_type": host.hold.instance_type}
    if host.name:
        machine["name"] = host.name[1:]
    return {"collected_at": iso_micro(done + host.flaws.skew), "host": machine, "document": document}


def _document(host: Host, number: int, period: float, base: int) -> tuple[dict[str, Any], list[int] | None]:
    """A document and how busy each device was, in parts; None when that is unknown."""
    if number in host.flaws.absent:
        return _frame(host, period, []), [0] * host.devices
    cores, is_idle = range(host.devices * host.chip.cores), number in host.flaws.idle
    hundredths = [0 if is_idle else base + SPREAD[(core * 5 + number) % len(SPREAD)] for core in cores]
    owned = (cores[:RUNTIME_CORES], cores[RUNTIME_CORES:]) if host.has_two_runtimes else (cores,)
    is_failing = number in host.flaws.failing
    runtimes = []
    for rank, own in enumerate(owned):
        shown = [each if core in own else 0 for core, each in enumerate(hundredths)]
        runtimes.append(_runtime(host, period, shown, rank, is_failing))
    devices = (hundredths[at : at + host.chip.cores] for at in range(0, len(hundredths), host.chip.cores))
    busy = [sum(device) * (BUSY_PARTS // 10_000 // host.chip.cores) for device in devices]
    return _frame(host, period, runtimes), None if is_failing else busy


def _runtime(host: Host, period: float, hundredths: list[int], rank: int, is_failing: bool) -> dict[str, Any]:
    pid = 4_000 + int(digest("pid", *host.seed)[:4], 16) + rank
    counters: dict[str, Any] = {"period": period, "neuroncores_in_use": {}, "error": ""}
    if is_failing:
        counters["error"] = "nrt: counters of the device could not be read (synthetic)"
    else:
        counters["neuroncores_in_use"] = {str(core): _core(host, core, each) for core, each in enumerate(hundredths)}
    executed = {"completed": int(period * 31) if any(hundredths) else 0, **dict.fromkeys(NOT_COMPLETED, 0)}
    stats = {
        "period": period,
        "error_summary": dict.fromkeys(ERRORS, 0),
        "execution_summary": executed,
        "latency_stats": {"total_latency": None, "device_latency": None},
        "error": "",
    }
    report = {"neuroncore_counters": counters, "execution_stats": stats}
    return {"pid": pid, "neuron_runtime_tag": str(pid), "error": "", "report": report}


def _core(host: Host, core: int, hundredths: int) -> dict[str, Any]:
    shown: dict[str, Any] = {"neuroncore_utilization": hundredths / 100}
    if host.chip.logical == 2:
        halves = enumerate((hundredths - hundredths // 50, hundredths + hundredths // 50), start=2 * core)
        shown["v3d"] = {f"nc_v3.{physical}": {"neuroncore_utilization": half / 100} for physical, half in halves}
    elif host.has_two_runtimes:
        shown["effective_flops"] = hundredths * 9_400_000_000
    return shown


def _frame(host: Host, period: float, runtimes: list[dict[str, Any]]) -> dict[str, Any]:
    hold = host.hold
    instance_id = "" if host.run.record == "sagemaker" else hold.resource_id
    return {
        "neuron_runtime_data": runtimes,
        "system_data": {
            "memory_info": {"period": period, **MEMORY, "error": ""},
            "vcpu_usage": {"period": period, "average_usage": VCPU, "context_switch_count": 84_801, "error": ""},
        },
        "instance_info": {"instance_name": "", "instance_id": instance_id, "instance_type": hold.instance_type, "error": ""},
        "neuron_hardware_info": {
            "neuron_device_type": host.chip.kind,
            "neuron_device_version": host.chip.core_version,
            "neuroncore_version": host.chip.core_version,
            "neuron_device_count": host.devices,
            "neuron_device_memory_size": host.chip.memory,
            "neuroncore_per_device_count": host.chip.cores,
            "logical_neuroncore_config": host.chip.logical,
            "error": "",
        },
    }
