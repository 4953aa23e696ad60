"""Whether a refresh knows how long the company has been measuring: months of equal deliveries, one at a time.

Two homes take turns: one gets its 3rd and 4th month while the other gets its 35th and 36th.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.generate_cur import PAYER, month_starts, next_month
from benchmarks.homes import Bench, Home, cpu, peak
from benchmarks.inputs.fleet import draw_fleet, write_records
from benchmarks.measures import Family, Reading, Spec
from benchmarks.process import Run

FIRST = "2024-01"
QUICK, FULL = (20_000, 12), (100_000, 36)  # rows of a month, months
OPEN_DAYS, CLOSED_DAYS = 10, 21  # after the month's end: its bill is complete; it is final

SPECS = (
    Spec("month_36_over_month_3", "a new month among 36 / among 3, equal deliveries", "CPU s", 1.1, needs_full_size=True),
    Spec("records_36_over_3", "two new run records on nodes billed before, 36 months / 3", "CPU s", 1.1, needs_full_size=True),
    Spec("month_turns_final", "a month that turns final / a new month, 36 months", "CPU s", 0.3, needs_full_size=True),
)


def read_history(bench: Bench) -> Iterator[tuple[str, Reading]]:
    rows, count = QUICK if bench.is_quick else FULL
    months = month_starts(FIRST, count)
    source = bench.bill("months", rows, count, FIRST).folder
    short, long = (_empty_home(bench, source, name) for name in ("months-short", "months-long"))
    for home, known in ((short, months[:2]), (long, months[: count - 2])):
        _deliver(home, source, known)
        home.refresh()
        home.refresh("--months", f"{known[-1]:%Y-%m}")  # the first build of months leaves its statements to the later ones
    early: list[Run] = []
    late: list[Run] = []
    for new_early, new_late in zip(months[2:4], months[count - 2 :], strict=True):
        for home, month, runs in ((short, new_early, early), (long, new_late, late)):
            _deliver(home, source, [month])
            runs.append(home.refresh())
    sizes = {"months": count, "rows_a_month": rows}
    yield "month_36_over_month_3", Reading(cpu(late), cpu(early), peak(late), {**sizes, "bytes_written": late[-1].bytes_written})
    few = _with_two_records(short, months[3])
    many = _with_two_records(long, months[-1])
    yield "records_36_over_3", Reading(many.cpu_s, few.cpu_s, many.peak_mb, {**sizes, "bytes_written": many.bytes_written})
    long.now = _days_after(months[-1], CLOSED_DAYS)
    final = long.refresh()
    yield "month_turns_final", Reading(final.cpu_s, cpu(late), final.peak_mb, {**sizes, "bytes_written": final.bytes_written})


def _empty_home(bench: Bench, source: Path, name: str) -> Home:
    folder = bench.work / f"{name}-of-{source.name}"
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("exports/bench-cur", "exports/bench-carbon", "exports/runs"):
        (folder / part).mkdir(parents=True)
    text = (source / "trainledger.yaml").read_text().replace(str(source.resolve()), str(folder.resolve()))
    (folder / "trainledger.yaml").write_text(text)
    return Home(folder, "", bench.product)


def _days_after(month: datetime, days: int) -> str:
    return f"{next_month(month) + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"


def _deliver(home: Home, source: Path, months: list[datetime]) -> None:
    """Link the months' objects into the home's exports: same bytes, same times."""
    for month in months:
        period = f"BILLING_PERIOD={month:%Y-%m}"
        carbon = f"carbon_model_version=v3.0.1/usage_period={month:%Y-%m}"
        objects = [
            f"{export}/{kind}/{place}"
            for export, place in (("bench-cur", period), ("bench-carbon", carbon))
            for kind in ("data", "metadata")
        ]
        for part in (*objects, f"runs/{month:%Y-%m}"):
            found = source / "exports" / part
            if found.exists():
                shutil.copytree(found, home.folder / "exports" / part, copy_function=shutil.copy2)
    home.now = _days_after(months[-1], OPEN_DAYS)


def _with_two_records(home: Home, month: datetime) -> Run:
    """Two records more on machines that every month has, in the newest month."""
    records = draw_fleet(1, month, 4, PAYER).records[:2]
    for record in records:
        record["training_run_id"] = f"late-{record['training_run_id']}"
    write_records(home.folder / "exports/runs/late", month, records)
    return home.refresh()


FAMILIES = (Family("history", SPECS, read_history),)
