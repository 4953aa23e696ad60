"""Other Pythons of this machine, and an environment in which nothing of this clone is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def interpreter(version: str) -> str:
    """A Python of that version; a name on PATH may be a version manager's that starts nothing."""
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in [shutil.which(f"python{version}"), *sorted(managed.glob(f"{version}.*/bin/python"))]:
        if candidate is None:
            continue
        done = subprocess.run([candidate, "-c", asked], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return str(candidate)
    pytest.skip(f"no Python {version} on this machine")


def surroundings(**more: str) -> dict[str, str]:
    """The environment of these tests without what points at this clone."""
    ours = ("PYTHON", "VIRTUAL_ENV", "TRAINLEDGER", "DBT_", "DAGSTER")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | more
