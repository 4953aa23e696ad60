"""A month of Google's bill: its build and its whole refresh beside the same kind of floor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import generate_google
from benchmarks.homes import Bench, Home, cpu, in_turns, peak, python
from benchmarks.measures import Family, Reading, Spec
from benchmarks.process import Run

HERE = Path(__file__).resolve().parents[1]
ROWS = 2_000_000

SPECS = (
    Spec(
        "google_build",
        "build of all marts, 2 M rows of Google's detailed export, net of an empty month / floor",
        "CPU s",
        7,
        needs_full_size=True,
    ),
    Spec("google_refresh", "whole refresh of that month, net / floor", "CPU s", 10, needs_full_size=True),
)


def read_google(bench: Bench) -> Iterator[tuple[str, Reading]]:
    rows = ROWS // 10 if bench.is_quick else ROWS
    full, empty = _home(bench, rows), _home(bench, 0)

    def whole(home: Home) -> Run:
        home.forget()
        return home.refresh()

    def floor(home: Home) -> Run:
        return python(HERE / "floor.py", "floor_google.sql", *home.landed_parquet("gcp-billing"), folder=home.folder)

    actions = [lambda step=step, home=home: step(home) for step in (whole, floor, _build) for home in (full, empty)]
    wholes, wholes_empty, floors, floors_empty, builds, builds_empty = in_turns(bench.rounds, *actions)
    least = cpu(floors) - cpu(floors_empty)
    for name, runs, none in (("google_build", builds, builds_empty), ("google_refresh", wholes, wholes_empty)):
        net = cpu(runs) - cpu(none)
        more = {
            "rows": rows,
            "cpu_s_per_million": round(net / rows * 1e6, 3),
            "bytes_written": max(one.bytes_written for one in runs),
        }
        yield name, Reading(net, least, peak(runs), more)


def _build(home: Home) -> Run:
    return home.refresh("--full")


def _home(bench: Bench, rows: int) -> Home:
    """A month of one AWS row, so that the line has both clouds, and Google's month."""
    home = bench.bill(f"google-{rows}", 0)
    location = home.configure("gcp-billing", "gcp_billing")
    if not any(location.iterdir()):
        generate_google.write_month(location, rows)
    return home


FAMILIES = (Family("google", SPECS, read_google),)
