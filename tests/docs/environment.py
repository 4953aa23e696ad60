"""The environment of the documentation: `make .venv-docs/installed` makes it. Without it a listed skip, on CI a failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".venv-docs" / "bin"


def must_be_installed() -> None:
    """Skip where the environment is missing; on CI that is a failure."""
    if not (PROGRAMS / "mkdocs").exists():
        reason = ".venv-docs is missing: `make .venv-docs/installed` makes it"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
