"""A small organisation and what tests ask of its home: one month of bill and carbon, three runs, a shared node."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from tests.oracle.builders import Exports, carbon, hour, run

NOW = "2026-06-20T00:00:00Z"


def day_of_hours(resource: str, cost: float, month: str = "2026-04", **columns: object) -> list[dict]:
    """The second day of a month: hourly rows of one node."""
    return [hour(f"{month}-02T{at:02d}:00:00", cost, line_item_resource_id=resource, **columns) for at in range(24)]


def write_small_exports(folder: Path) -> Exports:
    """April 2026: a tagged node, one that two runs share, an idle one, storage, a tax; carbon in two model versions."""
    exports = Exports(folder)
    exports.bill(
        [
            *day_of_hours("i-tagged", 21.5, resource_tags={"user_training_run_id": "run-a"}),
            *day_of_hours("i-shared", 21.5),
            *day_of_hours("i-idle", 21.5),
            hour("2026-04-02T00:00:00", 3.21, line_item_usage_type="USE2-EBS:VolumeUsage.gp3", line_item_resource_id="vol-1"),
            hour(
                "2026-04-01T00:00:00", 7.77, line_item_line_item_type="Tax", line_item_usage_type=None, line_item_resource_id=None
            ),
        ]
    )
    exports.carbon([carbon(0.123457, 0.023457)])
    exports.carbon([carbon(0.111111, 0.011111, model_version="v3.0.0")], version="v3.0.0")
    exports.runs(
        run("run-a", ("i-tagged", "2026-04-02T00:00:00Z", "2026-04-03T00:00:00Z", None), team="one"),
        run("run-b", ("i-shared", "2026-04-02T00:00:00Z", "2026-04-02T11:17:23Z", 8), team="two"),
        run(
            "run-c",
            ("i-shared", "2026-04-02T03:00:07Z", "2026-04-03T00:00:00Z", 8),
            ("i-idle", "2026-04-05T00:00:00Z", "2026-04-05T01:00:00Z", 16),
        ),
    )
    exports.config()
    date_files(folder / "exports", datetime(2026, 5, 20, tzinfo=UTC))
    return exports


def date_files(folder: Path, at: datetime) -> None:
    """Give every file below a folder one time of delivery."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (at.timestamp(), at.timestamp()))


def tree(folder: Path) -> dict[str, str]:
    """sha256 of every file below a folder by its place."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def published_bytes(home: Path) -> dict[str, str]:
    """sha256 of every published Parquet file by its place."""
    return {name: sha256 for name, sha256 in tree(home / "published" / "parquet").items() if name.endswith(".parquet")}


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder: equal before and after means nothing was written."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def query(home: Path, sql: str) -> list[tuple]:
    """Rows of the published file."""
    with duckdb.connect(str(home / "published" / "trainledger.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()
