"""The dbt project as a thing that can be run: where it is, its manifest, its environment, one command of dbt.

dbt runs as a process of its own: an import of dbt costs seconds, and inside this process it would keep the build file open.
What the models say is SQL and lives in dbt/.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from dagster_project.base import durable
from dagster_project.base.dbt_project import project_folder, project_hash, shared_target
from dagster_project.base.failures import MachineError, TrainledgerError
from dagster_project.settings import MEMORY_LIMIT

MANIFEST = "manifest.json"
PARSE_STATE = "partial_parse.msgpack"  # dbt's own memory of a parsed project: with it a build does not parse again
# unit tests check the rules of calculation on invented rows: they belong to `make test`, not to every build
BUILD_ARGUMENTS = ("build", "--exclude-resource-type", "unit_test")


class ModelsError(TrainledgerError):
    """dbt itself did not work (it is not a failed test)."""


def environment(build_file: Path, target: Path, memory_limit: str = MEMORY_LIMIT) -> dict[str, str]:
    """What dbt needs to know of this build; everything else comes from the process's own environment."""
    return {
        # the same words for every home, for dbt parses again when a profile says something else; dbt_process.py goes there
        "TRAINLEDGER_DUCKDB_PATH": build_file.name,
        "TRAINLEDGER_BUILD_FOLDER": str(build_file.parent),
        "TRAINLEDGER_MEMORY_LIMIT": memory_limit,
        "DBT_TARGET_PATH": str(target),
        "DBT_LOG_PATH": str(target / "logs"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DO_NOT_TRACK": "1",
    }


def dbt_executable(target: Path) -> Path:
    """A file that runs the dbt of this Python (PATH may name another one, or none) and dies with who started it."""
    launcher = target / "dbt"
    command = " ".join(shlex.quote(part) for part in (sys.executable, "-P", str(Path(__file__).with_name("dbt_process.py"))))
    text = f'#!/bin/sh\nexec {command} "$PPID" "$@"\n'
    if not launcher.exists() or launcher.read_text() != text:
        target.mkdir(parents=True, exist_ok=True)
        durable.write(launcher, text, mode=0o700)  # never written in place: another process may be running it
    return launcher


def run_dbt(
    arguments: list[str],
    build_file: Path,
    target: Path,
    memory_limit: str = MEMORY_LIMIT,
) -> subprocess.CompletedProcess[str]:
    """Run one dbt command; its exit code 1 (a model or test failed) is the caller's to judge, 2 (dbt did not work) is raised."""
    return run_process([str(dbt_executable(target))], arguments, build_file, target, memory_limit)


def run_process(
    program: list[str],
    arguments: Sequence[str],
    build_file: Path,
    target: Path,
    memory_limit: str = MEMORY_LIMIT,
) -> subprocess.CompletedProcess[str]:
    """Run a program that runs one dbt command on this project and prints its warnings and errors."""
    project = str(project_folder())
    command = [*program, *arguments, "--project-dir", project, "--profiles-dir", project]
    surroundings = {**os.environ, **environment(build_file, target, memory_limit), "TRAINLEDGER_TELL_EVENTS": "1"}
    # errors in the same pipe, in their order
    out, err = subprocess.PIPE, subprocess.STDOUT
    done = subprocess.run(command, env=surroundings, stdout=out, stderr=err, text=True, errors="replace", cwd=target, check=False)
    if done.returncode < 0:
        what = f"dbt was ended from outside ({signal.Signals(-done.returncode).name}), as the system does when memory is short"
        raise MachineError(what, remedy="Lower `memory_limit` in the configuration or end other programs, then run it again.")
    if done.returncode not in (0, 1):
        raise ModelsError(f"dbt {arguments[0]} did not work: {_last_lines(done)}", where=project)
    return done


def _last_lines(done: subprocess.CompletedProcess[str]) -> str:
    return "\n".join(done.stdout.strip().splitlines()[-8:])


def parsed_folder(home: Path) -> Path:
    """Where the project as it is now lies once it is parsed."""
    shelf = shared_target() or home / "cache"
    return shelf / f"parsed-{hashlib.sha256(f'{project_hash()}{_versions()}'.encode()).hexdigest()[:16]}"


def parsed_project(home: Path) -> Path:
    """The folder with the manifest and the parse state of the project as it is now, never of a build.

    Parsing costs seconds, so in a checkout all homes share one in the project's own target folder. An installed wheel is left
    as it is: there each home keeps its own in its cache. It appears whole or not at all; the one of the project as it was
    before goes.
    """
    folder = parsed_folder(home)
    shelf = folder.parent
    if folder.exists():
        return folder
    shelf.mkdir(parents=True, exist_ok=True)
    outdated = list(shelf.glob("parsed-*"))
    with tempfile.TemporaryDirectory(prefix=".parsing-", dir=shelf) as work:
        done = run_dbt(["parse"], Path(work) / "build.duckdb", Path(work))
        if done.returncode != 0:
            raise ModelsError(f"The dbt project does not parse: {_last_lines(done)}", where=str(project_folder()))
        whole = Path(work) / "whole"
        whole.mkdir()
        for name in (MANIFEST, PARSE_STATE):
            (Path(work) / name).rename(whole / name)
        try:
            whole.rename(folder)
        except OSError:
            if not folder.exists():  # else somebody parsed the same project meanwhile
                raise
    for old in outdated:
        shutil.rmtree(old, ignore_errors=True)
    return folder


@functools.cache
def _versions() -> str:
    return "".join(metadata.version(name) for name in ("dbt-core", "dbt-duckdb"))


def lend_parse_state(parsed: Path, target: Path) -> None:
    """Give a target folder that dbt has not used yet the parse state, so that its first build need not parse."""
    state = target / PARSE_STATE
    if not state.exists():
        target.mkdir(parents=True, exist_ok=True)
        durable.write(state, (parsed / PARSE_STATE).read_bytes())


@functools.lru_cache(maxsize=2)
def _read(manifest: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(manifest.read_bytes())
    return document


def project(home: Path) -> dict[str, Any]:
    """dbt's manifest of the project as it is now (of some megabytes, so it is kept: its folder's name says what is in it)."""
    return _read(parsed_project(home) / MANIFEST)
