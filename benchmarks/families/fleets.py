"""Bills of fleets: nearly every row is an hour of a machine that a run holds. Each build beside the floor over the same bytes.

Beside them bills of unusual shapes, whose ratio to the floor may be twice that of an ordinary bill of their size, or of a fleet
with attempts of a day.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from benchmarks import generate_cur
from benchmarks.families.bills import HERE, net_of, rows_of
from benchmarks.generate_cur import ORDINARY, Shape
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
ORDINARY_BILL, ORDINARY_FLEET = "bill", "fleet_days"
SHAPES: tuple[tuple[str, str, str, Held | None, Shape], ...] = (
    ("shape_distinct", "no two rows of one resource", ORDINARY_BILL, None, Shape(is_distinct=True)),
    ("shape_accounts", "100 accounts", ORDINARY_BILL, None, Shape(accounts=100)),
    ("shape_small_files", "files of 10,000 rows", ORDINARY_BILL, None, Shape(rows_per_file=10_000)),
    ("shape_one_run", "one run on every machine", ORDINARY_FLEET, Held(1, (DAY_MIN,), is_one_run=True), ORDINARY),
    ("shape_many_runs", "ten thousand runs", ORDINARY_FLEET, Held(1, (DAY_MIN,), run=timedelta(days=1)), ORDINARY),
)
SPECS = tuple(
    Spec(name, f"build of a bill of held machines, net / floor: {what}", "CPU s", goal, needs_full_size=True)
    for name, what, goal, _ in FLEETS
)
SHAPE_SPECS = tuple(
    Spec(name, f"{what}: its build / floor, beside that of {'an ordinary bill' if beside == ORDINARY_BILL else beside}", "x", 2)
    for name, what, beside, *_ in SHAPES
)


def read_fleets(bench: Bench) -> Iterator[tuple[str, Reading]]:
    rows = bench.bill_rows // 5
    for name, *_, held in FLEETS:
        yield name, _read(bench, name, rows, held, ORDINARY)


def read_shapes(bench: Bench) -> Iterator[tuple[str, Reading]]:
    rows = bench.bill_rows // 5
    ordinary: dict[str, float] = {}
    for name, _, beside, held, shape in SHAPES:
        if beside not in ordinary:
            its = next((its for fleet, *_, its in FLEETS if fleet == beside), None)
            ordinary[beside] = _ratio(_read(bench, beside, rows, its, ORDINARY))
        reading = _read(bench, name, rows, held, shape)
        yield name, Reading(_ratio(reading), ordinary[beside], reading.peak_mb, reading.more)


def _ratio(reading: Reading) -> float:
    return reading.value / (reading.floor or 1)


def _read(bench: Bench, name: str, rows: int, held: Held | None, shape: Shape) -> Reading:
    """A build of the bill and the floor in turns, each net of a month of one row."""
    empty = bench.bill("bill", 0)
    empty.refresh()
    full = _home(bench, name, rows, held, shape)
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
    return Reading(value, floor, peak(builds), {"rows": counted, "us_per_row": round(value / counted * 1e6, 2)})


def _home(bench: Bench, name: str, rows: int, held: Held | None, shape: Shape) -> Home:
    folder = bench.work / f"{name}-{rows}-{generator()}"
    if not (folder / "trainledger.yaml").exists():
        shutil.rmtree(folder, ignore_errors=True)
        generate_cur.write_months(folder, rows, "2026-04", 1, held=held, shape=shape)
    home = Home(folder, clock_of(folder), bench.product)
    home.forget()
    return home


def _floor(home: Home) -> Run:
    return python(HERE / "floor.py", "floor.sql", *home.landed_parquet("bench-cur"), folder=home.folder)


FAMILIES = (Family("fleets", SPECS, read_fleets), Family("shapes", SHAPE_SPECS, read_shapes))
