"""Where and with what was measured: figures of two machines are not comparable, ratios roughly."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("duckdb", "dbt-core", "dbt-duckdb", "dagster", "polars", "pyarrow", "pandas", "msgspec")


def machine() -> dict[str, Any]:
    return {
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
        "processor": _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_mb": int((_line("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) // 1024 or None,
        "system": f"{platform.system()} {platform.release()}",
        "load_before": round(os.getloadavg()[0], 2),
    }


def _line(path: str, key: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)


def versions() -> dict[str, str]:
    command = [str(Path(sys.executable).parent / "trainledger"), "--version"]  # a checkout's metadata may lag behind it
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    known = {"python": platform.python_version(), "trainledger": told.split()[-1]}
    for name in PACKAGES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known
