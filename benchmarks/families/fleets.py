"""Bills of fleets: nearly every row is an hour of a machine that a run holds. Each build beside the floor over the same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial

from benchmarks import generate_cur
from benchmarks.families.bills import HERE, net_of, rows_of
from benchmarks.homes import Bench, Home, clock_of, generator, in_turns, peak, python
from benchmarks.inputs.held import Held
from benchmarks.measures import Family, Reading, Spec
from benchmarks.process import Run

DAY_MIN = 24 * 60 - 5  # an attempt and the five minutes until the next
FLEETS = (
    ("fleet_days", "attempts of a day", 6, Held(1, (DAY_MIN,))),
    ("fleet_hours", "attempts of 55 minutes", 25, Held(1, (55,))),
    ("fleet_half", "half of the rows; attempts of minutes to a week", None, Held(0.5, (10, 90, DAY_MIN, 7 * (DAY_MIN + 5) - 5))),
    ("fleet_shared", "every fourth node is shared by two runs, and each has rows of pods", None, Held(0.95, (DAY_MIN,), 2, True)),
)
SPECS = tuple(
    Spec(name, f"build of a bill of held machines, net / floor: {what}", "CPU s", goal, needs_full_size=True)
    for name, what, goal, _ in FLEETS
)


def read_fleets(bench: Bench) -> Iterator[tuple[str, Reading]]:
    rows = bench.bill_rows // 5
    empty = bench.bill("bill", 0)
    empty.refresh()
    for name, *_, held in FLEETS:
        full = _home(bench, name, rows, held)
        full.refresh()
        builds, empty_builds, floors, empty_floors = in_turns(
            bench.rounds,
            partial(full.refresh, "--full"),
            partial(empty.refresh, "--full"),
            partial(_floor, full),
            partial(_floor, empty),
        )
        counted = rows_of(full)
        value, floor = net_of((builds, empty_builds)), net_of((floors, empty_floors))
        more = {"rows": counted, "us_per_row": round(value / counted * 1e6, 2)}
        yield name, Reading(value, floor, peak(builds), more)


def _home(bench: Bench, name: str, rows: int, held: Held) -> Home:
    folder = bench.work / f"{name}-{rows}-{generator()}"
    if not (folder / "trainledger.yaml").exists():
        shutil.rmtree(folder, ignore_errors=True)
        generate_cur.write_months(folder, rows, "2026-04", 1, held=held)
    home = Home(folder, clock_of(folder), bench.product)
    home.forget()
    return home


def _floor(home: Home) -> Run:
    return python(HERE / "floor.py", "floor.sql", *home.landed_parquet("bench-cur"), folder=home.folder)


FAMILIES = (Family("fleets", SPECS, read_fleets),)
