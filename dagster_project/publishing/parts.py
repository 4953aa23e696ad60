"""The published Parquet: a file per table and usage month, with the same bytes for the same rows.

`published/parquet` is a symbolic link to the folder of one build, so that readers see one publication or the next. A file
whose bytes did not change is the same file on disk (a hard link), which keeps copies to other machines small.
"""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.publishing.digest import MONTH, WHOLE, columns_of, literal, quoted
from dagster_project.publishing.tables import PublishedTable

if TYPE_CHECKING:
    import duckdb

LINK = "parquet"
PREFIX = ".parquet-"


def write_parts(file: Path, published: Path, tables: Sequence[PublishedTable], build_id: str) -> tuple[Path, dict[str, str]]:
    """Write the Parquet folder of one build from its new DuckDB file; returns the folder and sha256 by relative file name."""
    import duckdb

    folder = published / f"{PREFIX}{build_id}"
    shutil.rmtree(folder, ignore_errors=True)
    hashes: dict[str, str] = {}
    with duckdb.connect(str(file), read_only=True) as connection:
        # one thread: row groups are cut the same way on every machine; the rows are in their order already
        connection.execute("set TimeZone = 'UTC'; set threads = 1; set preserve_insertion_order = true")
        for table in tables:
            (folder / table.name).mkdir(parents=True)
            for part, condition in _partitions(connection, table.name):
                name = f"{table.name}/{part}.parquet"
                connection.execute(
                    f"copy (select * from marts.{quoted(table.name)} where {condition}) to {literal(str(folder / name))}"
                    " (format parquet, compression zstd, row_group_size 122880, use_tmp_file false)"
                )
                hashes[name] = _keep_if_equal(folder / name, published / LINK / name)
    return folder, hashes


def _partitions(connection: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]]:
    """File name and row condition of each part; a table without months, or without rows, is one part."""
    months: list[tuple[str]] = []
    if any(name == MONTH for name, _ in columns_of(connection, "marts", table)):
        months = connection.execute(
            f"select distinct strftime({MONTH}, '%Y-%m-%d') from marts.{quoted(table)} order by 1"
        ).fetchall()
    if not months:
        return [(WHOLE, "true")]
    return [
        (f"{MONTH}={month[:7]}", f"{MONTH} = date '{month}'") if month else (f"{MONTH}=none", f"{MONTH} is null")
        for (month,) in months
    ]


def _keep_if_equal(new: Path, old: Path) -> str:
    """Let the new name point at the old file when the bytes are the same. Returns the sha256 of the bytes."""
    if old.is_file() and filecmp.cmp(new, old, shallow=False):
        linked = new.with_suffix(".link")
        with contextlib.suppress(OSError):  # a file system without hard links keeps its copy
            os.link(old, linked)
            linked.replace(new)
    else:
        with new.open("rb") as handle:
            os.fsync(handle.fileno())
    with new.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def swap_parts(published: Path, folder: Path) -> None:
    """Point `parquet` at the new folder by one rename."""
    temporary = published / f".{LINK}-link"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name)
    temporary.replace(published / LINK)


def remove_old_parts(published: Path, current: Path) -> None:
    """Remove the folders of earlier publications and of those that were killed."""
    for folder in published.glob(f"{PREFIX}*"):
        if folder != current and folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
