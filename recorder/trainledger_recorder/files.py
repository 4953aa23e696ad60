"""Small files: written so that a reader, or a crash, finds the old bytes or the new ones and never a mix; read where they may
be absent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, text: str) -> None:
    """Replace a file whole, on disk when this returns; its folder must be there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")  # hidden, and of this process alone
    with temporary.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync(path.parent)


def write_json(path: Path, document: Any) -> None:
    """Replace a small JSON file, indented for people."""
    write(path, json.dumps(document, indent=1) + "\n")


def sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries (renames in it), survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def text_of(path: Path) -> str:
    """A text without the white space around it; empty where the file cannot be read, as of a device that was reset."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def names_in(folder: Path) -> list[str]:
    """The sorted names in a folder; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names alone, of a folder that may be absent
    except OSError:
        return []
