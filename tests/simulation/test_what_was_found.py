"""Defects that simulated disks found, each by itself."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from dagster_project.base.locking import HOLDER_NAME, LOCK_NAME, writer_lock
from dagster_project.evidence import chain
from dagster_project.landing.restated import Restated, record
from tests.landing.kit import Organisation, bill_line
from tests.simulation.cuts import published
from tests.simulation.disk import Disk
from tests.simulation.shallow import DEAD, SOURCES, refresh, small_home


@pytest.fixture
def organisation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Organisation]:
    """A home with two months, of which one has news."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    with small_home(monkeypatch) as folder:
        organisation = Organisation(folder, *SOURCES)
        organisation.deliver([bill_line()], at="2026-06-01")
        organisation.deliver([bill_line(7.25, day="2026-05-01")], at="2026-06-01", month="2026-05")
        refresh(organisation.settings)
        organisation.deliver([bill_line(3.5)], at="2026-06-02")
        yield organisation


def test_a_power_cut_after_a_publication_loses_no_name_of_a_file_that_was_published_before(organisation: Organisation) -> None:
    [*_, (_, state)] = Disk(organisation.settings.home, seed=0).states(lambda: refresh(organisation.settings))
    draw = random.Random(0)
    assert {published(state.after_power_cut(draw)) for _ in range(20)} == {published(state)}


def test_what_a_killed_command_was_writing_goes_and_what_a_living_one_writes_stays(organisation: Organisation) -> None:
    home = organisation.settings.home
    folders = [home, *(home / name for name in ("cache", "cache/listed", "cache/landed", "cache/restated", "published/docs"))]
    folders += [path.parent for path in home.glob("cache/derived/cur/2026-05/*/*/validation.json")]
    for path in home.glob("cache/derived/cur/2026-05/*/*/contents.json"):  # not judged yet when the power went
        path.write_text(path.read_text().replace('"verdict"', '"no_verdict"'))
    dead, living = ([folder / f".some.json.{number}.tmp" for folder in folders] for number in (DEAD, os.getpid()))
    for path in (*dead, *living):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    refresh(organisation.settings)
    assert [path for path in dead if path.exists()] == []
    assert [path for path in living if not path.exists()] == []


def test_what_a_killed_issue_was_writing_goes_with_the_next_one(tmp_path: Path) -> None:
    dead = [tmp_path / folder / f".some.json.{DEAD}.tmp" for folder in ("", "issued")]
    (tmp_path / "issued").mkdir()
    for path in dead:
        path.touch()
    chain.append(tmp_path, {"report_id": "2026Q2-1"})
    assert [path for path in dead if path.exists()] == []
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / dead[0].name).touch()
    record(tmp_path, [Restated("2026Q2-1", "a figure", "bill", "1", "2", "1")], {"2026Q2-1": {"a figure"}})
    assert not (tmp_path / "reports" / dead[0].name).exists()


def test_the_lock_is_free_when_the_note_of_its_holder_cannot_be_removed(tmp_path: Path) -> None:
    def hold() -> None:
        with writer_lock(tmp_path, "one"):
            (tmp_path / HOLDER_NAME).unlink()
            (tmp_path / HOLDER_NAME).mkdir()  # which no unlink removes

    with pytest.raises(OSError, match=HOLDER_NAME):
        hold()
    (tmp_path / HOLDER_NAME).rmdir()
    from filelock import FileLock

    with FileLock(tmp_path / LOCK_NAME, is_singleton=False, timeout=0):
        pass
