"""Write a generated month of Google's detailed billing export: `python -m benchmarks.generate_google --out DIR`."""

from __future__ import annotations

import argparse
import os
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from benchmarks.generate_cur import (
    ACCOUNTS,
    HERE,
    RESOURCES_PER_ROW,
    SERIES_PER_ROW,
    SHAPE_GROWTH,
    SHAPES_AT_1000,
    TAG_SETS_PER_RESOURCE,
    month_starts,
    next_month,
)


def write_month(export: Path, rows: int, first: str = "2026-04", seed: int = 1) -> int:
    """A Parquet file for each day; 0 rows leave one. Densities are those of the AWS samples: no public Google export is large."""
    month, written = month_starts(first, 1)[0], 0
    with duckdb.connect() as engine:
        engine.execute("set threads = 2; set timezone = 'UTC'")
        _fill(engine, rows, month, seed)
        for day in range((next_month(month) - month).days if rows else 1):
            date = month + timedelta(days=day)
            path = export / f"_PARTITIONTIME={date:%Y-%m-%d}" / "000000000000.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            engine.execute(f"set variable day = {day}")
            limit = "" if rows else " limit 1"
            query = (HERE / "google_rows.sql").read_text() + limit
            target = f"'{path}' (format parquet, compression snappy, row_group_size 1000000)"
            copied = engine.execute(f"copy ({query}) to {target}").fetchone()
            written += copied[0] if copied else 0
            exported = (date + timedelta(days=2)).timestamp()
            os.utime(path, (exported, exported))
    return written


def _fill(engine: duckdb.DuckDBPyConnection, rows: int, month: datetime, seed: int) -> None:
    variables = {
        "seed": str(seed),
        "skus": round(SHAPES_AT_1000 * max(1, rows / 1000) ** SHAPE_GROWTH),
        "series": max(100, round(rows * SERIES_PER_ROW)),
        "label_sets": max(8, round(rows * RESOURCES_PER_ROW * TAG_SETS_PER_RESOURCE)),
        "projects": ACCOUNTS,
    }
    for name, value in variables.items():
        engine.execute(f"set variable {name} = {value!r}")
    engine.execute(f"set variable month = timestamp '{month:%Y-%m-%d}'")
    engine.execute((HERE / "google.sql").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--start", default="2026-04")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{write_month(arguments.out, arguments.rows, arguments.start, arguments.seed)} rows: {arguments.out}")


if __name__ == "__main__":
    main()
