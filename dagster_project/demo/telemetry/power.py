"""Meters beside a few runs: the Neuron driver's share of full power, a rack's meter, nvidia-smi. And what all meters read.

Readings are a minute apart and in whole hundredths, so that their sums can be checked by hand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from dagster_project.demo.clock import MICRO, iso
from dagster_project.demo.files import put
from dagster_project.demo.organisation import uuid
from dagster_project.demo.simulation import Hold, Run, World
from dagster_project.demo.telemetry.neuron import dumps
from dagster_project.demo.telemetry.observed import BUSY_PARTS, Observed, chips_of, window_of
from dagster_project.demo.trials import SUMMARY_STEM

MINUTE = 60
DRIVER, RACK, NVML = "distill-trn2-01", "distill-trn2-02", "ranker-gpu-01"
QUERY = "timestamp, index, uuid, name, power.draw [W], utilization.gpu [%], driver_version"


Writer = Callable[[Path, Run, Hold, Observed, "Metered"], None]


@dataclass(slots=True)
class Metered:
    """By run its meter and readings: device (None: the machine), seconds, and joules; of a driver seconds of full power."""

    readings: dict[str, tuple[str, list[list[object]]]] = field(default_factory=lambda: defaultdict(lambda: ("", [])))

    def add(self, run: Run, meter: str, host: str, device: int | None, length: int, total: Fraction | int) -> None:
        _, known = self.readings[run.run_id]
        self.readings[run.run_id] = (meter, [*known, [host, device, length, Fraction(total).as_integer_ratio()]])

    def told(self) -> dict[str, dict[str, object]]:
        return {run: {"meter": meter, "readings": readings} for run, (meter, readings) in sorted(self.readings.items())}


def write_meters(exports: Path, worlds: Iterable[World], observed: Observed, metered: Metered) -> None:
    for world in worlds:
        for run in world.runs:
            if write := _writer_of(run.recorded_id.removesuffix(world.suffix)):
                for hold in run.attempts[-1].holds:
                    write(exports, run, hold, observed, metered)


def _writer_of(name: str) -> Writer | None:
    return _write_rack if name.startswith(f"{SUMMARY_STEM}-trn") else WRITERS.get(name)


def _minutes(hold: Hold) -> tuple[int, list[int]]:
    """A hold's end and its full minutes by their ends, in seconds."""
    start, end = (edge // MICRO for edge in window_of(hold))
    return end, [*range(start + MINUTE, end + 1, MINUTE)]


def _write_driver(exports: Path, run: Run, hold: Hold, observed: Observed, metered: Metered) -> None:
    """The line of stats/power/utilization as a recorder wraps it; the driver rolls it up once a minute."""
    _, minutes = _minutes(hold)
    for device in range(chips_of(run, hold)):
        shares = [6_400 + (number * 37 + device * 11) % 500 for number in range(len(minutes))]  # hundredths of a per cent
        path = f"/sys/devices/virtual/neuron_device/neuron{device}/stats/power/utilization"
        lines = [
            {
                "collected_at": iso(minute + 5),
                "host": {"resource_id": hold.resource_id, "instance_type": hold.instance_type},
                "run": run.recorded_id,
                "path": path,
                "text": f"POWER_STATUS_VALID,{minute},{_shown(share - 900)},{_shown(share + 700)},{_shown(share)}",
            }
            for minute, share in zip(minutes, shares, strict=True)
        ]
        key = f"neuron-power/host={hold.resource_id}/neuron{device}-{_stem(hold)}.jsonl"
        put(exports / key, "".join(f"{dumps(line)}\n" for line in lines), minutes[-1] + 300)
        metered.add(run, "neuron_sysfs", hold.resource_id, device, MINUTE * len(minutes), Fraction(sum(shares) * MINUTE, 10_000))


def _write_rack(exports: Path, run: Run, hold: Hold, observed: Observed, metered: Metered) -> None:
    """What the outlets of one machine draw, a point a minute."""
    _, minutes = _minutes(hold)
    watts = [566 + number * 13 % 24 for number in range(len(minutes))]
    rows = (f"{iso(minute)},{hold.resource_id},pdu,{watt}\n" for minute, watt in zip(minutes, watts, strict=True))
    put(exports / f"rack/{_stem(hold)}.csv", "time,host,meter,watts\n" + "".join(rows), minutes[-1] + 300)
    metered.add(run, "pdu", hold.resource_id, None, MINUTE * len(minutes), sum(watts) * MINUTE)


def _write_nvml(exports: Path, run: Run, hold: Hold, observed: Observed, metered: Metered) -> None:
    """nvidia-smi's CSV: all GPUs every minute, and once more when the run ends."""
    end, minutes = _minutes(hold)
    times = [*minutes, *([end] if minutes[-1] < end else [])]
    gpus = range(chips_of(run, hold))
    lines, totals, before = [QUERY], [0] * len(gpus), minutes[0] - MINUTE
    for number, time in enumerate(times):
        clock = datetime.fromtimestamp(time, UTC).strftime("%Y/%m/%d %H:%M:%S.000")
        shown = [(64_000 + (number * 331 + gpu * 97) % 2_400, 94 + (number + gpu) % 5) for gpu in gpus]  # of W, per cent
        for gpu, (power, use) in enumerate(shown):
            totals[gpu] += power * (time - before)
            name = f"GPU-{uuid('gpu', hold.resource_id, gpu)}"
            lines.append(f"{clock}, {gpu}, {name}, NVIDIA H100 80GB HBM3, {_shown(power)} W, {use} %, 570.86.15")
        observed.see(run, hold, before * MICRO, time * MICRO, [use * (BUSY_PARTS // 100) for _, use in shown])
        before = time
    put(exports / f"gpu/host={hold.resource_id}/{_stem(hold)}.csv", "\n".join(lines) + "\n", end + 300)
    for gpu, total in enumerate(totals):
        metered.add(run, "nvml", hold.resource_id, gpu, end - (minutes[0] - MINUTE), Fraction(total, 100))


def _shown(hundredths: int) -> str:
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def _stem(hold: Hold) -> str:
    return iso(hold.start // MICRO).replace(":", "-")


WRITERS: dict[str, Writer] = {
    DRIVER: _write_driver,
    RACK: _write_rack,
    NVML: _write_nvml,
}
