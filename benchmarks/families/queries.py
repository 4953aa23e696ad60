"""The queries of docs/sql by name on a large publication: 100,000 runs over 36 months. Wall time, as a reader waits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.homes import ROOT, Bench, python
from benchmarks.measures import CannotMeasure, Family, Reading, Spec

HERE = Path(__file__).resolve().parents[1]
RUNS, MONTHS, TIMES, MANY_ROWS = 100_000, 36, 20, 1_000

SPECS = (
    Spec(
        "queries_p95",
        "queries of docs/sql that return up to 1,000 rows, 100 k runs over 36 months, p95",
        "ms",
        50,
        needs_full_size=True,
    ),
    Spec("queries_of_many_rows_p95", "queries of docs/sql that return more rows, fetched whole, p95", "ms"),
)


def read_queries(bench: Bench) -> Iterator[tuple[str, Reading]]:
    runs = RUNS // 10 if bench.is_quick else RUNS
    home = bench.bill("queries", 100_000 if bench.is_quick else 1_000_000)
    home.refresh()
    large = home.folder / "large.duckdb"
    python(
        HERE / "inputs/published.py",
        home.folder / "home/published/trainledger.duckdb",
        large,
        str(runs),
        str(MONTHS),
        folder=home.folder,
    )
    files = sorted((ROOT / "docs/sql").glob("*.sql"))
    if not files:
        raise CannotMeasure("no docs/sql beside the benchmarks")
    done = python(HERE / "peers/run_queries.py", large, str(TIMES), *files, folder=home.folder)
    told: dict[str, dict[str, Any]] = json.loads(done.output.splitlines()[-1])
    large.unlink()
    for name, is_many in (("queries_p95", False), ("queries_of_many_rows_p95", True)):
        chosen = {query: one for query, one in told.items() if (one["rows"] > MANY_ROWS) == is_many}
        if chosen:
            by_name = {query: {"rows": one["rows"], "p95_ms": _p95(one["ms"])} for query, one in chosen.items()}
            slowest = max(one["p95_ms"] for one in by_name.values())
            yield name, Reading(slowest, None, done.peak_mb, {"runs": runs, "months": MONTHS, "queries": by_name})


def _p95(values: list[float]) -> float:
    return round(quantiles(values, n=20, method="inclusive")[-1], 2)


FAMILIES = (Family("queries", SPECS, read_queries),)
