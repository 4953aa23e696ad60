"""Run a floor over Parquet parts in a process of its own: `python floor.py SQL FILE ...`."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

FLOOR = Path(__file__).with_name("floor.sql")
THREADS = 2


def rollup(files: list[str], sql: Path = FLOOR) -> duckdb.DuckDBPyConnection:
    """The result of a floor; exact() comes from floor.sql in any case."""
    engine = duckdb.connect()
    engine.execute(f"set threads = {THREADS}; set timezone = 'UTC'")
    quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in files)
    engine.execute(f"set variable files = [{quoted}]")
    macro, _, query = FLOOR.read_text().partition(";\n")
    engine.execute(macro)
    return engine.execute(query if sql == FLOOR else sql.read_text())


if __name__ == "__main__":
    print(rollup(sys.argv[2:], Path(__file__).with_name(sys.argv[1])).to_arrow_table().num_rows)
