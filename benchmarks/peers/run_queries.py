"""Run each query file on a published file, over and over: `python run_queries.py FILE TIMES QUERY ...`. Prints JSON by name.

A reader keeps a connection open, so opening is not counted; the first run of each query, which reads from disk, is.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import duckdb

if __name__ == "__main__":
    told: dict[str, dict[str, Any]] = {}
    with duckdb.connect(sys.argv[1], read_only=True) as engine:
        for name in sys.argv[3:]:
            text, seconds, rows = Path(name).read_text(), [], 0
            for _ in range(int(sys.argv[2])):
                started = time.perf_counter()
                rows = len(engine.execute(text).fetchall())
                seconds.append(time.perf_counter() - started)
            told[Path(name).name] = {"rows": rows, "ms": [round(one * 1000, 2) for one in seconds]}
    print(json.dumps(told))
