"""A small line, refreshed once for all tests of this folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from run_side_kit import RECORD, write_config

from tests.conftest import built_once

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed clock; what a refresh sets for its own process is undone after the test."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-10-10T00:00:00Z")
    for name in ("DAGSTER_HOME", "TRAINLEDGER_DUCKDB_PATH", "TRAINLEDGER_BUILD_FOLDER"):
        monkeypatch.setenv(name, "")


@pytest.fixture(scope="session")
def refreshed(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A line with one run record, refreshed once in a process of its own; shared by all workers, so tests only read it."""

    def build(folder: Path) -> None:
        config = write_config(folder)
        (config.parent / "runs" / "a.run.json").write_text(json.dumps(RECORD))
        command = [sys.executable, "-m", "dagster_project.cli", "refresh", "--config", str(config), "--json"]
        environment = {**os.environ, "TRAINLEDGER_NOW": "2026-10-10T00:00:00Z"}
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
        assert ended.returncode == 0 and "Published build" in ended.stderr, ended.stderr
        (folder / "refresh.json").write_text(ended.stdout)

    return built_once(tmp_path_factory, request.config, "small-line", build) / "trainledger.yaml"


@pytest.fixture
def config(refreshed: Path, tmp_path: Path, surroundings: None) -> Path:
    """A copy of the refreshed line, to be changed."""
    shutil.copytree(refreshed.parent, tmp_path / "line", symlinks=True)
    return tmp_path / "line" / refreshed.name
