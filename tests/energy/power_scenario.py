"""Runs with readings of power, each on a machine of its own: one Trainium1 chip for an hour, or a node of sixteen.

Rows are reported in several ways where the figures must be the same.
"""

from __future__ import annotations

import itertools
import random
from datetime import timedelta

from tests.energy import drawn_power
from tests.energy.raw_tables import Line, insert
from tests.energy.scenario import CHIP, END, MINUTE, NEURON, NODE, START, hour

HALF = START + 30 * MINUTE
LATE = timedelta(seconds=100)


def minutes(host: str, device: int | None, watts: float | None, first: int = 0, last: int = 60, **more: object) -> list[tuple]:
    """A reading for each minute from `first` on."""
    return [(host, device, START + at * MINUTE, START + (at + 1) * MINUTE, watts, more) for at in range(first, last)]


def points(host: str, device: int | None, watts: float | None, **more: object) -> list[tuple]:
    """A gauge's points at the full minutes of the hour."""
    return [(host, device, None, START + at * MINUTE, watts, more) for at in range(1, 61)]


def write(line: Line) -> int:
    """All of it; how many hours machines are billed for."""
    bases(line)
    rails_and_scales(line)
    told_otherwise(line)
    nodes(line)
    racks(line)
    strays(line)
    drawn_power.write(line)
    return 1


def bases(line: Line) -> None:
    for name in ("watts", "driver", "ladder", "windows", "watts-of-unknown"):
        kind = "trn9.48xlarge" if name == "watts-of-unknown" else CHIP
        line.run(name, "AWS", (f"i-{name}", kind, 1, START, END))
    line.samples(NEURON, hour("i-watts"))
    line.power("gpu_monitoring", minutes("i-watts", 0, 100), "nvml")
    # of a server of metrics watts and duty cycles go two ways; no run holds these machines
    line.power("prometheus", minutes("i-watts-of-steps", 0, 100), "dcgm")
    line.power("prometheus", minutes("i-use-of-steps", 0, None, evidence="measured", utilisation_ratio=0.5), "cloud_tpu")
    line.power("gpu_monitoring", minutes("i-watts-of-unknown", 0, 100), "nvml")
    line.samples(NEURON, hour("i-driver"))
    line.power("neuron_power", minutes("i-driver", 0, None, power_ratio=0.2), "neuron_sysfs")
    # a quarter each: watts and a share beside use, a share beside use, use alone, nothing
    line.samples(NEURON, hour("i-ladder")[:45])
    line.power("neuron_power", minutes("i-ladder", 0, None, 0, 30, power_ratio=0.2), "neuron_sysfs")
    line.power("xprof", minutes("i-ladder", 0, 100, 0, 15, is_sampled=True), "xprof_firmware")
    # two profiles of a second in an hour whose collector had the gap of 0.4 s before the first
    line.samples(NEURON, hour("i-windows"))
    for begins in (10 * MINUTE, 40 * MINUTE):
        window = START + begins, START + begins + timedelta(seconds=1)
        line.power("xprof", [("i-windows", 0, *window, 100)], "xprof_firmware", is_sampled=True)


def rails_and_scales(line: Line) -> None:
    for name in ("rails", "half-rails", "zero", "silent", "nonsense", "idle-share"):
        line.run(name, "AWS", (f"i-{name}", CHIP, 1, START, END))
    for rail, watts in (("Core", 60), ("HBM", 40)):
        line.power("xprof", minutes("i-rails", 0, watts, component=rail), "xprof_spi")
        line.power("xprof", minutes("i-half-rails", 0, watts if rail == "Core" else None, component=rail), "xprof_spi")
    line.power("xprof", minutes("i-rails", 0, 90), "xprof_firmware")  # the whole, which saw less
    line.power("gpu_monitoring", minutes("i-zero", 0, 0), "nvml")
    line.power("gpu_monitoring", minutes("i-silent", 0, None), "nvml")
    line.power("gpu_monitoring", minutes("i-nonsense", 0, -1), "nvml")
    line.power("neuron_power", minutes("i-idle-share", 0, None, power_ratio=0.0), "neuron_sysfs")


