"""`trainledger dbt`: any dbt command on the build of a home, alone, and nothing it changes is published."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from run_side_kit import write_config

from tests.browser import open_page

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


def dbt(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, for dbt writes to the terminal itself."""
    command = [sys.executable, "-P", "-m", "dagster_project.cli", "dbt", "--config", str(config), "--", *arguments]
    environment = os.environ | {"TRAINLEDGER_NOW": "2026-10-10T00:00:00Z"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=config.parent, env=environment)


def test_help_and_version_need_no_build(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    done = dbt(config, "--version")
    assert done.returncode == 0 and "1.11.16" in done.stdout + done.stderr
    assert not (tmp_path / "home" / "building.json").exists()


def test_tables_that_were_never_built_are_reported_and_no_empty_file_is_left(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    done = dbt(config, "test")
    assert done.returncode == 2 and "nothing has been built yet" in done.stderr and "trainledger refresh" in done.stderr
    assert not (tmp_path / "home").exists()


def test_docs_in_one_file_lie_below_published_ask_no_network_and_leave_the_publication_current(config: Path) -> None:
    home = config.parent / "home"
    done = dbt(config, "docs", "generate", "--static")
    made, page = home / "cache" / "dbt-by-hand" / "static_index.html", home / "published" / "docs" / "dbt.html"
    assert done.returncode == 0 and "Catalog written" in done.stdout and str(page) in done.stderr, done.stderr
    catalog = json.loads(made.with_name("catalog.json").read_text())
    assert "model.trainledger.dim_training_runs" in catalog["nodes"]  # it saw the tables of the build
    assert page.read_bytes() == made.read_bytes()
    assert not (home / "building.json").exists()
    with open_page() as browser:
        asked: list[str] = []
        browser.on("request", lambda request: asked.append(request.url))
        browser.goto(page.as_uri())
        browser.get_by_text("Welcome to the auto-generated documentation").wait_for()
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_what_changes_tables_is_never_published_and_announced_before_it_starts(config: Path) -> None:
    home = config.parent / "home"
    done = dbt(config, "run", "--select", "dim_regions")
    assert done.returncode == 0 and "not published" in done.stderr, done.stdout + done.stderr
    assert json.loads((home / "building.json").read_text())["is_whole"] is False


def test_a_failed_test_is_exit_code_1_and_wrong_use_is_2(config: Path) -> None:
    with duckdb.connect(str(config.parent / "home" / "build.duckdb")) as build:
        build.execute("insert into marts.dim_training_runs from marts.dim_training_runs")
    failed = dbt(config, "test", "--select", "dim_training_runs")
    assert failed.returncode == 1 and "unique" in failed.stdout, failed.stdout + failed.stderr
    wrong = dbt(config, "ls", "--no-such-option")
    assert wrong.returncode == 2 and "no-such-option" in wrong.stdout + wrong.stderr


def test_another_writer_is_waited_for_or_named(config: Path) -> None:
    hold = "import sys; from pathlib import Path; from dagster_project.base.locking import writer_lock\n"
    hold += "with writer_lock(Path(sys.argv[1]), 'another'): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(config.parent / "home")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as other:
        assert other.stdout and other.stdout.readline() == "held\n"
        done = dbt(config, "ls")
        other.communicate("")
    assert done.returncode == 4 and "another" in done.stderr
