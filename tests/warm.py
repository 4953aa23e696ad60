"""`trainledger ...` inside this process, for tests in which no process is what is tested.

A command of its own loads Great Expectations, pandas, dbt and its parsed project each time: half of what the refresh of a small
organisation costs. Here they are loaded once per worker. dbt's manifest is kept for as long as the project's files are the same,
and some 4,000 events of a build that nobody would see are not made; everything else of a command runs as it does for a user.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import parsedatetime
from jinja2 import Environment

from dagster_project.dbt_project import project_folder, project_hash
from dagster_project.warehouse import dbt_process, modelling

_manifests: dict[str, Any] = {}
_templates: dict[tuple[type, str], Any] = {}
_calendar_words = functools.cache(parsedatetime.Constants)


def run_trainledger(*arguments: object, now: str | None = None) -> subprocess.CompletedProcess[str]:
    """What the command would print and return; `now` fixes its clock."""
    from dagster_project.cli import app

    words = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    told = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with _surroundings({"TRAINLEDGER_NOW": now} if now else {}), warm_dbt(), told[0], told[1]:
        try:
            app(words)
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return subprocess.CompletedProcess(["trainledger", *words], code, out.getvalue(), err.getvalue())


def _compiled_once(self: Environment, source: Any, *others: Any) -> Any:
    """Jinja's compilation of a text, kept: the models of the next refresh are the same texts, and what they read comes later."""
    if others or not isinstance(source, str):
        return Environment.compile(self, source, *others)
    if (key := (type(self), source)) not in _templates:
        _templates[key] = Environment.compile(self, source)
    return _templates[key]


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
def warm_dbt() -> Iterator[None]:
    """dbt in this process, and no word to Dagster, for whatever runs inside the block."""
    from dagster_project.assets import story

    kept = modelling.run_dbt, story.tell_refresh, story.tell_report
    modelling.run_dbt = run_dbt
    story.tell_refresh = story.tell_report = lambda *_: None  # tests/run_side/test_run_story.py asks what Dagster is told
    try:
        yield
    finally:
        modelling.run_dbt, story.tell_refresh, story.tell_report = kept


def run_dbt(
    arguments: list[str],
    build_file: Path,
    target: Path,
    on_node: Callable[[modelling.Finished], None] | None = None,
    memory_limit: str = modelling.MEMORY_LIMIT,
) -> subprocess.CompletedProcess[str]:
    """modelling.run_dbt without a process: the same command, project, profile and target folder."""
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner
    from dbt_common.clients.jinja import MacroFuzzEnvironment
    from dbt_common.events.base_types import DebugLevel

    project, told = str(project_folder()), io.StringIO()
    places = ["--project-dir", project, "--profiles-dir", project]
    kept = mock.patch.object(MacroFuzzEnvironment, "compile", _compiled_once)
    with _surroundings(modelling.environment(build_file, target, memory_limit)), kept, contextlib.redirect_stdout(told):
        os.chdir(build_file.parent)  # the profile names the build file without its folder
        gc.disable()  # as in the product's process of dbt; the heap of a worker is large
        try:
            if arguments[0] != "parse" and (key := project_hash()) not in _manifests:
                _manifests[key] = dbtRunner().invoke(["--quiet", "parse", *places]).result
            manifest = None if arguments[0] == "parse" else _manifests[key]
            # dbt_process.py drops debug events once dbt has made them, at 0.2 ms each; and agate asks its calendar's words anew
            # for each of a thousand columns
            unmade = mock.patch.object(DebugLevel, "__init__", lambda *_, **__: None)
            with unmade, mock.patch.object(parsedatetime, "Constants", _calendar_words):
                code = dbt_process.run([*arguments, *places], manifest)
        finally:
            DuckDBConnectionManager.close_all_connections()
            _forget_compiled(_manifests.get(project_hash()))
            gc.enable()
    if code == 2:
        raise modelling.ModelsError(f"dbt {arguments[0]} did not work: {told.getvalue()[-4000:]}", where=project)
    return subprocess.CompletedProcess(arguments, code, "", "")


def _forget_compiled(manifest: Any) -> None:
    """A node remembers that ephemeral models were written into it, but its text is laid out anew: without them."""
    for node in manifest.nodes.values() if manifest else ():
        if getattr(node, "extra_ctes", None):
            node.extra_ctes, node.extra_ctes_injected, node.compiled, node.compiled_code = [], False, False, None
