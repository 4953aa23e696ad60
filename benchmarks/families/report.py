"""The quarterly report in all its forms, of a publication of 5,000 runs over 8 quarters: the demo's own, repeated."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.homes import Bench, Home, cpu, peak, python
from benchmarks.measures import Family, Reading, Spec

HERE = Path(__file__).resolve().parents[1]
RUNS, QUARTERS, QUARTER = 5_000, 8, "2026Q2"
DEMO_NOW = "2026-10-10T00:00:00Z"
FORMS = ("report.html", "report.pdf", "board.pdf", "report.xlsx", "report.json")

SPECS = (Spec("report_5000_runs", "quarterly report in HTML, PDF, XLSX, CSV and JSON, 5,000 runs and 8 quarters", "CPU s", 20),)


def read_report(bench: Bench) -> Iterator[tuple[str, Reading]]:
    """Nothing is smaller in a quick run: the demo is built once and kept."""
    folder = bench.work / "report"
    demo = folder / "demo"
    built, source = demo / "trainledger-home/published/trainledger.duckdb", folder / "demo.duckdb"
    home = Home(folder, DEMO_NOW, bench.product)
    if not source.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        home.run("demo", "--dir", demo)
        shutil.copy(built, source)
    large = folder / "large.duckdb"
    python(HERE / "inputs/published.py", source, large, str(RUNS), str(3 * QUARTERS), folder=folder)
    large.replace(built)
    out = folder / "reports"
    command = ("report", "quarterly", "--quarter", QUARTER, "--out", out, "--config", demo / "trainledger.yaml")
    done = [home.run(*command) for _ in range(bench.rounds)]
    sizes = {form: (out / QUARTER / form).stat().st_size for form in FORMS}
    more = {"wall_s": round(done[-1].wall_s, 2), "runs": RUNS, "quarters": QUARTERS, "bytes": sizes}
    yield "report_5000_runs", Reading(cpu(done), None, peak(done), more)


FAMILIES = (Family("report", SPECS, read_report),)
