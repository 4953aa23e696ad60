"""The published Parquet: a file per table and usage month, with the same bytes for the same rows.

`published/parquet` is a symbolic link to the folder of one build, so that readers see one publication or the next. A file
whose bytes did not change is the same file on disk (a hard link), which keeps copies to other machines small.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_project.base import durable
from dagster_project.publishing.digest import MONTH, WHOLE, literal

if TYPE_CHECKING:
    import duckdb

    from dagster_project.publishing.last import Last

LINK = "parquet"
PREFIX = ".parquet-"


def file_name(table: str, part: str) -> str:
    """A part's file below `parquet`; a table without months, or without rows, is one file."""
    return f"{table}/{part if part == WHOLE else f'{MONTH}={part}'}.parquet"


def new_folder(published: Path, build_id: str) -> Path:
    """The empty folder of one build."""
    folder = published / f"{PREFIX}{build_id}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


@dataclass(frozen=True, slots=True)
class Parts:
    """The Parquet of a publication that is being written: what is new, and what of the last one stays."""

    folder: Path
    old: Path  # where the files of the last one are
    last: Last | None
    built: frozenset[str] = frozenset()  # months that the build built, as the names of their parts
    hashes: dict[str, str] = field(default_factory=dict)  # sha256 of every file so far, by relative name

    def write(self, connection: duckdb.DuckDBPyConnection, query: str, table: str, part: str) -> Path:
        """Write the rows of one part in their order. Bytes that did not change stay the old file.

        The query must sort, even what is sorted already: a filter alone hands over pieces of blocks, and then where row groups
        are cut depends on where in its table a month begins.
        """
        name = file_name(table, part)
        new, old = self.folder / name, self.old / name
        new.parent.mkdir(exist_ok=True)
        new.unlink(missing_ok=True)  # a link to the old file, of a view of which another file could not be kept
        # one thread: row groups are cut the same way on every machine
        (threads,) = connection.execute("select current_setting('threads')").fetchone() or (1,)
        connection.execute("set threads = 1; set preserve_insertion_order = true")
        connection.execute(
            f"copy ({query}) to {literal(str(new))} (format parquet, compression zstd, row_group_size 122880, use_tmp_file false)"
        )
        connection.execute(f"set threads = {threads}")
        if old.is_file() and filecmp.cmp(new, old, shallow=False):
            _be(old, new)
        else:
            durable.sync(new)
        self.hashes[name] = durable.sha256_of(new)
        return new

    def keep(self, table: str, part: str) -> bool:
        """Give a part's old file its new name, if its bytes are still those that were published."""
        name = file_name(table, part)
        new, old, sha256 = self.folder / name, self.old / name, self.last and self.last.record["parquet"].get(name)
        if not sha256 or not old.is_file() or durable.sha256_of(old) != sha256:
            return False
        new.parent.mkdir(exist_ok=True)
        if not _be(old, new):
            shutil.copyfile(old, new)
            durable.sync(new)
        self.hashes[name] = sha256
        return True


def _be(old: Path, new: Path) -> bool:
    """Let the new name point at the old file; a file system without hard links cannot."""
    linked = new.with_suffix(".link")
    with contextlib.suppress(OSError):
        os.link(old, linked)
        linked.replace(new)
        return True
    return False


def swap_parts(published: Path, folder: Path) -> None:
    """Point `parquet` at the new folder by one rename; what is there instead of a link goes with the old folders.

    The names in the new folder are forced to the disk before: else a power cut leaves readers a folder without some of its files.
    """
    for path in (*folder.iterdir(), folder):
        if path.is_dir():
            durable.sync(path)
    link, temporary = published / LINK, published / f".{LINK}-link"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name)
    if link.is_dir() and not link.is_symlink():  # a home that was copied by what follows links
        copied = new_folder(published, "copied")
        link.replace(copied / LINK)
    temporary.replace(link)


def mend_link(published: Path, build_id: str) -> None:
    """Make the link again in a home that was copied without it: by zip, by `rsync -L`, through a bucket.

    Nothing is done where the folder of the published build was not copied either: the next publication writes it.
    """
    link, folder = published / LINK, published / f"{PREFIX}{build_id}"
    if not (link.is_symlink() and link.is_dir()) and folder.is_dir():
        swap_parts(published, folder)
        remove_old_parts(published, folder)


def remove_old_parts(published: Path, current: Path) -> None:
    """Remove the folders of earlier publications and of those that were killed."""
    for folder in published.glob(f"{PREFIX}*"):
        if folder != current and folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
