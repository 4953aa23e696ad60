"""What pyproject.toml promises of the packages: one version, and bounds that hold what is installed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from dagster_project import __version__

ROOT = Path(__file__).resolve().parents[1]
UNBOUNDED = {"cryptography"}  # the reason is beside it
FOLDERS = (".", "recorder", "verify")
UPPER = {"<", "<=", "==", "~="}


def project(folder: str = ".") -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


def test_the_version_is_the_newest_heading_of_the_changelog_and_that_of_every_package() -> None:
    heading = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading and __version__ == heading[1] + (".dev0" if heading[2] == "not released" else "")
    for folder in FOLDERS:
        path = ROOT / folder / project(folder)["tool"]["hatch"]["version"]["path"]
        assert path.resolve() == ROOT / "dagster_project" / "__init__.py"


def test_a_major_version_of_a_dependency_cannot_break_who_installs_the_wheel() -> None:
    of_users = [*project()["project"]["dependencies"]]
    for folder in FOLDERS:
        extras = project(folder)["project"]["optional-dependencies"]
        of_users += [line for name, lines in extras.items() if name != "test" for line in lines]
    needed = [Requirement(line) for line in of_users]
    assert {one.name for one in needed if not UPPER & {part.operator for part in one.specifier}} == UNBOUNDED


def test_the_locks_hold_versions_within_the_bounds() -> None:
    locked = dict(re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements" / "test.lock").read_text(), re.MULTILINE))
    extras = project()["project"]["optional-dependencies"]
    needed = [Requirement(line) for line in [*project()["project"]["dependencies"], *extras["test"], *extras["scale"]]]
    assert [str(one) for one in needed if not one.specifier.contains(locked[one.name.lower()])] == []
