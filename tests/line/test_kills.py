"""SIGKILL at drawn instants of landing, election and build, and publish: the next refresh ends in the bytes of a clean one.

Half of the kills take the whole process group, half only the refresh itself, so that what it started must notice. Some
refreshes that follow a kill are killed too before one may end. Between a kill and the next refresh a reader finds whole tables
of the publication before or of the one after, or no publication yet. Each commit draws four of the instants.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tests import nightly
from tests.conftest import Command
from tests.line.instants import Instant, draw, killed_in_turn, sign_of
from tests.line.kit import NOW, date_files, day_of_hours, published_bytes, tree, write_small_exports
from tests.oracle.builders import Exports, carbon, hour, run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0  # until a phase must have begun, on a machine that does much else
LINGER = 15.0  # how long what the refresh started may outlive it
CSV_PAYER = "000011114444"
INSTANTS = draw()
TURNS = killed_in_turn(INSTANTS)
AT_EVERY_COMMIT = 4  # of the 25; `make nightly PART=kills` has all


@dataclass(frozen=True)
class Stage:
    """A place for refreshes, what it looks like before each kill, and what a clean refresh makes of it."""

    place: Path  # always the same, so that the parsed dbt project in its cache stays valid
    before: Path
    old: dict[str, str]
    old_tables: dict[str, str]
    new: dict[str, str]
    new_tables: dict[str, str]
    landed: dict[str, str]

    @property
    def home(self) -> Path:
        return self.place / "home"

    def reset(self, is_first_refresh: bool) -> None:
        shutil.rmtree(self.place)
        ignored = shutil.ignore_patterns("home") if is_first_refresh else None
        shutil.copytree(self.before, self.place, symlinks=True, ignore=ignored)


def news(exports: Exports) -> None:
    """April again with other prices, a month more, carbon and run records that follow."""
    tag = {"user_training_run_id": "run-a"}
    exports.bill(
        [*day_of_hours("i-tagged", 20.25, resource_tags=tag), *day_of_hours("i-shared", 20.25), *day_of_hours("i-idle", 20.25)]
    )
    exports.bill([hour(f"2026-05-03T{at:02d}:00:00", 19.0, line_item_resource_id="i-may") for at in range(6)], period="2026-05")
    other = {"bill_payer_account_id": CSV_PAYER, "line_item_usage_account_id": CSV_PAYER, "resource_tags": tag}
    exports.csv_bill([hour(f"2026-04-05T{at:02d}:00:00", 3.3, **other) for at in range(5)])
    exports.carbon([carbon(0.1, 0.02)])
    exports.carbon([carbon(0.2, 0.03, usage_period_start=datetime(2026, 5, 1))], period="2026-05")  # noqa: DTZ001
    exports.runs(run("run-may", ("i-may", "2026-05-03T00:00:00Z", "2026-05-03T04:20:00Z", None)))
    exports.config()
    for name in ("cur", "cur-csv", "carbon"):
        date_files(exports.folder / "exports" / name, datetime(2026, 6, 10, tzinfo=UTC))
    for record in (exports.folder / "exports/runs").glob("record-3*"):
        os.utime(record, (1781000000, 1781000000))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Stage:
    base = tmp_path_factory.mktemp("kills")
    place, before = base / "place", base / "before"
    place.mkdir()
    exports = write_small_exports(place)
    refresh(place, trainledger)
    old, old_tables = published_bytes(place / "home"), tables_read(place / "home")
    news(exports)
    shutil.copytree(place, before, symlinks=True)
    refresh(place, trainledger)
    new, new_tables = published_bytes(place / "home"), tables_read(place / "home")
    assert len(new) > len(old) > 10
    assert all(new_tables[name] != old_tables[name] for name in ("fct_run_cell_costs", "fct_residual_emissions"))
    return Stage(place, before, old, old_tables, new, new_tables, tree(place / "home/landing"))


def refresh(place: Path, trainledger: Command) -> None:
    done = trainledger("refresh", "--config", place / "trainledger.yaml", now=NOW)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"


def tables_read(home: Path) -> dict[str, str]:
    """A hash of all rows of each table, as a reader of the published file finds them."""
    with duckdb.connect(str(home / "published/trainledger.duckdb"), read_only=True) as connection:
        names = [
            name
            for (name,) in connection.execute("select table_name from duckdb_tables() where schema_name = 'marts'").fetchall()
        ]
        return {
            name: hashlib.sha256(
                repr(connection.execute(f"select * from marts.{name} order by all").fetchall()).encode()
            ).hexdigest()
            for name in names
        }


def living(group: int) -> list[int]:
    """Processes of a group that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, process_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except (FileNotFoundError, ProcessLookupError):  # it ended while we looked
                continue
            if int(process_group) == group and state not in "ZX":
                found.append(int(entry.name))
    return found


