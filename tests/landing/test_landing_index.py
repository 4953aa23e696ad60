"""What was read of a landing is kept in one file, and never believed against the landing itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagster_project.landing import index, store
from dagster_project.landing.land import NotDerivedError
from dagster_project.landing.planning import make_plan
from dagster_project.landing.records import RECORD
from dagster_project.landing.retention import prune
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.news import current_election
from tests.landing.kit import Organisation, bill_line, set_time, write_run

pytestmark = pytest.mark.usefixtures("_clock")
RUNS = {"name": "runs", "kind": "training_runs"}


@pytest.fixture
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")


def age(*folders: Path) -> None:
    """As if an hour had passed since everything was written."""
    for folder in folders:
        for path in [folder, *folder.rglob("*")]:
            stamp = path.stat().st_mtime_ns - 3600 * 10**9
            os.utime(path, ns=(stamp, stamp))


def looked_at(organisation: Organisation) -> Organisation:
    """Landed an hour ago, read by a build since, which kept what it read."""
    organisation.refresh()
    age(organisation.landing, organisation.settings.cache / "derived")
    line = organisation.line
    line.elect()
    line.landing.known.save()
    return organisation


@pytest.fixture
def known(tmp_path: Path) -> Organisation:
    """Two bills of April, one of May, a refused June, three run records: everything a landing can hold, and an index of it."""
    organisation = Organisation(tmp_path, {"name": "cur", "kind": "aws_cur"}, RUNS)
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    organisation.deliver([bill_line(2.0)], at="2026-05-03")
    organisation.deliver([bill_line(3.0, day="2026-05-01")], at="2026-06-02", month="2026-05")
    organisation.deliver([{"line_item_usage_type": "no bill"}], at="2026-06-12", month="2026-06")
    for name in ("a", "b", "c"):
        write_run(tmp_path / f"exports/runs/{name}.run.json", name, at="2026-05-02")
    return looked_at(organisation)


def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every file below a landing or its shelf that is read whole from now on."""
    found: list[Path] = []
    whole = Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path.suffix == ".json":
            found.append(path)
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    return found


def require_true(organisation: Organisation) -> None:
    """The index shows what the landing holds, record by record."""
    landing = organisation.line.landing
    for source in organisation.settings.sources:
        assert landing.read(source.name) == landing.store.read(source.name)


