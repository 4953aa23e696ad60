"""The same deliveries give the same bytes: again, from nothing, in another order, on one thread or two, as once published."""

from __future__ import annotations

import copy
import os
import resource
import shutil
import stat
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import NOW, date_files, day_of_hours, published_bytes, query, stamps, write_small_exports
from tests.oracle.builders import Exports, run

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
LOADED = """
import sys
from dagster_project.cli import app
try:
    app(["refresh", "--config", {config!r}])
except SystemExit as end:
    assert not end.code, end.code
engines = ("dagster", "dbt", "duckdb", "polars", "pyarrow", "great_expectations")
print("LOADED", [name for name in engines if name in sys.modules])
"""


def loaded_by_a_refresh(config: Path, **environment: str) -> str:
    """Which engines a refresh in a process of its own imports."""
    command = [sys.executable, "-c", LOADED.format(config=str(config))]
    environment |= {"TRAINLEDGER_NOW": NOW}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT).stdout


def children_seconds() -> float:
    """Processor seconds of the processes this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Exports:
    """The small organisation, refreshed once."""
    exports = write_small_exports(tmp_path_factory.mktemp("refreshed"))
    before = os.umask(0)  # a shell that lets everybody write
    try:
        assert trainledger("refresh", "--config", exports.folder / "trainledger.yaml", now=NOW).returncode == 0
    finally:
        os.umask(before)
    return exports


@pytest.fixture
def small(refreshed: Exports, tmp_path: Path) -> Exports:
    """A copy of it, times of files included, for a test to change."""
    shutil.copytree(refreshed.folder, tmp_path, symlinks=True, dirs_exist_ok=True)
    copied = copy.copy(refreshed)
    copied.folder = tmp_path
    return copied


def test_a_refresh_that_finds_nothing_new_writes_nothing_and_loads_no_engine(
    small: Exports, tmp_path: Path, trainledger: Command
) -> None:
    config = tmp_path / "trainledger.yaml"
    before = stamps(tmp_path)
    spent = children_seconds()
    again = trainledger("refresh", "--config", config, now=NOW)
    assert again.returncode == 0, again.stderr
    assert "Nothing is new" in again.stdout + again.stderr
    assert children_seconds() - spent <= 3  # processor seconds: the machine may be busy with other things
    assert stamps(tmp_path) == before
    assert "LOADED []" in loaded_by_a_refresh(config, PATH="")


def test_a_run_record_is_landed_built_and_published_without_great_expectations(small: Exports, tmp_path: Path) -> None:
    small.runs(run("run-d", ("i-idle", "2026-04-06T00:00:00Z", "2026-04-06T01:00:00Z", 16)))
    loaded = loaded_by_a_refresh(tmp_path / "trainledger.yaml", **os.environ)
    assert query(tmp_path / "home", "select count(*) from marts.dim_training_runs where training_run_id = 'run-d'") == [(1,)]
    assert "'duckdb'" in loaded and "great_expectations" not in loaded


def modes_of(home: Path) -> dict[str, set[str]]:
    """Modes of folders and files in a home, by the part of it they are in."""
    found: dict[str, set[str]] = {}
    for path in [home, *home.rglob("*")]:
        if not path.is_symlink():
            place = path.relative_to(home).parts[0] if path != home else "home"
            found.setdefault(place, set()).add(f"{'d' if path.is_dir() else ''}{stat.S_IMODE(path.stat().st_mode):o}")
    return found


def test_a_home_is_its_owners_alone_but_for_what_is_published(refreshed: Exports) -> None:
    found = modes_of(refreshed.folder / "home")
    assert found.pop("home") == {"d711"}
    assert found.pop("published") == {"d750", "640"}
    assert found.pop("reports") == {"d750"}
    assert found.pop("cache") <= {"d700", "600", "700"}  # 700: the program that starts dbt
    assert found.keys() >= {"landing", "build.duckdb"}
    assert set().union(*found.values()) == {"d700", "600"}


def test_a_refresh_without_news_mends_modes_and_forgets_a_killed_writer(
    small: Exports, tmp_path: Path, trainledger: Command
) -> None:
    home, config = tmp_path / "home", tmp_path / "trainledger.yaml"
    for path in [home, *home.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o777 if path.is_dir() else 0o666)
    (home / "reports" / "2026Q2").mkdir()
    (home / ".writer.json").write_text('{"name": "ana", "pid": 1, "command": "trainledger refresh"}')
    config.write_text(config.read_text() + "publish_mode: 0644\n")
    before = os.umask(0o077)
    try:
        again = trainledger("refresh", "--config", config, now=NOW)
    finally:
        os.umask(before)
    assert again.returncode == 0 and "Nothing is new" in again.stderr
    assert not (home / ".writer.json").exists()
    found = modes_of(home)
    assert found.pop("home") == {"d755"}  # a list of names was allowed and stays so
    assert found.pop("published") == {"d755", "644"} and found.pop("reports") == {"d755"}
    assert set().union(*found.values()) <= {"d700", "600", "700"}


def test_a_full_rebuild_and_another_number_of_threads_give_the_same_bytes(
    small: Exports, tmp_path: Path, trainledger: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, home = tmp_path / "trainledger.yaml", tmp_path / "home"
    first = published_bytes(home)
    assert len(first) > 10
    monkeypatch.setenv("TRAINLEDGER_THREADS", "2" if os.environ.get("TRAINLEDGER_THREADS") == "1" else "1")
    assert trainledger("refresh", "--full", "--config", config, now=NOW).returncode == 0
    assert published_bytes(home) == first


def deliver_may(folder: Path) -> None:
    """A bill of May beside the small organisation's exports."""
    exports = Exports(folder)
    exports.bill(day_of_hours("i-tagged", 20.0, "2026-05", resource_tags={"user_training_run_id": "run-a"}), period="2026-05")
    for path in (folder / "exports/cur").rglob("*2026-05*"):
        date_files(path, datetime(2026, 5, 20, 12, tzinfo=UTC))  # a day after April a month without manifest is a finding


