"""What must agree before anything is released: version and changelog, locks, benchmarks, the nightly's result, the checkout.

Each disagreement is one refusal with its remedy, and all are listed. Nothing is repaired here.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import machine
from tests import nightly

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)
HEADING = re.compile(r"^## (\S+)(?: \((.+)\))?$", re.MULTILINE)
RESULTS = "benchmarks/results/latest.json"
SHOWN = 6  # names of a refusal


class Refusal(NamedTuple):
    """What disagrees, and what to do about it."""

    what: str
    remedy: str


def refusals(root: Path, today: dt.date) -> Iterator[Refusal]:
    """Every reason why this checkout is not released."""
    yield from of_version(root)
    yield from of_checkout(root)
    yield from of_locks(root)
    yield from of_benchmarks(root)
    yield from of_nightly(today)


def version_of(root: Path) -> str:
    """The one version number."""
    found = VERSION.search((root / "dagster_project" / "__init__.py").read_text(encoding="utf-8"))
    if found is None:
        raise ValueError("dagster_project/__init__.py has no __version__")
    return found[1]


def of_version(root: Path) -> Iterator[Refusal]:
    """The version is a release's, and the newest heading of the changelog is of it and has its day."""
    version, heading = version_of(root), HEADING.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    number, day = (heading[1], heading[2]) if heading else ("none", None)
    if ".dev" in version:
        yield Refusal(f"dagster_project/__init__.py: {version} is not finished", f"Write {version.partition('.dev')[0]}")
    if number != version.partition(".dev")[0]:
        yield Refusal(f"CHANGELOG.md: its newest heading is of {number}, the version is {version}", "Make both the same")
    try:
        dt.date.fromisoformat(day or "")
    except ValueError:
        yield Refusal(f"CHANGELOG.md: {number} has no day ({day})", f"Write `## {number} (YYYY-MM-DD)`")


def of_checkout(root: Path) -> Iterator[Refusal]:
    """Every file is committed: what is built is what the commit has."""
    asked = ["git", "status", "--porcelain"]
    lines = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    if lines:
        yield Refusal(f"the checkout is not that of its commit: {_some(line[3:] for line in lines)}", "Commit or remove them")


def of_locks(root: Path) -> Iterator[Refusal]:
    """`make lock` would change no lock: each holds what pyproject.toml and the `.in` files ask for."""
    with tempfile.TemporaryDirectory(prefix="trainledger-locks-") as scratch:
        locks = sorted((root / "requirements").glob("*.lock"))
        for lock in locks:
            shutil.copy(lock, scratch)  # what is locked is kept where it may be
        make = ["make", "-s", "lock", f"LOCKS={scratch}", f"BIN={Path(sys.executable).parent}"]
        done = subprocess.run(make, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            what = f"the locks cannot be resolved: {' '.join(done.stderr.split())[:300]}"
            yield Refusal(what, "Is a package index within reach? Else mend the bounds in pyproject.toml")
            return
        others = [lock.name for lock in locks if lock.read_bytes() != (Path(scratch) / lock.name).read_bytes()]
    if others:
        yield Refusal(f"requirements/: {_some(others)} are not what pyproject.toml asks for", "Run `make lock` and commit")


def of_benchmarks(root: Path) -> Iterator[Refusal]:
    """Every measure is of the product as it is here."""
    path = root / RESULTS
    measures = json.loads(path.read_bytes())["measures"] if path.is_file() else []
    older = [one["name"] for one in measures if one.get("tree") != machine.tree()]
    if older or not measures:
        which = f"{len(older)} of {len(measures)} measures are of other code ({_some(older)})"
        yield Refusal(f"{RESULTS}: {which}", "Run `make bench` and commit")


def of_nightly(today: dt.date) -> Iterator[Refusal]:
    """Every part of nightly passed on this tree, lately."""
    for name, when in nightly.due(today).items():
        yield Refusal(f"tests/nightly.json: {name} is due ({when})", f"Run `make nightly PART={name}` and commit")


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:SHOWN]) + (f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else "")
