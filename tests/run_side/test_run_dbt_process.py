"""dbt never outlives who started it: a killed refresh must leave nobody who writes the build file."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dagster_project.base import dbt_project
from dagster_project.base.failures import MachineError
from dagster_project.warehouse import modelling

STARTER = """
import subprocess, sys
child = subprocess.Popen([sys.argv[1], "--version"], env={"PATH": "", "PYTHONPATH": sys.argv[2]})
print(child.pid, flush=True)
child.wait()
"""
# replaces dbt: states that it runs, and goes on
SLOW_DBT = "import time\n\ndef cli():\n    print('running', flush=True)\n    time.sleep(60)\n"


@pytest.mark.slow
def test_a_killed_parent_takes_dbt_with_it(tmp_path: Path) -> None:
    (tmp_path / "dbt" / "cli").mkdir(parents=True)
    for folder in ("dbt", "dbt/cli"):
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "dbt" / "cli" / "main.py").write_text(SLOW_DBT)
    launcher = modelling.dbt_executable(tmp_path / "target")
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(launcher), str(tmp_path)], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert starter.stdout
    child = int(starter.stdout.readline())
    assert starter.stdout.readline() == "running\n"
    starter.kill()
    starter.wait()
    deadline = time.monotonic() + 10
    while _is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_alive(child)


def _is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    if status.parent.parent.exists() and sys.platform == "linux":
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_launcher_is_written_once_and_names_this_python(tmp_path: Path) -> None:
    launcher = modelling.dbt_executable(tmp_path)
    written = launcher.stat().st_mtime_ns
    assert modelling.dbt_executable(tmp_path).stat().st_mtime_ns == written
    assert sys.executable in launcher.read_text() and os.access(launcher, os.X_OK)


# a wheel carries what is kept: the same bytes whoever laid it out, when and where
KEPT = {"nodes": {"model.m": {"name": "m", "columns": {}}}, "sources": {}}
MANIFEST = {
    "metadata": {"generated_at": "now"},
    "nodes": {"model.m": {"name": "m", "created_at": 1.5, "root_path": "/here"}},
    "sources": {},
}


@pytest.fixture
def parses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A project of one file, and where it was parsed; the first time dbt is interrupted."""
    monkeypatch.setattr(dbt_project, "PACKAGED", tmp_path / "project")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "model.sql").write_text("select 1")
    parsed: list[Path] = []

    def parse(arguments: list[str], build_file: Path, target: Path) -> subprocess.CompletedProcess[str]:
        assert arguments == ["lay-out"]
        parsed.append(target)
        (target / "manifest.json").write_text('{"nodes"' if len(parsed) == 1 else json.dumps(MANIFEST))
        if len(parsed) == 1:
            raise KeyboardInterrupt
        (target / "partial_parse.msgpack").touch()
        (target / "run_results.json").write_text('{"results": []}')
        return subprocess.CompletedProcess(arguments, 0, "", "")

    monkeypatch.setattr(modelling, "run_dbt", parse)
    return parsed


def test_a_project_is_parsed_once_for_all_homes_and_half_a_parse_is_not_taken(tmp_path: Path, parses: list[Path]) -> None:
    with pytest.raises(KeyboardInterrupt):
        modelling.project(tmp_path / "home")
    assert modelling.project(tmp_path / "home") == modelling.project(tmp_path / "other home") == KEPT
    assert len(parses) == 2


def test_a_changed_project_is_parsed_again_and_the_parse_of_the_old_one_goes(tmp_path: Path, parses: list[Path]) -> None:
    with pytest.raises(KeyboardInterrupt):
        modelling.project(tmp_path / "home")
    before = modelling.laid_out(tmp_path / "home")
    (tmp_path / "project" / "model.sql").write_text("select 2")
    dbt_project.hash_of.cache_clear()  # as another process would find it
    after = modelling.laid_out(tmp_path / "home")
    assert len(parses) == 3 and list(after.parent.iterdir()) == [after] != [before]


def test_what_a_killed_process_was_laying_out_goes_and_that_of_a_living_one_stays(tmp_path: Path, parses: list[Path]) -> None:
    shelf = modelling.laid_out_folder(tmp_path / "home").parent
    killed, living = (shelf / f".laying-out-{number}-x" for number in (2**22 + 1, os.getpid()))
    killed.mkdir(parents=True)
    living.mkdir()
    with pytest.raises(KeyboardInterrupt):
        modelling.laid_out(tmp_path / "home")
    assert {living, modelling.laid_out(tmp_path / "home")} == {*shelf.iterdir()}


def test_a_home_takes_what_its_wheel_carries_and_dbt_is_not_asked(
    tmp_path: Path, parses: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        modelling.laid_out(tmp_path / "home")
    modelling.ship(tmp_path / "shipped")
    monkeypatch.setattr(modelling, "SHIPPED", tmp_path / "shipped")
    shutil.rmtree(modelling.laid_out_folder(tmp_path / "home").parent)
    assert modelling.project(tmp_path / "home") == KEPT and modelling.compiled(tmp_path / "home") == {}
    assert len(parses) == 2
    modelling.lend_parse_state(tmp_path / "home", tmp_path / "target")  # a wheel has none: dbt parses by itself
    assert not (tmp_path / "target").exists()


def test_a_target_keeps_the_parse_state_it_has(tmp_path: Path, parses: list[Path]) -> None:
    with pytest.raises(KeyboardInterrupt):
        modelling.project(tmp_path / "home")
    target = tmp_path / "target"
    modelling.lend_parse_state(tmp_path / "home", target)
    (target / "partial_parse.msgpack").write_text("of a later build")
    modelling.lend_parse_state(tmp_path / "home", target)
    assert (target / "partial_parse.msgpack").read_text() == "of a later build"


@pytest.mark.slow
def test_what_keeps_dbt_from_working_is_reported_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(modelling.ModelsError, match="No such option '--nonsense'"):
        modelling.run_dbt(["list", "--nonsense"], tmp_path / "build.duckdb", tmp_path)
    with pytest.raises(modelling.ModelsError, match="does not have a target named 'nowhere'"):
        modelling.run_dbt(["list", "--target", "nowhere"], tmp_path / "build.duckdb", tmp_path)


def test_a_dbt_that_the_system_ends_is_a_matter_of_the_machine(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"dbt was ended from outside \(SIGKILL\), as the system does when memory is short"):
        modelling.run_process(["sh", "-c", "kill -9 $$"], ["build"], tmp_path / "build.duckdb", tmp_path)
