"""`trainledger ...` inside this process, for tests in which no process is what is tested.

A command of its own loads its engines each time. Here they are loaded once per worker; everything of a command runs as it does
for a user, but that Dagster shows nothing unless a test asks for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest import mock


def run_trainledger(*arguments: object, now: str | None = None, in_dagster: bool = False) -> subprocess.CompletedProcess[str]:
    """What the command would print and return; `now` fixes its clock."""
    from dagster_project.cli import app

    words = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    printed = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    unseen = contextlib.nullcontext() if in_dagster else without_dagster()
    with _surroundings({"TRAINLEDGER_NOW": now} if now else {}), unseen, printed[0], printed[1]:
        try:
            app(words)
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return subprocess.CompletedProcess(["trainledger", *words], code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _surroundings(more: dict[str, str]) -> Iterator[None]:
    before, folder = dict(os.environ), Path.cwd()
    os.environ.update(more)
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def without_dagster() -> Iterator[None]:
    """Nothing is shown in Dagster of what runs inside the block; tests/run_side/test_run_command_line.py asks what would be."""
    from dagster_project.assets import command_line

    unseen = mock.patch.multiple(
        command_line, refresh_run=lambda *_: contextlib.nullcontext(mock.Mock()), show_report=lambda *_: None
    )
    with unseen:
        yield
