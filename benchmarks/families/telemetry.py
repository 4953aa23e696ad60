"""How fast neuron-monitor's lines are landed, beside a plain parse of the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.homes import Bench, Home, cpu, in_turns, peak, python
from benchmarks.inputs import neuron
from benchmarks.measures import AT_LEAST, CannotMeasure, Family, Reading, Spec
from benchmarks.process import Run

HERE = Path(__file__).resolve().parents[1]
SIZE, LINES = 1_000_000_000, 720  # an hour of documents a file
# what neuron-monitor writes without a configuration, and with the counters alone; bytes of a line, about
GROUPS = {"neuron_monitor": ("all", 52_000), "neuron_monitor_counters": ("few", 8_500)}

SPECS = (
    Spec("neuron_monitor", "landing of neuron-monitor lines / msgspec's untyped parse", "MB per CPU s", 0.6, AT_LEAST),
    Spec("neuron_monitor_counters", "the same for lines with little but the counters", "MB per CPU s", 0.6, AT_LEAST),
)


def read_telemetry(bench: Bench) -> Iterator[tuple[str, Reading]]:
    for name, (groups, line_bytes) in GROUPS.items():
        yield name, _read(bench, groups, line_bytes)


def _read(bench: Bench, groups: str, line_bytes: int) -> Reading:
    files = max(1, SIZE // (10 if bench.is_quick else 1) // (LINES * line_bytes))
    full, none = _home(bench, groups, files), _home(bench, groups, 0)

    def land(home: Home) -> Run:
        home.forget()
        return home.land()

    def parse(home: Home) -> Run:
        return python(HERE / "peers/msgspec_parse.py", home.folder / "exports/neuron", folder=home.folder)

    actions = [lambda step=step, home=home: step(home) for step in (land, parse) for home in (full, none)]
    landed, landed_none, parsed, parsed_none = in_turns(bench.rounds, *actions)
    size = sum(path.stat().st_size for path in (full.folder / "exports/neuron").rglob("*.jsonl"))
    if not list((full.folder / "home/landing/neuron").rglob("_generation.json")):
        raise CannotMeasure("nothing of the telemetry was landed")
    ours, least = (size / 1e6 / (cpu(runs) - cpu(idle)) for runs, idle in ((landed, landed_none), (parsed, parsed_none)))
    return Reading(ours, least, peak(landed), {"bytes": size, "bytes_written": landed[-1].bytes_written})


def _home(bench: Bench, groups: str, files: int) -> Home:
    home = bench.bill(f"neuron-{groups}-{files}", 0)
    location = home.configure("neuron", "neuron_monitor")
    if files and not any(location.iterdir()):
        neuron.write_files(location, files=files, lines=LINES, start=datetime(2026, 4, 1, tzinfo=UTC), groups=groups)
    return home


FAMILIES = (Family("telemetry", SPECS, read_telemetry),)