def assert_ended(group: int) -> None:
    """Nothing of a killed refresh lives on; Dagster's keepers of its captured output look for their parent once a second."""
    until = time.monotonic() + LINGER
    while left := living(group):
        assert time.monotonic() < until, f"processes {left} of the killed refresh live on"
        time.sleep(0.05)


@pytest.fixture
def refresh_under_way(stage: Stage) -> Iterator[Callable[[], subprocess.Popen]]:
    """Start `trainledger refresh` in a process group of its own; what is left of it ends with the test."""
    started: list[subprocess.Popen] = []

    def start() -> subprocess.Popen:
        command = [sys.executable, "-c", "from dagster_project.cli import app; app()", "refresh", "--config"]
        with (stage.place / "killed.log").open("w") as log:
            process = subprocess.Popen(
                [*command, str(stage.place / "trainledger.yaml")],
                stdout=log, stderr=log, start_new_session=True, cwd=ROOT, env=os.environ | {"TRAINLEDGER_NOW": NOW},
            )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        for left in living(process.pid):
            os.kill(left, signal.SIGKILL)
        process.wait()


def kill_at(instant: Instant, process: subprocess.Popen, has_come: Callable[[], bool], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not has_come():
        assert process.poll() is None, f"it ended before {instant}\n{log.read_text()}"
        assert time.monotonic() < until, f"{instant} never came\n{log.read_text()}"
        time.sleep(0.0005)
    time.sleep(instant.delay)
    if instant.is_parent_only:
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, f"it ended before the kill\n{log.read_text()}"


def test_25_instants_are_drawn_in_three_phases() -> None:
    assert len(INSTANTS) == 25 == len({str(instant) for instant in INSTANTS})
    assert {instant.phase for instant in INSTANTS} == {"landing", "build", "publish"}
    assert any(instant.is_parent_only and instant.marker == "written" for instant in INSTANTS)
    assert sorted(map(str, INSTANTS)) == sorted(str(instant) for turn in TURNS for instant in turn)
    assert {turn[0].phase for turn in TURNS if len(turn) == 1} == {"landing", "build", "publish"}


@pytest.mark.parametrize(
    "turn", killed_in_turn(nightly.drawn(AT_EVERY_COMMIT, INSTANTS)), ids=lambda turn: ",".join(map(str, turn))
)
def test_after_a_kill_the_next_refresh_ends_in_the_same_bytes(
    turn: list[Instant], stage: Stage, refresh_under_way: Callable[[], subprocess.Popen], trainledger: Command
) -> None:
    stage.reset(turn[0].is_first_refresh)
    processes = []
    for instant in turn:
        has_come = sign_of(instant, stage.home)
        processes.append(refresh_under_way())
        kill_at(instant, processes[-1], has_come, stage.place / "killed.log")
        assert_whole_tables(stage, instant)

    refresh(stage.place, trainledger)
    assert published_bytes(stage.home) == stage.new
    assert tables_read(stage.home) == stage.new_tables
    for process in processes:
        assert_ended(process.pid)
    assert_tidy(stage, turn[-1])


def assert_whole_tables(stage: Stage, instant: Instant) -> None:
    """A reader finds the publication before or the one after, or none where there was none."""
    if (stage.home / "published/trainledger.duckdb").exists():
        assert tables_read(stage.home) in (
            [stage.new_tables] if instant.is_first_refresh else [stage.old_tables, stage.new_tables]
        )
        assert published_bytes(stage.home) in ([{}, stage.new] if instant.is_first_refresh else [stage.old, stage.new])
    else:
        assert instant.is_first_refresh


def assert_tidy(stage: Stage, instant: Instant) -> None:
    """Nothing of the killed refresh is left in what the line keeps."""
    home = stage.home
    if not instant.is_first_refresh:
        assert tree(home / "landing") == stage.landed
    assert not any((home / "landing/.staging").iterdir())
    assert not (home / "building.json").exists()
    # killed after the commit record nothing is left to do, and a refresh without work writes nothing: the note of the dead
    # holder stays until the next writer. The lock itself is the operating system's.
    note = home / ".writer.json"
    assert not note.exists() or not Path(f"/proc/{json.loads(note.read_bytes())['pid']}").exists()
    entries = sorted(path.name for path in (home / "published").iterdir())
    assert len([name for name in entries if name.startswith(".parquet-")]) == 1
    others = [name for name in entries if not name.startswith(".parquet-") and name not in ("docs", "ledger")]
    assert others == ["PUBLICATION.json", "parquet", "trainledger.duckdb"]
