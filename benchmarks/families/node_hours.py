"""An hour of a thousand nodes landed and built: how much memory it takes, whatever the number of nodes.

The size of the goal is 1,000 nodes of 16 devices; a quick run has 50. neuron-monitor writes every 5 s, as it does without a
configuration, and the driver's power comes every minute, as it rolls it up.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.homes import Bench, Home, cpu, peak
from benchmarks.inputs import node_hour
from benchmarks.measures import CannotMeasure, Family, Reading, Spec

NODES, QUICK_NODES = 1_000, 50
START = datetime(2026, 4, 1, 6, tzinfo=UTC)
DAYS, QUICK_DAYS, NODES_OF_DAYS = 28, 10, 8
TITLE = "an hour of 1,000 nodes, neuron-monitor every 5 s and power every minute"
SPECS = (
    Spec("peak_memory_1000_nodes", f"{TITLE}: peak memory of landing and building", "MB", 2048, needs_full_size=True),
    Spec("landing_1000_nodes", f"{TITLE}: CPU of landing alone", "CPU s"),
    Spec("building_1000_nodes", f"{TITLE}: CPU of building and publishing", "CPU s", 80, needs_full_size=True),
    Spec("building_a_sample", f"{TITLE}: CPU of building and publishing a sample, net of a month without any", "CPU us", 6.4),
    Spec(
        "new_hour_of_a_month",
        "a new hour of 8 nodes / its month of an hour a day: building and publishing",
        "CPU s",
    ),
)


# of a node: sixteen devices, each by the monitor and by the driver
SAMPLES = 16 * (node_hour.LINES + node_hour.MINUTES)


def read_node_hours(bench: Bench) -> Iterator[tuple[str, Reading]]:
    nodes = QUICK_NODES if bench.is_quick else NODES
    none, home = _home(bench, 0), _home(bench, nodes)
    none.land()
    least = none.refresh()
    landed = home.land()
    if not list((home.folder / "home/landing/power").rglob("_generation.json")):
        raise CannotMeasure("nothing of the power was landed: this product may not know the kind neuron_power")
    built = home.refresh()
    most = peak([landed, built])
    if most is None:
        raise CannotMeasure("this system does not tell how much memory a process takes")
    files = [path for name in ("monitor", "power") for path in (home.folder / "exports" / name).rglob("*.jsonl")]
    more = {"nodes": nodes, "bytes": sum(path.stat().st_size for path in files)}
    yield "peak_memory_1000_nodes", Reading(most, None, most, more)
    yield "landing_1000_nodes", Reading(cpu([landed]), None, landed.peak_mb, {"bytes_written": landed.bytes_written})
    yield "building_1000_nodes", Reading(cpu([built]), None, built.peak_mb, {"bytes_written": built.bytes_written})
    samples = nodes * SAMPLES
    yield "building_a_sample", Reading((cpu([built]) - cpu([least])) / samples * 1e6, None, None, {"samples": samples})
    yield "new_hour_of_a_month", _new_hour(bench, QUICK_DAYS if bench.is_quick else DAYS)


def _new_hour(bench: Bench, days: int) -> Reading:
    """A month of nodes that one run holds throughout is built; then one more hour of its last day is landed and built."""
    home = bench.bill(f"node-days-{days}", 0)
    kinds = (("monitor", "neuron_monitor"), ("power", "neuron_power"), ("node-runs", "training_runs"))
    folders = [home.configure(name, kind) for name, kind in kinds]
    starts = [START + timedelta(days=day) for day in range(days)]
    held, new = (START, START + timedelta(days=days)), starts[-1] + node_hour.HOUR
    if not any(folders[0].iterdir()):
        for start in starts:
            node_hour.write_hour(folders[0].parent, NODES_OF_DAYS, start, held)
    for path in [path for folder in folders for path in folder.rglob(f"{new:%Y-%m-%dT%H-%M-%SZ}.jsonl")]:
        path.unlink()  # of a round before
    home.land()
    month = home.refresh()
    node_hour.write_hour(folders[0].parent, NODES_OF_DAYS, new, held)
    home.land()
    hour = home.refresh()
    return Reading(cpu([hour]), cpu([month]), hour.peak_mb, {"days": days, "samples": NODES_OF_DAYS * SAMPLES})


def _home(bench: Bench, nodes: int) -> Home:
    """A month of one bill row beside the telemetry, which is written once for each number of nodes."""
    home = bench.bill(f"node-hour-{nodes}", 0)
    kinds = (("monitor", "neuron_monitor"), ("power", "neuron_power"), ("node-runs", "training_runs"))
    folders: list[Path] = [home.configure(name, kind) for name, kind in kinds]
    if not any(folders[0].iterdir()):
        node_hour.write_hour(folders[0].parent, nodes, START)
    return home


FAMILIES = (Family("node_hours", SPECS, read_node_hours),)
