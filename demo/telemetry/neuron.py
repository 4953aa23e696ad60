"""neuron-monitor documents of every Trainium run, as a collector on each host ships them: JSON lines, mostly packed.

What goes wrong on purpose is in FLAWS; everything else is seen from the first to the last microsecond.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from demo.clock import HOUR, MICRO, iso, iso_micro, seconds
from demo.files import put
from demo.organisation import BERT, VIT, digest, generator
from demo.simulation import Hold, Run, World
from demo.telemetry.observed import BUSY_PARTS, Observed, window_of

PERIOD = HOUR  # coarser than anyone would choose, to keep the demo small
SHORT_PERIOD = HOUR // 2
SKEW = 100 * MICRO
SHIPPED = 240  # seconds from the last document to the file
RUNTIME_CORES = 16
SPREAD = tuple(generator("spread", core).randrange(-620, 621) for core in range(23))  # cores are never quite alike
IDLE = (seconds("2026-06-28T20:05:00") * MICRO, seconds("2026-06-29T03:20:00") * MICRO)


@dataclass(frozen=True, slots=True)
class Chip:
    devices: int
    cores: int  # of a device, logical ones where two physical make one
    kind: str
    core_version: str
    memory: int
    logical: int = 1


CHIPS = {"trn1.32xlarge": Chip(16, 2, "trainium", "v2", 32 << 30), "trn2.48xlarge": Chip(16, 4, "trainium2", "v3", 96 << 30, 2)}


@dataclass(frozen=True, slots=True)
class Flaws:
    """What is wrong with the files of one host of a run; documents are counted from 0 in each attempt."""

    skew: int = 0
    missing: range = field(default_factory=lambda: range(0))
    failing: range = field(default_factory=lambda: range(0))  # the counters report an error
    idle: range = field(default_factory=lambda: range(0))  # cores are listed and do nothing
    absent: range = field(default_factory=lambda: range(0))  # no process at all
    is_bare: bool = False
    is_repeated: bool = False


FLAWS = {
    ("llm8b-cpt-01", 0): Flaws(is_repeated=True),
    ("llm8b-cpt-02", 3): Flaws(missing=range(20, 25)),
    ("llm8b-cpt-04", 2): Flaws(failing=range(11, 12)),
    **{("llm8b-cpt-05", host): Flaws(idle=range(30, 34)) for host in range(6)},
    ("bert-mlm-01", 0): Flaws(is_bare=True),
    ("bert-mlm-03", 1): Flaws(skew=SKEW),
    **{("embedding-refresh-2026-06", host): Flaws(absent=range(300, 306)) for host in range(2)},
}
SOUND = Flaws()


@dataclass(slots=True)
class Host:
    """One collector: a run on one machine in one attempt."""

    run: Run
    hold: Hold
    chip: Chip
    number: int
    name: str  # of the file, after its start
    flaws: Flaws
    random: Random
    devices: int

    @property
    def has_two_runtimes(self) -> bool:
        return self.run.workload.workload_key == VIT.workload_key and self.run.record == "run_json"

    @property
    def period(self) -> int:
        return (SHORT_PERIOD if self.run.workload is BERT else PERIOD) * MICRO


def write_telemetry(root: Path, worlds: list[World], observed: Observed) -> None:
    for world in worlds:
        for run in world.runs:
            for attempt in run.attempts:
                for number, hold in enumerate(attempt.holds):
                    for host in _hosts(world, run, hold, number):
                        _write_host(root, host, observed)
        _write_idle_host(root, world)


def _hosts(world: World, run: Run, hold: Hold, number: int) -> Iterator[Host]:
    """A SageMaker job is one hold with a collector in each of its containers."""
    chip = CHIPS[hold.instance_type]
    devices = hold.chips or chip.devices  # a container sees the devices it was given, counted from 0
    flaws = FLAWS.get((run.recorded_id.removesuffix(world.suffix), number), SOUND)
    names = [f"-algo-{n + 1}" for n in range(run.node_count)] if run.record == "sagemaker" else [""]
    for name in names:
        yield Host(run, hold, chip, number, name, flaws, _random(run, hold, name), devices)


def _random(run: Run, hold: Hold, name: str) -> Random:
    return generator("neuron", run.recorded_id, hold.resource_id, hold.start, name)


def _write_host(root: Path, host: Host, observed: Observed) -> None:
    window = window_of(host.hold)
    start, lines = window[0], []
    edges = [*range(start, window[1], host.period), window[1]]
    for number, (begun, done) in enumerate(pairwise(edges)):
        if number in host.flaws.missing:
            continue
        document, busy = _document(host, number, begun, done, edges[-1])
        if busy is not None:
            skew = host.flaws.skew
            observed.see(host.run, host.hold, begun + skew, done + skew, host.devices, busy)
        lines.append(_line(host, document, done))
    run_key = host.run.run_id if host.number % 3 == 1 else host.run.recorded_id
    folder = root / f"run={quote(run_key, safe='')}" / f"host={quote(host.hold.resource_id, safe='')}"
    stem = iso(start // MICRO).replace(":", "-") + host.name
    modified = -(-window[1] // MICRO) + SHIPPED
    packing = ".jsonl" if host.flaws.is_bare else (".jsonl.zst" if len(lines) > 150 else ".jsonl.gz")
    put(folder / f"{stem}{packing}", packed(lines, packing), modified)
    if host.flaws.is_repeated:  # shipped again after a restart of the collector, cut at another place
        middle = len(lines) // 2
        put(folder / f"{stem}-again.jsonl.zst", packed(lines[middle:], ".jsonl.zst"), modified + HOUR)


def packed(lines: list[str], packing: str) -> bytes:
    content = "".join(f"{line}\n" for line in lines).encode()
    if packing.endswith(".gz"):
        sink = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=sink, compresslevel=6, mtime=0) as file:
            file.write(content)
        return sink.getvalue()
    if packing.endswith(".zst"):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as file:
            file.write(content)
        return sink.getvalue().to_pybytes()
    return content


def _line(host: Host, document: dict[str, Any], done: int) -> str:
    if host.flaws.is_bare:
        return dumps(document)
    machine = {"resource_id": host.hold.resource_id, "instance_type": host.hold.instance_type}
    if host.name:
        machine["name"] = host.name[1:]
    return dumps({"collected_at": iso_micro(done + host.flaws.skew), "host": machine, "document": document})


def dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _document(host: Host, number: int, begun: int, done: int, last: int) -> tuple[dict[str, Any], int | None]:
    """A document and how busy the devices were together, in parts; None when that is unknown."""
    period = (done - begun) / MICRO
    if number in host.flaws.absent:
        return _frame(host, period, []), 0
    base = host.random.randrange(7_100, 9_000)
    if number == 0 or done == last:
        base = base * 11 // 16  # starting and stopping
    cores = host.devices * host.chip.cores
    hundredths = [0] * cores
    if number not in host.flaws.idle:
        hundredths = [base + SPREAD[(core * 5 + number) % len(SPREAD)] for core in range(cores)]
    is_failing = number in host.flaws.failing
    busy = sum(hundredths) * (BUSY_PARTS // 10_000 // host.chip.cores)
    return _frame(host, period, _runtimes(host, period, hundredths, is_failing)), None if is_failing else busy


def _runtimes(host: Host, period: float, hundredths: list[int], is_failing: bool) -> list[dict[str, Any]]:
    if not host.has_two_runtimes:
        return [_runtime(host, period, hundredths, 0, is_failing)]
    first = [each if core < RUNTIME_CORES else 0 for core, each in enumerate(hundredths)]
    second = [each if core >= RUNTIME_CORES else 0 for core, each in enumerate(hundredths)]
    return [_runtime(host, period, first, 0, False), _runtime(host, period, second, 1, False)]


def _runtime(host: Host, period: float, hundredths: list[int], rank: int, is_failing: bool) -> dict[str, Any]:
    pid = 4_000 + int(digest("pid", host.run.recorded_id, host.hold.resource_id, host.hold.start, host.name)[:4], 16) + rank
    counters: dict[str, Any] = {"period": period, "neuroncores_in_use": _cores(host, hundredths), "error": ""}
    if is_failing:
        counters |= {"neuroncores_in_use": {}, "error": "nrt: counters of the device could not be read (synthetic)"}
    summary = dict.fromkeys(
        ("completed_with_err", "completed_with_num_err", "timed_out", "incorrect_input", "failed_to_queue"), 0
    )
    return {
        "pid": pid,
        "neuron_runtime_tag": str(pid),
        "error": "",
        "report": {
            "neuroncore_counters": counters,
            "execution_stats": {
                "period": period,
                "error_summary": dict.fromkeys(("generic", "numerical", "transient", "model", "runtime", "hardware"), 0),
                "execution_summary": {"completed": int(period * 31) if any(hundredths) else 0, **summary},
                "latency_stats": {"total_latency": None, "device_latency": None},
                "error": "",
            },
        },
    }


def _cores(host: Host, hundredths: list[int]) -> dict[str, dict[str, Any]]:
    if host.chip.logical == 2:
        return {
            str(core): {
                "neuroncore_utilization": each / 100,
                "v3d": {
                    f"nc_v3.{2 * core}": {"neuroncore_utilization": (each - each // 50) / 100},
                    f"nc_v3.{2 * core + 1}": {"neuroncore_utilization": (each + each // 50) / 100},
                },
            }
            for core, each in enumerate(hundredths)
        }
    if host.has_two_runtimes:
        return {
            str(core): {"neuroncore_utilization": each / 100, "effective_flops": each * 9_400_000_000}
            for core, each in enumerate(hundredths)
        }
    return {str(core): {"neuroncore_utilization": each / 100} for core, each in enumerate(hundredths)}


def _frame(host: Host, period: float, runtimes: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"user": 21.4, "nice": 0, "system": 3.1, "idle": 75.5, "io_wait": 0, "irq": 0, "soft_irq": 0}
    is_managed = host.run.record == "sagemaker"
    return {
        "neuron_runtime_data": runtimes,
        "system_data": {
            "memory_info": {
                "period": period,
                "memory_total_bytes": 540_000_000_000,
                "memory_used_bytes": 96_500_000_000,
                "swap_total_bytes": 0,
                "swap_used_bytes": 0,
                "error": "",
            },
            "vcpu_usage": {"period": period, "average_usage": usage, "context_switch_count": 84_801, "error": ""},
        },
        "instance_info": {
            "instance_name": "",
            "instance_id": "" if is_managed else host.hold.resource_id,
            "instance_type": host.hold.instance_type,
            "error": "",
        },
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


def _write_idle_host(root: Path, world: World) -> None:
    """A machine of the Capacity Block between its runs: a collector of the host, which knows no run and sees no process."""
    start, end = IDLE
    machine = next(each for each in world.instances if each.name == "block-5-again")
    hold = Hold(machine.instance_id, machine.instance_type, start, end)
    run = Run("", VIT, [], record="host")
    host = Host(run, hold, CHIPS[machine.instance_type], 0, "", SOUND, generator("idle", world.replica), 16)
    edges = [*range(start, end, PERIOD * MICRO), end]
    lines = [_line(host, _frame(host, (done - begun) / MICRO, []), done) for begun, done in pairwise(edges)]
    stem = iso(start // MICRO).replace(":", "-")
    put(root / f"host={machine.instance_id}" / f"{stem}.jsonl", packed(lines, ".jsonl"), end // MICRO + SHIPPED)