def test_a_look_at_what_is_known_opens_no_record_and_elects_the_same(
    known: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf_alone = known.line
    shutil.move(known.settings.cache / "landed", known.folder / "aside")
    expected = shelf_alone.units(shelf_alone.elect())
    shutil.move(known.folder / "aside", known.settings.cache / "landed")
    line, records = known.line, opened(monkeypatch)
    assert line.plan().is_empty
    assert line.units(line.elect(contents_of=line.landing.contents_on_shelf)) == expected
    assert [path for path in records if path.is_relative_to(known.landing) or path.name == "contents.json"] == []


def test_a_refresh_without_news_asks_the_disk_about_each_record_once(
    known: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    stamp_of = store.stamp_of
    monkeypatch.setattr(store, "stamp_of", lambda path: asked.append(str(path)) or stamp_of(path))
    home = Home.of(known.settings)
    current_election(home, make_plan(home.sources, known.settings.base, home.landing))
    records = [path for path in asked if path.endswith(RECORD)]
    assert len(records) == len(set(records)) == 6


def test_landing_a_delivery_lists_no_other_partition(known: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[Path] = []
    scandir = os.scandir
    monkeypatch.setattr(store.os, "scandir", lambda path: listed.append(Path(path)) or scandir(path))
    landing = known.line.landing
    [generation] = landing.read("runs", "a.run.json").generations
    assert listed == [(known.landing / generation.path).parent]


def test_one_new_delivery_opens_one_record(known: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(known.folder / "exports/runs/d.run.json", "d", at="2026-05-02")
    known.refresh()
    line, records = known.line, opened(monkeypatch)
    assert [len(line.landing.read(name).generations) for name in ("cur", "runs")] == [3, 4]
    assert [path.parents[1].name for path in records if path.name == RECORD] == ["d.run.json"]


def _record(landing: Path, source: str) -> Path:
    return min(landing.glob(f"{source}/*/*/{RECORD}"))


def _edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


BY_HAND: dict[str, Callable[[Path], Any]] = {
    "a generation's folder is removed": lambda landing: shutil.rmtree(_record(landing, "cur").parent),
    "a partition's folder is removed": lambda landing: shutil.rmtree(_record(landing, "runs").parents[1]),
    "a source's folder is removed": lambda landing: shutil.rmtree(landing / "runs"),
    "a record is removed": lambda landing: _record(landing, "cur").unlink(),
    "a record is written over": lambda landing: _edit(_record(landing, "runs"), '"run', '"RUN'),
    "a refusal is withdrawn": lambda landing: _edit(
        min(landing.glob("cur/*/_refused/*.json")), '"withdrawn_at": null', '"withdrawn_at": "2026-06-13T00:00:00Z"'
    ),
    "a refusal is removed": lambda landing: min(landing.glob("cur/*/_refused/*.json")).unlink(),
    "a refusal is added": lambda landing: shutil.copy(
        (refused := min(landing.glob("cur/*/_refused/*.json"))), refused.with_name("0.json")
    ),
}


@pytest.mark.parametrize("change", BY_HAND)
def test_whatever_is_changed_by_hand_is_read_again(known: Organisation, change: str) -> None:
    before = known.line.landing.store.read("cur"), known.line.landing.store.read("runs")
    BY_HAND[change](known.landing)
    assert (known.line.landing.store.read("cur"), known.line.landing.store.read("runs")) != before
    require_true(known)


def test_a_record_that_was_gone_and_is_restored_is_seen(known: Organisation, tmp_path: Path) -> None:
    record = _record(known.landing, "cur")
    shutil.move(record, tmp_path / "aside")
    age(known.landing)
    line = known.line
    line.elect()
    line.landing.known.save()
    shutil.move(tmp_path / "aside", record)
    require_true(known)


def test_what_retention_removes_and_a_removal_that_was_cut_short_are_seen(
    known: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-07-20T00:00:00Z")
    line = known.line
    [removal] = prune(known.settings.sources, line.landing, known.issued, yes=True)
    require_true(known)
    [tombstone] = known.line.landing.read("cur").tombstones
    assert tombstone.generation == removal.generation
    again = known.landing / removal.generation.path
    shutil.copytree(_record(known.landing, "cur").parent, again)
    require_true(known)


def test_a_crash_between_a_generation_and_the_index_costs_a_read_and_no_answer(known: Organisation) -> None:
    kept = {path: path.read_bytes() for path in (known.settings.cache / "landed").iterdir()}
    known.deliver([bill_line(5.0)], at="2026-06-15")
    known.refresh()
    looked_at(known)
    for path, data in kept.items():  # as the killed refresh would have left it
        path.write_bytes(data)
    require_true(known)
    line = known.line
    [april] = [one for one in line.elect().members if one.generation.partition == "2026-04"]
    assert april.contents.controls.months[0].billed_cost == "5.000000000000"


@pytest.mark.parametrize("damage", ["cut", "other code", "gone"])
def test_an_index_that_cannot_be_read_or_is_of_other_code_is_none(
    known: Organisation, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (known.settings.cache / "landed").iterdir():
        if damage == "cut":
            path.write_bytes(path.read_bytes()[:-7])
        elif damage == "gone":
            path.unlink()
    if damage == "other code":
        monkeypatch.setattr(index, "records_version", lambda: "other")
    records = opened(monkeypatch)
    require_true(known)
    assert len([path for path in records if path.name == RECORD]) == 2 * 6


def test_what_changed_a_moment_ago_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within one tick of a disk's clock a second change would leave the same time behind."""
    organisation = Organisation(tmp_path, RUNS)
    write_run(tmp_path / "exports/runs/a.run.json", "a", at="2026-05-02")
    organisation.refresh()
    line = organisation.line
    line.elect()
    line.landing.known.save()
    record = _record(organisation.landing, "runs")
    at = record.stat().st_mtime_ns
    record.write_text(record.read_text().replace("a.run", "b.run"))  # as long as before
    os.utime(record, ns=(at, at))
    require_true(organisation)


def test_a_typed_copy_that_is_gone_is_noticed(known: Organisation) -> None:
    min((known.settings.cache / "derived/runs").rglob("*.parquet")).unlink()
    line = known.line
    with pytest.raises(NotDerivedError):
        line.elect(contents_of=line.landing.contents_on_shelf)


def test_a_look_that_finds_nothing_new_writes_no_index(known: Organisation) -> None:
    for path in (known.settings.cache / "landed").iterdir():
        set_time(path, "2026-06-01")
    files = {path: path.stat().st_mtime_ns for path in known.settings.cache.rglob("*")}
    line = known.line
    line.elect()
    line.landing.known.save()
    assert {path: path.stat().st_mtime_ns for path in known.settings.cache.rglob("*")} == files
