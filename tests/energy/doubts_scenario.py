"""Runs whose meters cannot be right: another unit, a counter that is stuck, a meter of a part, a clock that is off.

A Trainium1 chip draws 0.4 to 366 W by its band, a node of sixteen 320 to 11,166 W, an H100 1.9 to 1,155 W.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.energy.power_scenario import minutes
from tests.energy.raw_tables import Line, insert
from tests.energy.scenario import CHIP, END, MINUTE, NEURON, NODE, START, TPU, hour, points

GPU, DRIVER = "p5.4xlarge", "driver-of-four-hosts"
AHEAD = timedelta(seconds=120)


def write(line: Line) -> int:
    """All of it; how many hours machines are billed for."""
    other_units(line)
    four_hosts(line)
    counters(line)
    parts_of_nodes(line)
    rails(line)
    limits(line)
    line.run("clock", "AWS", ("i-clock", CHIP, 1, START, END))
    line.samples(NEURON, [(host, chip, first + AHEAD, last + AHEAD, use) for host, chip, first, last, use in hour("i-clock")])
    # one of four machines of a slice that the record knows by one name
    line.run("one-of-four", "Google Cloud", ("slice-of-four", "v5p", 16, START, END))
    line.samples(TPU, points("slice-of-four", [(chip, 0.5) for chip in range(3)]))
    return 1


def other_units(line: Line) -> None:
    for name, watts, use in (("milliwatts", 100_000, 0.5), ("zero-watts", 0, 0.98)):
        line.run(name, "AWS", (f"i-{name}", CHIP, 1, START, END))
        line.power("gpu_monitoring", minutes(f"i-{name}", 0, watts), "nvml", utilisation_ratio=use, evidence="measured")
    for name, watts in (("kilowatts", 3.2), ("megawatts", 6.2e6)):
        line.run(name, "AWS", (f"i-{name}", NODE, None, START, END))
        line.power("power_meters", minutes(f"i-{name}", None, watts), "pdu")
    # a rack of two machines, one of which a run holds
    for machine in ("held", "free"):
        insert(line.connection, "shared_meters", meter="rack-kilowatts", machine=f"i-rack-{machine}")
    line.run("behind-a-rack", "AWS", ("i-rack-held", NODE, None, START, END))
    line.power("power_meters", minutes("rack-kilowatts", None, 5.2), "pdu")
    # held for the first half of the hour; in the second half no run held it and it drew nothing
    half = START + 30 * MINUTE
    line.run("switched-off", "AWS", ("i-switched-off", NODE, None, START, half))
    line.bill_hour("i-switched-off", NODE, START, account="switched-off")
    line.power("power_meters", minutes("i-switched-off", None, 3200, 0, 30), "pdu")
    line.power("power_meters", minutes("i-switched-off", None, 0, 30, 60), "pdu")
    record = {"record_system": "slurm", "recorded_id": "too-many-joules"} | line.meta("runs")
    stated = {"attempt_id": "1", "started_at": START, "ended_at": END} | record
    insert(line.connection, "training_runs", part="run", **record)
    insert(line.connection, "training_runs", part="alias", alias_system="slurm", alias_id="too-many-joules", **record)
    insert(line.connection, "training_runs", part="attempt", state="succeeded", **stated)
    machine = {"resource_id": "i-slurm-joules", "accelerator_type": NODE, "chips": 16, "node_count": 1}
    insert(line.connection, "training_runs", part="node", **machine, **stated)
    insert(line.connection, "training_runs", part="reading", energy_j=3200 * 3600 * 1000.0, meter="slurm", **stated)


def limits(line: Line) -> None:
    """An H100 whose watts are not read: half busy and held to 400 W for 15 minutes, then to 300 W, then unseen."""
    line.run("held-to-limits", "AWS", ("i-held-to-limits", GPU, 1, START, END))
    for first, limit in ((0, 400_000), (15, 300_000)):
        stated = {"utilisation_ratio": 0.5, "evidence": "measured", "power_limit_mw": limit}
        line.power("gpu_monitoring", minutes("i-held-to-limits", 0, None, first, first + 15), "nvml", **stated)


def four_hosts(line: Line) -> None:
    """A day of four hosts with one driver, one of which delivers milliwatts; and a run without a meter."""
    day = datetime(2026, 7, 3)  # noqa: DTZ001 raw times are UTC without a zone
    for number in range(4):
        name = f"i-host-{number}"
        line.run(f"host-{number}", "AWS", (name, GPU, 1, day, day + timedelta(days=1)))
        watts = 640_000 if number == 3 else 640
        hours = [(name, 0, day + timedelta(hours=at), day + timedelta(hours=at + 1), watts) for at in range(24)]
        more = {"utilisation_ratio": 0.97, "evidence": "measured", "sdk_version": DRIVER, "accelerator_type": GPU}
        line.power("gpu_monitoring", hours, "nvml", **more)
    line.run("without-meter", "AWS", ("i-without-meter", GPU, 1, START, END))
    line.connection.execute(
        "update raw.training_runs set sdk_version = ?"
        " where part = 'run' and (recorded_id like 'host-_' or recorded_id = 'without-meter')",
        [DRIVER],
    )


def counters(line: Line) -> None:
    """A GPU's counter in joules where millijoules are meant; one that does not move; a PDU's that counts tenths of a kWh."""
    for name in ("joules", "stuck"):
        line.run(name, "AWS", (f"i-{name}", CHIP, 1, START, END))
        for at in range(-1, 61):
            counter = 5_000_000 + (at * 60 * 100 if name == "joules" else 0)  # 100 W
            stated = {"energy_mj": counter, "device_uuid": "GPU-a", "utilisation_ratio": 0.5, "evidence": "measured"}
            line.power("gpu_monitoring", [(f"i-{name}", 0, None, START + at * MINUTE, 100)], "nvml", **stated)
    line.run("tenths", "AWS", ("i-tenths", NODE, None, START, END))
    for at in range(-1, 61):
        counted = {"series": "", "counter_j": 1e9 + (at * 60 * 3200 // 360_000) * 360_000.0}
        line.power("power_meters", [("i-tenths", None, None, START + at * MINUTE, None, counted)], "bmc")


def parts_of_nodes(line: Line) -> None:
    """Sixteen chips of 100 W, and a meter of the node that shows 1,000 W, and one that shows less than idle chips draw."""
    for name, watts in (("seen-part", 1000), ("small-part", 200)):
        line.run(name, "AWS", (f"i-{name}", NODE, None, START, END))
        line.power("power_meters", minutes(f"i-{name}", None, watts), "bmc")
        line.power("gpu_monitoring", [(f"i-{name}", chip, START, END, 100) for chip in range(16)], "nvml")


def rails(line: Line) -> None:
    for name, watts in (("core-alone", {"Core": 300}), ("both-rails", {"Core": 260, "HBM": 40})):
        line.run(name, "Google Cloud", (f"node-{name}", "v5p", 1, START, END))
        for rail, power in watts.items():
            line.power("xprof", minutes(f"node-{name}", 0, power, component=rail), "xprof_spi")
