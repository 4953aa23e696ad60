"""The dbt project as a thing that can be run: where it is, its manifest, its environment, one `dbt build`.

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
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from dagster_project import durable
from dagster_project.dbt_project import project_folder, project_hash, shared_target
from dagster_project.failures import TrainledgerError
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


@dataclass(frozen=True, slots=True)
class Finished:
    """One model, seed or test that dbt just finished: the how-manieth of how many."""

    name: str
    number: int
    total: int


def run_dbt(
    arguments: list[str],
    build_file: Path,
    target: Path,
    on_node: Callable[[Finished], None] | None = None,
    memory_limit: str = MEMORY_LIMIT,
) -> subprocess.CompletedProcess[str]:
    """Run one dbt command; its exit code 1 (a model or test failed) is the caller's to judge, 2 (dbt did not work) is raised."""
    return run_process([str(dbt_executable(target))], arguments, build_file, target, on_node, memory_limit)


def run_process(
    program: list[str],
    arguments: Sequence[str],
    build_file: Path,
    target: Path,
    on_node: Callable[[Finished], None] | None = None,
    memory_limit: str = MEMORY_LIMIT,
) -> subprocess.CompletedProcess[str]:
    """Run a program that runs one dbt command on this project and tells its events."""
    project = str(project_folder())
    command = [*program, *arguments, "--project-dir", project, "--profiles-dir", project]
    surroundings = {**os.environ, **environment(build_file, target, memory_limit), "TRAINLEDGER_TELL_EVENTS": "1"}
    # errors go to the same pipe: a second one nobody reads could fill up and stop dbt
    with subprocess.Popen(
        command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=target
    ) as process:
        output = [_reported(line, on_node) for line in process.stdout or ()]
    done = subprocess.CompletedProcess(command, process.returncode, "".join(output), "")
    if done.returncode not in (0, 1):
        raise ModelsError(f"dbt {arguments[0]} did not work: {_last_lines(done)}", where=project)
    return done


def _reported(line: str, on_node: Callable[[Finished], None] | None) -> str:
    """Tell of a finished node in dbt's events, and return the line as people read it."""
    try:
        event = json.loads(line)
        name, data, words = event["info"]["name"], event["data"], event["info"]["msg"]
    except (ValueError, KeyError, TypeError):  # no event: a warning of Python, a traceback
        return line
    total = data.get("total") or data.get("num_models")  # dbt's events of tests name it otherwise than those of models
    if on_node and name in ("LogModelResult", "LogSeedResult", "LogTestResult") and total:
        on_node(Finished(data["node_info"]["node_name"], data["index"], total))
    return f"{words}\n"


def _last_lines(done: subprocess.CompletedProcess[str]) -> str:
    return "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])


def parsed_project(home: Path) -> Path:
    """The folder with the manifest and the parse state of the project as it is now, never of a build.

    Parsing costs seconds, so in a checkout all homes share one in the project's own target folder. An installed wheel is left
    as it is: there each home keeps its own in its cache. It appears whole or not at all; the one of the project as it was
    before goes.
    """
    shelf = shared_target() or home / "cache"
    versions = "".join(metadata.version(name) for name in ("dbt-core", "dbt-duckdb"))
    folder = shelf / f"parsed-{hashlib.sha256(f'{project_hash()}{versions}'.encode()).hexdigest()[:16]}"
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


def lend_parse_state(parsed: Path, target: Path) -> None:
    """Give a target folder that dbt has not used yet the parse state, so that its first build need not parse."""
    state = target / PARSE_STATE
    if not state.exists():
        target.mkdir(parents=True, exist_ok=True)
        durable.write(state, (parsed / PARSE_STATE).read_bytes())


@functools.lru_cache(maxsize=2)
def _read(manifest: Path) -> dict[str, Any]:
    return json.loads(manifest.read_bytes())


def project(home: Path) -> dict[str, Any]:
    """dbt's manifest of the project as it is now (of some megabytes, so it is kept: its folder's name says what is in it)."""
    return _read(parsed_project(home) / MANIFEST)
