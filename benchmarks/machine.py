"""Where, when, of which code and with what was measured: figures of two machines are not comparable, ratios roughly."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("connectors", "dagster_project", "dbt", "recorder", "reports")  # what a measure runs
SOURCES = {".py", ".sql", ".yml", ".csv", ".html", ".j2", ".typ"}
PACKAGES = ("duckdb", "dbt-core", "dbt-duckdb", "dagster", "polars", "pyarrow", "pandas", "msgspec")


def tree() -> str:
    """A hash over the product's files: a measure of another tree is of other code."""
    digest = hashlib.sha256()
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SOURCES and not {"target", "dbt_packages", "logs"} & {*path.parts}:
                digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def stamp() -> dict[str, Any]:
    """What each measure carries: its code, its time, and how busy the machine was before it."""
    return {
        "tree": tree(),
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
        "load_before": round(os.getloadavg()[0], 2),
    }


def machine() -> dict[str, Any]:
    return {
        "processor": _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_mb": int((_line("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) // 1024 or None,
        "system": f"{platform.system()} {platform.release()}",
    }


def _line(path: str, key: str) -> str | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)


def versions() -> dict[str, str]:
    command = [str(Path(sys.executable).parent / "trainledger"), "--version"]  # a checkout's metadata may lag behind it
    stated = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    known = {"python": platform.python_version(), "trainledger": stated.split()[-1]}
    for name in PACKAGES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known
