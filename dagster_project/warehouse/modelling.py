"""The dbt project as a thing that can be run: where it is, its manifest and compiled SQL, its environment, one command of dbt.

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

import msgspec

from dagster_project.base import durable
from dagster_project.base.dbt_project import PACKAGED, files_hash, project_folder, project_hash, shared_target
from dagster_project.base.failures import MachineError, TrainledgerError
from dagster_project.base.kinds import built_kinds
from dagster_project.landing.deriving.measures import ROW_COUNT
from dagster_project.settings import MEMORY_LIMIT
from dagster_project.warehouse.dbt_process import LAY_OUT
from dagster_project.warehouse.raw_tables import TABLES, fill

MANIFEST = "manifest.json"  # of dbt's: nodes and sources, without when and where they were parsed
PARSE_STATE = "partial_parse.msgpack"  # dbt's own memory of a parsed project: with it dbt does not parse again
COMPILED = "compiled.json"
SHIPPED = PACKAGED / "target" / "shipped"  # in a wheel: what was laid out when it was made
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
        "PYTHONHASHSEED": "0",  # what a model reads is listed in the order of a set: one project is laid out in the same bytes
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


def laid_out_folder(home: Path) -> Path:
    """Where the project as it is now lies once it is laid out."""
    shelf = shared_target() or home / "cache"
    made_of = f"{project_hash()}{_versions()}{_connectors_hash()}"
    return shelf / f"laid-out-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"


def _is_in_work(work: Path) -> bool:
    number = work.name.split("-")[2]
    return number.isdigit() and durable.is_alive(int(number))


def laid_out(home: Path) -> Path:
    """The folder with manifest, parse state and compiled SQL of the project as it is now, never of a build.

    Parsing and compiling cost seconds, so in a checkout all homes share one in the project's own target folder. A wheel
    is left as it is: there each home keeps its own in its cache, a copy of what the wheel carries for the versions it was made
    with. It appears whole or not at all; the one before it goes.
    """
    folder = laid_out_folder(home)
    shelf = folder.parent
    if folder.exists():
        return folder
    shelf.mkdir(parents=True, exist_ok=True)
    outdated = list(shelf.glob("laid-out-*"))
    outdated += [work for work in shelf.glob(".laying-out-*") if not _is_in_work(work)]
    with tempfile.TemporaryDirectory(prefix=f".laying-out-{os.getpid()}-", dir=shelf) as work:
        whole = Path(work) / "whole"
        if (shipped := SHIPPED / folder.name).exists():
            shutil.copytree(shipped, whole)
        else:
            _lay_out(Path(work), whole)
        try:
            whole.rename(folder)
        except OSError:
            if not folder.exists():  # else another process laid the same project out meanwhile
                raise
    for old in outdated:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _lay_out(target: Path, whole: Path) -> None:
    """Have dbt parse and compile the project in a folder without data; nothing of what is kept tells when or where."""
    _with_every_measure(target / "build.duckdb")
    done = run_dbt([LAY_OUT], target / "build.duckdb", target)
    if done.returncode != 0:
        raise ModelsError(f"dbt does not parse or compile the project: {_last_lines(done)}", where=str(project_folder()))
    whole.mkdir()
    (target / PARSE_STATE).rename(whole / PARSE_STATE)
    manifest = json.loads((target / MANIFEST).read_bytes())
    of_project = {part: {key: _anywhere(node) for key, node in sorted(manifest[part].items())} for part in ("nodes", "sources")}
    results = json.loads((target / "run_results.json").read_bytes())["results"]
    texts = {result["unique_id"]: result["compiled_code"] for result in results if result["compiled_code"]}
    for name, document in ((MANIFEST, of_project), (COMPILED, dict(sorted(texts.items())))):
        durable.write(whole / name, msgspec.json.encode(document))


def _anywhere(node: dict[str, Any]) -> dict[str, Any]:
    """What a node is on every machine, without what nothing here asks: every refresh reads all nodes."""
    left_out = ("created_at", "root_path", "raw_code", "unrendered_config")
    kept = {name: value for name, value in node.items() if name not in left_out}
    asked = ("name", "description", "data_type", "constraints")
    columns = {name: {key: column[key] for key in asked if key in column} for name, column in node.get("columns", {}).items()}
    return {**kept, "columns": columns}


def ship(to: Path) -> None:
    """Put what a wheel carries into a new folder: the project laid out, without dbt's parse state, which names this machine."""
    folder = laid_out(to)
    shutil.rmtree(to, ignore_errors=True)
    (to / folder.name).mkdir(parents=True)
    for name in (MANIFEST, COMPILED):
        shutil.copy(folder / name, to / folder.name / name)


def _with_every_measure(file: Path) -> None:
    """A build file with every measure and no table of a build: what one test is written out by."""
    import duckdb

    with duckdb.connect(str(file)) as connection:
        connection.execute("create schema raw")
        rows = [("", kind, "", "", name, of_type, decimals, 0, "") for kind, name, of_type, decimals in _measures()]
        fill(connection, "raw.measure_totals", TABLES["measure_totals"], rows)


@functools.cache
def _connectors_hash() -> str:
    """Of the code that declares the measures: importing a hundred modules to ask them costs ten times as much."""
    import connectors

    root = Path(connectors.__file__).parent
    return files_hash(root, sorted(root.rglob("*.py")))


@functools.cache
def _measures() -> list[tuple[str, str, str, int]]:
    """Kind, name, type and decimals of every declared measure, and of the rows themselves."""
    from connectors.registry import connector_for

    found: list[tuple[str, str, str, int]] = []
    for kind in map(str, built_kinds()):
        schema = connector_for(kind).SCHEMA
        found += [(kind, one.name, one.type, schema.measures[one.name]) for one in schema if one.name in schema.measures]
        found.append((kind, *ROW_COUNT))
    return found


@functools.cache
def _versions() -> str:
    return "".join(metadata.version(name) for name in ("dbt-core", "dbt-duckdb"))


def lend_parse_state(home: Path, target: Path) -> None:
    """Give a target folder that dbt has not used yet the parse state, where there is one, so that dbt need not parse in it."""
    state, kept = target / PARSE_STATE, laid_out(home) / PARSE_STATE
    if kept.exists() and not state.exists():
        target.mkdir(parents=True, exist_ok=True)
        durable.write(state, kept.read_bytes())


@functools.lru_cache(maxsize=4)
def _read(document: Path) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(document.read_bytes())  # in a third of the time that json takes for megabytes
    return found


def project(home: Path) -> dict[str, Any]:
    """dbt's manifest of the project as it is now (of some megabytes, so it is kept: its folder's name gives what is in it)."""
    return _read(laid_out(home) / MANIFEST)


def compiled(home: Path) -> dict[str, str]:
    """The SELECT of every model and test by unique id, as dbt compiles it."""
    return _read(laid_out(home) / COMPILED)
