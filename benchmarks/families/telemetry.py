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
SIZE, LINES, LINE_BYTES = 1_000_000_000, 720, 2_900  # an hour of documents a file

SPECS = (Spec("neuron_monitor", "landing of neuron-monitor lines / msgspec's untyped parse", "MB per CPU s", 0.6, AT_LEAST),)


def read_telemetry(bench: Bench) -> Iterator[tuple[str, Reading]]:
    size = SIZE // 10 if bench.is_quick else SIZE
    full, none = _home(bench, size), _home(bench, 0)

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
    yield "neuron_monitor", Reading(ours, least, peak(landed), {"bytes": size, "bytes_written": landed[-1].bytes_written})


def _home(bench: Bench, size: int) -> Home:
    home = bench.bill(f"neuron-{size}", 0)
    location = home.configure("neuron", "neuron_monitor")
    if size and not any(location.iterdir()):
        files = max(1, size // (LINES * LINE_BYTES))
        neuron.write_files(location, files=files, lines=LINES, start=datetime(2026, 4, 1, tzinfo=UTC))
    return home


FAMILIES = (Family("telemetry", SPECS, read_telemetry),)
