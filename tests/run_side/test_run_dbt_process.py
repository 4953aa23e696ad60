"""dbt never outlives who started it: a killed refresh must leave nobody who writes the build file."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dagster_project import modelling

STARTER = """
import subprocess, sys
child = subprocess.Popen([sys.argv[1], "--version"], env={"PATH": "", "PYTHONPATH": sys.argv[2]})
print(child.pid, flush=True)
child.wait()
"""
# stands in for dbt: says that it runs, and goes on
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


def test_half_a_manifest_of_a_killed_build_is_not_taken_for_the_project_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every dbt build writes manifest.json in place; Dagster's assets come from a copy that only a rename replaces."""
    parsed: list[list[str]] = []

    def parse(arguments: list[str], build_file: Path, target: Path) -> subprocess.CompletedProcess[str]:
        parsed.append(arguments)
        target.mkdir(parents=True, exist_ok=True)
        (target / "manifest.json").write_text('{"nodes": {}}')
        return subprocess.CompletedProcess(arguments, 0, "", "")

    monkeypatch.setattr(modelling, "run_dbt", parse)
    manifest = modelling.ensure_manifest(tmp_path)
    (manifest.parent / "manifest.json").write_text('{"nodes"')
    assert modelling.read_manifest(modelling.ensure_manifest(tmp_path)) == {"nodes": {}}
    assert parsed == [["parse"]]
