"""Who may read what of a home: everything is for its owner alone, but for `published/` and `reports/`, which have `publish_mode`.

What is written under the writer lock is the owner's from the first byte on, whatever the umask of the shell is. A folder whose
own mode is right is not looked into: no other user gets past it, or all in it was put right with it.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

OWNER = 0o600
OPEN = ("published", "reports")  # their own mode names who may read what is put into them
CLOSED = ("cache", ".dagster", "evidence", "asof", "build.duckdb", "build.duckdb.wal", "building.json", ".writer.lock")


def readers_mode(written: Any) -> int:
    """The mode of published files as a person writes it. YAML makes a number of 0640, base 8, and text of '0640' and 0o640."""
    octal = re.fullmatch(r"0?o?([0-7]{3})", written) if isinstance(written, str) else None
    mode = int(octal[1], 8) if octal else written
    if mode not in (0o600, 0o640, 0o644):
        raise ValueError("write 0600 (the owner reads what is published), 0640 (and the group) or 0644 (and everybody)")
    return int(mode)


@contextmanager
def owner_alone() -> Iterator[None]:
    """What this process makes meanwhile is for its owner alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def prepare(home: Path, landing: str, publish_mode: int) -> None:
    """Make the folders that readers read, and give a home its modes."""
    for name in OPEN:
        (home / name).mkdir(exist_ok=True)
    keep(home, landing, publish_mode)


def keep(home: Path, landing: str, publish_mode: int) -> None:
    """Give a home its modes, also one that an older version made or a person changed. Needs no lock: no byte is written."""
    if not home.exists():
        return
    closed = [home / name for name in CLOSED] + ([] if "://" in landing else [Path(landing)])
    for path, mode in [*((path, OWNER) for path in closed), *((home / name, publish_mode) for name in OPEN)]:
        if path.exists() and _mode(path) != _wanted(path, mode):
            give(path, mode)
    if _mode(home) & 0o033 != 0o011:  # readers come through it and change nothing; a list of its names stays where it was allowed
        home.chmod(_mode(home) & ~0o022 | 0o011)


def give(path: Path, mode: int) -> None:
    """A file, or all in a folder and the folder last, so that what was cut short is found again. Links are left alone."""
    below = (
        one
        for folder, _, names in os.walk(path, topdown=False)
        for one in (*(Path(folder, name) for name in names), Path(folder))
    )
    for one in [path] if path.is_file() else below:
        with suppress(FileNotFoundError):  # a writer at work has replaced or removed it
            if not one.is_symlink() and _mode(one) != (wanted := _wanted(one, mode)):
                one.chmod(wanted)


def as_in(folder: Path) -> int:
    """The mode of files that whoever may read a folder may read."""
    return _mode(folder) & 0o644


def _wanted(path: Path, mode: int) -> int:
    """Who may read a folder may enter it; what its owner may do stays, such as to run a program."""
    readers = mode | (mode & 0o444) >> 2 if path.is_dir() else mode
    return _mode(path) & 0o7700 | readers


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
