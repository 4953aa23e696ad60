"""`make` with a Python that is too old, or none: one line that shows which is needed, no traceback, no half-made environment."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clone without its environment, and a Python 3.9 that answers as one does."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    old = tmp_path / "old" / "python3"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    return tmp_path


def make(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make")
    assert program is not None
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_a_python_that_is_too_old_is_named_with_the_ones_that_serve(folder: Path) -> None:
    done = make(folder, "run", f"PYTHON={folder}/old/python3", PATH=os.environ["PATH"])
    first = done.stderr.splitlines()[0]
    assert done.returncode == 2 and first.startswith("trainledger needs Python 3.11, 3.12 or 3.13;")
    assert "old/python3 is none of them" in first and "make run PYTHON=" in first
    assert "Traceback" not in done.stderr and not (folder / ".venv").exists()


def test_no_python_that_serves_on_the_path_is_reported_too(folder: Path) -> None:
    done = make(folder, "run", PATH=str(folder / "old"))
    assert done.returncode == 2 and "none of them is on PATH" in done.stderr and not (folder / ".venv").exists()