def test_the_order_of_deliveries_and_rebuilding_one_month_leave_no_trace(
    small: Exports, tmp_path: Path, trainledger: Command
) -> None:
    """May arrives after April in one home, before it in another, and both at once in a third."""

    def published(home: Path) -> dict[str, str]:
        done = trainledger("refresh", "--config", home / "trainledger.yaml", now=NOW)
        assert done.returncode == 0, done.stderr
        return published_bytes(home / "home")

    deliver_may(tmp_path)
    both, late_april = tmp_path / "both", tmp_path / "late-april"
    for home in (both, late_april):
        shutil.copytree(tmp_path / "exports", home / "exports")
        shutil.copy(tmp_path / "trainledger.yaml", home)
    expected = published(both)
    assert published(tmp_path) == expected, "May arrived last"
    held_back = tmp_path / "held-back"
    shutil.move(late_april / "exports/cur/metadata/BILLING_PERIOD=2026-04", held_back)  # no manifest, no delivery
    assert published(late_april) != expected
    shutil.move(held_back, late_april / "exports/cur/metadata/BILLING_PERIOD=2026-04")
    assert published(late_april) == expected, "April arrived last"


def test_a_late_run_record_moves_cost_from_idle_to_the_run_and_nothing_else(
    small: Exports, tmp_path: Path, trainledger: Command
) -> None:
    config, home = tmp_path / "trainledger.yaml", tmp_path / "home"
    total = """
        select sum(effective_cost)
        from (select effective_cost from marts.fct_run_cell_costs union all select effective_cost from marts.fct_residual_costs)
    """
    before = query(home, total)
    assert query(home, "select count(*) from marts.fct_training_run_costs where training_run_id = 'late'") == [(0,)]
    small.runs(run("late", ("i-idle", "2026-04-02T00:00:00Z", "2026-04-02T12:00:00Z", None)))
    assert trainledger("refresh", "--config", config, now=NOW).returncode == 0
    assert query(home, total) == before
    assert query(home, "select sum(effective_cost) from marts.fct_training_run_costs where training_run_id = 'late'") == [
        (Decimal("258"),)
    ]


def test_as_published_before_a_restatement_gives_the_old_numbers(tmp_path: Path, trainledger: Command) -> None:
    exports = Exports(tmp_path)
    tag = {"user_training_run_id": "run-a"}
    exports.bill(
        day_of_hours("i-tagged", 20.0, resource_tags=tag),
        execution="2026-05-03T00:00:00.000Z-11111111-1111-4111-8111-111111111111",
    )
    exports.bill(
        day_of_hours("i-tagged", 19.0, resource_tags=tag),
        execution="2026-06-05T00:00:00.000Z-22222222-2222-4222-8222-222222222222",
    )
    config, home = exports.config(), tmp_path / "home"
    assert trainledger("refresh", "--config", config, now=NOW).returncode == 0
    new = query(home, "select sum(effective_cost) from marts.fct_training_run_costs")
    assert new == [(Decimal("456"),)]
    before = stamps(home / "published")
    made = trainledger(
        "report", "quarterly", "--quarter", "2026Q2", "--as-published", "2026-06-01T00:00:00Z", "--config", config, now=NOW
    )
    assert made.returncode == 0, made.stderr
    [old_home] = (home / "asof").iterdir()
    assert query(old_home, "select sum(effective_cost) from marts.fct_training_run_costs") == [(Decimal("480"),)]
    assert stamps(home / "published") == before
