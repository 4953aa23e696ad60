"""Writing files so that a reader, or a crash, finds the old bytes or the new ones and never a mix. The only place that knows how.

A file is written under a temporary name beside its target, forced to disk and renamed over it. What is written belongs to
the callers.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, data: bytes | str, mode: int | None = None) -> None:
    """Replace a file whole, on disk when this returns; its folder must be there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")  # hidden, and of this process alone
    with temporary.open("wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        temporary.chmod(mode)
    temporary.replace(path)
    sync(path.parent)


def put(path: Path, data: bytes) -> None:
    """The same, also where its folder is not there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, data)


def write_json(path: Path, document: Any, mode: int | None = None) -> None:
    """Replace a small JSON file, indented for people."""
    write(path, json.dumps(document, indent=1) + "\n", mode)


def clear_unfinished(folder: Path) -> None:
    """Remove what killed processes were writing in a folder, under names that no later one takes; a living one keeps its own."""
    for path in folder.glob(".*.tmp"):
        number = path.name.split(".")[-2]
        if number.isdigit() and not is_alive(int(number)):
            path.unlink(missing_ok=True)


def is_alive(process: int) -> bool:
    """Whether a process of this machine goes on."""
    try:
        os.kill(process, 0)
    except OSError as error:
        return isinstance(error, PermissionError)  # another user's
    return True


def sha256_of(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries (renames in it), survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
