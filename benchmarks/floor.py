"""Run floor.sql over Parquet parts in a process of its own: `python floor.py FILE ...`."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

FLOOR = Path(__file__).with_name("floor.sql")
THREADS = 2


def rollup(files: list[str], sql: Path = FLOOR) -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect()
    engine.execute(f"set threads = {THREADS}")
    quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in files)
    engine.execute(f"set variable files = [{quoted}]")
    return engine.execute(sql.read_text())


if __name__ == "__main__":
    print(rollup(sys.argv[1:]).to_arrow_table().num_rows)