def told_otherwise(line: Line) -> None:
    """The hour at 100 W in other words."""
    draw = random.Random(3)
    for name in ("shuffled-watts", "watts-twice", "rechunked-watts", "points-of-watts", "half-late", "watts-by-key"):
        line.run(name, "AWS", (f"i-{name}", CHIP, 1, START, END))
    for name in ("shuffled-watts", "watts-twice", "rechunked-watts", "points-of-watts", "half-late", "watts-by-key"):
        line.samples(NEURON, hour(f"i-{name}"))
    shuffled = minutes("i-shuffled-watts", 0, 100)
    draw.shuffle(shuffled)
    line.power("gpu_monitoring", shuffled, "nvml")
    for _ in range(2):
        line.power("gpu_monitoring", minutes("i-watts-twice", 0, 100), "nvml")
    line.power("gpu_monitoring", minutes("i-watts-twice", 0, 99), "dcgm")
    cuts = [START, *sorted(START + timedelta(seconds=draw.randrange(1, 3600)) for _ in range(20)), END]
    pieces = [("i-rechunked-watts", 0, first, last, 100) for first, last in itertools.pairwise(cuts)]
    line.power("gpu_monitoring", pieces, "nvml")
    line.power("gpu_monitoring", points("i-points-of-watts", 0, 100), "nvml")
    late = [
        (host, chip, first + LATE, last + LATE, watts) for host, chip, first, last, watts, _ in minutes("i-half-late", 0, 100)
    ]
    line.power("gpu_monitoring", late, "nvml")
    line.power("gpu_monitoring", minutes("i-watts-by-key", 0, 100, run_key="watts-by-key"), "nvml")


def nodes(line: Line) -> None:
    """Nodes of sixteen chips whose power is read at the wall."""
    line.run("wall", "AWS", ("i-wall", NODE, None, START, END))
    line.power("power_meters", points("i-wall", None, 3200), "pdu")
    for name, chips in (("wall-a", 4), ("wall-b", 8)):
        line.run(name, "AWS", ("i-shared-wall", NODE, chips, START, END))
    line.power("power_meters", minutes("i-shared-wall", None, 3200), "pdu")
    # a meter of half an hour, beside it one that sees less, and an estimate that counts for nothing there
    line.run("half-wall", "AWS", ("i-half-wall", NODE, None, START, END))
    line.samples(NEURON, [row for chip in range(16) for row in hour("i-half-wall", device=chip)])
    line.power("power_meters", minutes("i-half-wall", None, 3200, 0, 30), "pdu")
    line.power("power_meters", minutes("i-half-wall", None, 3000, 10, 20), "bmc")
    line.power("power_meters", [("i-half-wall", None, START, START + 20 * MINUTE, 9999)], "codecarbon")
    # what the chips would draw by their use is more than the node drew
    line.run("low-wall", "AWS", ("i-low-wall", NODE, None, START, END))
    line.power("power_meters", minutes("i-low-wall", None, 1000), "bmc")
    # two supplies of a node, and a log that names its run alone
    line.run("supplies", "AWS", ("i-supplies", NODE, None, START, END))
    for supply in ("PSU1", "PSU2"):
        line.power("power_meters", minutes("i-supplies", None, 1600, component=supply), "bmc")
    line.run("wall-by-key", "AWS", ("i-wall-by-key", NODE, None, START, END))
    line.power("power_meters", minutes(None, None, 3200, run_key="wall-by-key"), "mlperf")  # type: ignore[arg-type]
    # billed for an hour and held for the first half of it
    line.run("half-held", "AWS", ("i-half-held", NODE, None, START, HALF))
    line.bill_hour("i-half-held", NODE, START, account="half-held")
    line.power("power_meters", minutes("i-half-held", None, 3200), "pdu")
    # four chips of a node, of which the others drew 50 W each
    line.run("four", "AWS", ("i-four", NODE, 4, START, END))
    for chip in range(16):
        line.power("gpu_monitoring", [("i-four", chip, START, END, 100 if chip < 4 else 50)], "nvml")


def racks(line: Line) -> None:
    """A rack of three nodes: one that a run holds, one that is read itself, and one that no run ever holds."""
    for machine in ("a", "b", "c"):
        insert(line.connection, "shared_meters", meter="rack-7", machine=f"i-rack-{machine}")
    for machine in ("a", "b"):
        line.run(f"rack-{machine}", "AWS", (f"i-rack-{machine}", NODE, None, START, END))
    line.power("power_meters", points("rack-7", None, 10000), "pdu")
    line.power("power_meters", points("i-rack-b", None, 3000), "bmc")


def strays(line: Line) -> None:
    """Readings that meet no run."""
    line.power("power_meters", minutes("i-nobodys-wall", None, 100), "pdu")
    line.power("xprof", minutes("i-nobodys-chip", 0, 100), "xprof_spi")
