"""What the simulated disk sees, whichever library writes, and what a power cut forgets. Else a history would prove nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_project.base import clock, durable
from tests.simulation.disk import Disk

OPEN, RENAME, REMOVE = "open", "os.rename", "os.remove"
CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "pathlib writes": (lambda home: (home / "new").write_bytes(b"1"), [OPEN]),
    "a file is opened to append": (lambda home: (home / "old").open("a").close(), [OPEN]),
    "a descriptor is opened": (lambda home: os.close(os.open(home / "new", os.O_CREAT | os.O_WRONLY)), [OPEN]),
    "a file is touched": (lambda home: (home / "new").touch(), [OPEN]),
    "os renames": (lambda home: os.rename(home / "old", home / "new"), [RENAME]),  # noqa: PTH104
    "pathlib replaces": (lambda home: (home / "old").replace(home / "new"), [RENAME]),
    "pathlib removes": (lambda home: (home / "old").unlink(), [REMOVE]),
    "a folder is made": (lambda home: (home / "a/b").mkdir(parents=True), ["os.mkdir"] * 3),
    "a folder is removed": (lambda home: (home / "empty").rmdir(), ["os.rmdir"]),
    "shutil removes a tree": (lambda home: shutil.rmtree(home / "full"), [REMOVE, "os.rmdir"]),
    "shutil copies": (lambda home: shutil.copyfile(home / "old", home / "new"), [OPEN]),
    "shutil copies a tree": (lambda home: shutil.copytree(home / "full", home / "new"), ["os.mkdir", OPEN]),
    "shutil moves": (lambda home: shutil.move(home / "old", home / "new"), [RENAME]),
    "tempfile makes a folder": (lambda home: tempfile.mkdtemp(dir=home), ["os.mkdir"]),
    "tempfile makes a file": (lambda home: tempfile.NamedTemporaryFile(dir=home).close(), [OPEN, OPEN, REMOVE]),
    "a symbolic link": (lambda home: (home / "new").symlink_to("old"), ["os.symlink"]),
    "a hard link": (lambda home: os.link(home / "old", home / "new"), ["os.link"]),
    "a mode": (lambda home: (home / "old").chmod(0o600), ["os.chmod"]),
    "a file is cut off": (lambda home: os.truncate(home / "old", 1), ["os.truncate"]),
    "a time is set": (lambda home: os.utime(home / "old", (1, 1)), ["os.utime"]),
    "durable writes": (lambda home: durable.write(home / "old", "new"), [OPEN, RENAME]),
}
LOOKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "os lists": (lambda home: os.listdir(home), "os.listdir"),  # noqa: PTH208
    "os scans": (lambda home: os.scandir(home).close(), "os.scandir"),
    "os walks": (lambda home: [*os.walk(home)], "os.scandir"),
    "pathlib iterates": (lambda home: [*home.iterdir()], "os.listdir"),
    "pathlib globs": (lambda home: [*home.glob("*")], "os.scandir"),
    "a child": (lambda home: subprocess.run([sys.executable, "-c", ""], check=True), "subprocess.Popen"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "full").mkdir(parents=True)
    (folder / "empty").mkdir()
    for name in ("old", "full/file"):
        (folder / name).write_bytes(b"before")
    return folder


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_by_python_is_an_effect(home: Path, what: str) -> None:
    action, expected = CHANGES[what]
    disk = Disk(home, seed=0)
    disk.run(lambda: action(home))
    kinds = [effect.kind for effect in disk.effects]
    assert [kind for kind in kinds if kind in {*expected, OPEN, RENAME, REMOVE}][: len(expected)] == expected, kinds


@pytest.mark.parametrize("what", CHANGES)
def test_a_power_cut_before_the_first_effect_leaves_all_as_it_was(home: Path, what: str) -> None:
    before = Disk(home, seed=0).states(lambda: None)[0][1].digest()
    assert Disk(home, seed=1).cut(lambda: CHANGES[what][0](home), at=1)
    assert Disk(home, seed=0).states(lambda: None)[0][1].digest() == before


@pytest.mark.parametrize("what", LOOKS)
def test_lists_and_children_are_seen(home: Path, what: str) -> None:
    disk = Disk(home, seed=0)
    disk.run(lambda: LOOKS[what][0](home))
    assert LOOKS[what][1] in {effect.kind for effect in disk.looked}


def by_duckdb(path: Path) -> None:
    duckdb.sql("select range as number from range(1000)").write_parquet(str(path))


def by_pyarrow(path: Path) -> None:
    pq.write_table(pa.table({"number": range(1000)}), path)


def by_a_database(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table numbers as from range(1000)")


@pytest.mark.parametrize("write", [by_duckdb, by_pyarrow, by_a_database])
def test_what_an_engine_writes_is_torn_or_lost_unless_our_code_forces_it(home: Path, write: Callable[[Path], None]) -> None:
    def forced() -> None:
        write(home / "engine")
        durable.sync(home / "engine")

    found: dict[bool, set[int | None]] = {}
    for is_forced in (False, True):
        [*_, (_, state)] = Disk(home, seed=0).states(forced if is_forced else lambda: write(home / "engine"))
        draw = random.Random(0)
        left = [state.after_power_cut(draw).entries.get("engine") for _ in range(50)]
        found[is_forced] = {None if one is None else len(one.data) for one in left}
        (home / "engine").unlink()
    assert None in found[False] and len(found[False]) > 5
    assert len(found[True]) == 1 and None not in found[True]


def test_a_rename_and_a_removal_are_sure_once_their_folder_is_forced(home: Path) -> None:
    def change() -> None:
        (home / "old").replace(home / "new")
        (home / "full/file").unlink()

    def names(*forced: Path) -> set[tuple[str, ...]]:
        disk = Disk(home, seed=0)
        [*_, (_, state)] = disk.states(lambda: [change(), *map(durable.sync, forced)])
        draw = random.Random(0)
        left = [state.after_power_cut(draw) for _ in range(30)]
        (home / "new").replace(home / "old")
        (home / "full/file").write_bytes(b"before")
        return {tuple(name for name in ("new", "old", "full/file") if name in one.entries) for one in left}

    assert names() == {("new",), ("old",), ("new", "full/file"), ("old", "full/file")}
    assert names(home) == {("new",), ("new", "full/file")}
    assert names(home, home / "full") == {("new",)}


def test_the_clock_is_what_a_history_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    for instant in ("2026-06-02T00:00:00Z", "2026-06-01T00:00:00Z"):
        monkeypatch.setenv("TRAINLEDGER_NOW", instant)
        assert f"{clock.now():%Y-%m-%dT%H:%M:%SZ}" == instant
