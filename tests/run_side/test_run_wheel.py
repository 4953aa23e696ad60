"""The wheel: built from the source distribution, installed from the lock into an empty environment, used outside any clone."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from run_side_kit import RECORD, write_config

from tests.browser import free_port
from tests.interpreters import interpreter, surroundings

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
THIS = "{}.{}".format(*sys.version_info)
OTHERS = [version for version in ("3.11", "3.12", "3.13") if version != THIS]
IMPORT_ALL = """
import importlib, pkgutil, sys
for name in ("connectors", "dagster_project", "reports", "trainledger_recorder"):
    package = importlib.import_module(name)
    assert package.__file__.startswith(sys.prefix), package.__file__
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        # a command, and what the extra `mcp` is for
        if not module.name.endswith(".__main__") and module.name != "dagster_project.commands.mcp_server":
            importlib.import_module(module.name)
"""


def run(*command: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that must succeed, with nothing of this clone or its environment in its own."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, cwd=cwd, env=surroundings(**environment)
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, by way of the source distribution, with the locked build tools."""
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "-q", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


def install(wheel: Path, version: str, folder: Path) -> Path:
    """An environment with the lock and the wheel and nothing else; returns its folder of programs."""
    environment, lock = folder / "environment", ROOT / "requirements" / "run.lock"
    run(UV, "venv", "-q", "--python", interpreter(version), environment, cwd=folder)
    into = ("--python", environment / "bin" / "python")
    run(UV, "pip", "install", "-q", *into, "--require-hashes", "-r", lock, cwd=folder)
    run(UV, "pip", "install", "-q", *into, "--no-index", "--no-deps", wheel, cwd=folder)
    run(UV, "pip", "check", "-q", *into, cwd=folder)
    return environment / "bin"


def linked(source: str, target: str) -> None:
    """A second name of a file; where the folders are on two disks, a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def lend_bytecode(programs: Path) -> Path:
    """What these tests' environment compiled of the same packages, so that not every program compiles them again: bytecode holds
    for a source of the same time and size, and is made anew otherwise."""
    ours, theirs = Path(sysconfig.get_path("purelib")), next(programs.parent.glob("lib/python*/site-packages"))
    for cache in ours.rglob("__pycache__"):
        if (package := theirs / cache.relative_to(ours).parent).is_dir():
            shutil.copytree(cache, package / cache.name, copy_function=linked, dirs_exist_ok=True)
    return programs


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of the installed wheel, on the Python of these tests."""
    return lend_bytecode(install(wheel, THIS, tmp_path_factory.mktemp("installed")))


@pytest.fixture(scope="module")
def refreshed(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A line with one run record, refreshed by the installed program; returns its configuration."""
    config = write_config(tmp_path_factory.mktemp("organisation"))
    (config.parent / "runs" / "a.run.json").write_text(json.dumps(RECORD))
    run(programs / "trainledger", "refresh", cwd=config.parent, TRAINLEDGER_NOW="2026-10-10T00:00:00Z")
    return config


def installed_files(programs: Path) -> Iterator[Path]:
    package = next(programs.parent.glob("lib/python*/site-packages/dagster_project"))
    return (path for path in package.rglob("*") if "__pycache__" not in path.parts)


def test_a_refresh_of_the_installed_wheel_publishes_and_leaves_the_package_as_it_was(programs: Path, refreshed: Path) -> None:
    home = refreshed.parent / "home"
    with duckdb.connect(str(home / "published" / "trainledger.duckdb"), read_only=True) as connection:
        found = connection.execute("select recorded_id, tokens from marts.dim_training_runs").fetchall()
    assert found == [("Run A", 1000)]
    files = list(installed_files(programs))
    assert any(path.name == "dbt_project.yml" for path in files)
    assert not [path for path in files if "target" in path.parts or path.name in ("logs", ".user.yml")]
    assert len(list((home / "cache").glob("laid-out-*"))) == 1


def test_the_wheel_holds_the_dbt_project_and_the_licence_and_nothing_that_dbt_wrote(programs: Path) -> None:
    packaged = next(path for path in installed_files(programs) if path.name == "dbt_files")
    ours = run("git", "ls-files", "dbt", cwd=ROOT).stdout.split() if (ROOT / ".git").exists() else None
    found = sorted(f"dbt/{path.relative_to(packaged).as_posix()}" for path in packaged.rglob("*") if path.is_file())
    assert ours is None or found == sorted(ours)
    assert not [name for name in found if name.endswith(".py")]
    assert list(packaged.parent.parent.glob("trainledger-*.dist-info/licenses/LICENSE"))


def test_the_installed_program_reports(programs: Path, refreshed: Path) -> None:
    done = run(programs / "trainledger", "report", "quarterly", "--quarter", "2026Q2", cwd=refreshed.parent)
    html = Path(done.stdout.strip())
    assert html.is_relative_to(refreshed.parent / "home" / "reports") and "Example AG" in html.read_text()


def test_the_installed_program_runs_dbt_by_hand(programs: Path, refreshed: Path) -> None:
    done = run(programs / "trainledger", "dbt", "--", "ls", "--resource-type", "seed", cwd=refreshed.parent)
    assert "trainledger.pue" in done.stdout


@pytest.mark.nightly
def test_the_installed_program_shows_its_pages(programs: Path, refreshed: Path) -> None:
    command = [str(programs / "trainledger"), "ui", "--port", str(port := free_port())]
    page = f"http://127.0.0.1:{port}/server_info"
    with subprocess.Popen(command, cwd=refreshed.parent, env=surroundings(), stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(240):
                try:
                    with urllib.request.urlopen(page, timeout=5) as answer:
                        assert "dagster_version" in json.load(answer)
                        break
                except OSError:
                    assert server.poll() is None
                    time.sleep(0.5)
            else:
                pytest.fail("the pages did not come within two minutes")
        finally:
            server.send_signal(signal.SIGTERM)


def imports_everything(programs: Path, folder: Path) -> None:
    config = write_config(folder)
    run(programs / "python", "-c", IMPORT_ALL, cwd=folder, TRAINLEDGER_CONFIG=str(config))
    assert "What did this training run cost" in run(programs / "trainledger", "--help", cwd=folder).stdout
    run(programs / "trainledger", "init", "--aws", "--google", "--config", folder / "started.yaml", cwd=folder)
    assert all((folder / "deploy" / provider / "main.tf").exists() for provider in ("aws", "google"))


def test_every_module_can_be_imported(programs: Path, tmp_path: Path) -> None:
    imports_everything(programs, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("version", OTHERS)
def test_every_module_can_be_imported_on_the_other_pythons(version: str, wheel: Path, tmp_path: Path) -> None:
    imports_everything(install(wheel, version, tmp_path), tmp_path)
