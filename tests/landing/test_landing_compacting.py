"""Compaction: small deliveries of a day become one file, and nothing that rests on them moves: hashes, times, rows, as-of."""

from __future__ import annotations

import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagster_project.base.failures import SourceError
from dagster_project.commands import compacting as command
from dagster_project.commands.verifying import verify_landing
from dagster_project.landing import compacting, index
from dagster_project.landing.bundles import BUNDLES
from dagster_project.landing.records import RECORD
from dagster_project.landing.shelf import Shelf
from tests import nightly
from tests.landing.kit import Line, Organisation, bill_line, instant, write_run, write_samples
from tests.simulation.disk import Disk

SAMPLES = "select * from raw.neuron_monitor order by all"
RUNS = "select * exclude (_file_number) from raw.training_runs order by all"
SOURCES = (
    {"name": "neuron", "kind": "neuron_monitor"},
    {"name": "runs", "kind": "training_runs"},
    {"name": "cur", "kind": "aws_cur"},
)


def samples(organisation: Organisation, day: str, *hours: int, minute: str = "05", at: str | None = None) -> None:
    """A file of an hour of one machine, published ten minutes later unless lines otherwise."""
    for hour in hours:
        path = organisation.folder / f"exports/neuron/run=run-0/host=i-0123456789abcdef0/{day}T{hour:02}-00-00Z.jsonl"
        write_samples(path, f"{day}T{hour:02}:{minute}:00Z", at=at or f"{day}T{hour:02}:10")


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """Five hours of telemetry of two days, landed on two days; two run records and a bill of one day."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-02T23:00:00Z")
    made = Organisation(tmp_path, *SOURCES)
    node = {"resource_id": "i-0123456789abcdef0", "started_at": "2026-04-01T00:00:00Z", "ended_at": "2026-04-03T00:00:00Z"}
    for number in (0, 1):
        write_run(tmp_path / f"exports/runs/{number}.run.json", f"run-{number}", at="2026-04-02", nodes=[node])
    made.deliver([bill_line()], at="2026-04-02")
    samples(made, "2026-04-01", 1, 2)
    samples(made, "2026-04-02", 4)
    made.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-04T00:00:00Z")
    samples(made, "2026-04-01", 3, at="2026-04-01T12:00")
    samples(made, "2026-04-02", 5)
    made.refresh()
    return made


def compact(organisation: Organisation, **asked: Any) -> list[tuple[str, str, int]]:
    """Compact; source, day and number of deliveries of each bundle."""
    line = organisation.line
    made = list(compacting.compact(organisation.settings.sources, line.landing, **asked))
    return [(one.source, f"{one.day}", one.deliveries) for one in made]


def bundles(organisation: Organisation) -> list[Path]:
    return sorted(organisation.landing.glob(f"*/{BUNDLES}/*.zip"))


def landed(organisation: Organisation) -> dict[str, Any]:
    return {source.name: organisation.line.landing.read(source.name) for source in organisation.settings.sources}


def verified(organisation: Organisation) -> tuple[int, list[str]]:
    lines: list[str] = []
    return verify_landing(organisation.settings, lines.append), lines


def known(organisation: Organisation) -> dict[str, Any]:
    """Whatever is known of what was landed: by records, by rows, by fingerprints, and as of an earlier day."""
    line = organisation.line
    election = line.elect()
    return {
        "records": landed(organisation),
        "by the store": {source.name: line.landing.store.read(source.name) for source in organisation.settings.sources},
        "units": line.units(election),
        "rows": (organisation.raw(SAMPLES), organisation.raw(RUNS)),
        "as of": line.elect(as_of=instant("2026-04-03")).members,
        "verified": verified(organisation),
    }


def test_small_deliveries_of_a_day_become_one_file_and_everything_that_is_known_of_them_stays(organisation: Organisation) -> None:
    before, files = known(organisation), organisation.files()
    assert compact(organisation) == [("neuron", "2026-04-01", 3), ("neuron", "2026-04-02", 2), ("runs", "2026-04-02", 2)]
    assert sorted(path.name for path in organisation.landing.iterdir() if not path.name.startswith(".")) == [
        "cur",
        "neuron",
        "runs",
    ]
    assert [path.name for path in (organisation.landing / "neuron").iterdir()] == [BUNDLES]
    assert len(list((organisation.landing / "cur").rglob(RECORD))) == 1  # retention removes bills one by one
    assert known(organisation) == before
    shutil.rmtree(organisation.settings.cache)  # as after an upgrade: every row is derived again out of the bundles
    assert known(organisation) == before
    assert organisation.outcomes() == {} and compact(organisation) == []
    for path in bundles(organisation):  # by a tool that anybody has, the folders are back as they were
        with zipfile.ZipFile(path) as bundle:
            assert bundle.testzip() is None
            bundle.extractall(path.parents[1])
        path.unlink()
    assert organisation.files() == files


def test_equal_deliveries_are_one_file_of_equal_bytes(organisation: Organisation, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(organisation.landing, other)
    compact(organisation)
    made = {path.name: path.read_bytes() for path in bundles(organisation)}
    shutil.rmtree(organisation.landing)
    shutil.copytree(other, organisation.landing)
    compact(organisation)
    assert {path.name: path.read_bytes() for path in bundles(organisation)} == made


def test_what_comes_again_is_held_against_what_is_in_a_bundle(organisation: Organisation) -> None:
    compact(organisation)
    samples(organisation, "2026-04-01", 1, at="2026-04-05")  # the same bytes under a later time
    assert organisation.outcomes() == {"unchanged": 1}
    samples(organisation, "2026-04-01", 1, minute="06", at="2026-04-06")
    assert organisation.outcomes() == {"landed": 1}
    samples(organisation, "2026-04-01", 1, at="2026-04-07")  # the first bytes again: A, B, A is news
    assert organisation.outcomes() == {"landed": 1}
    partition = organisation.line.landing.read("neuron").generations[0].partition
    assert len(organisation.line.landing.read("neuron", partition).generations) == 3
    assert compact(organisation) == []  # one of each day
    assert verified(organisation)[0] == 0


def test_a_look_at_bundles_asks_the_disk_for_each_once_and_opens_none(
    organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "SETTLED", -(10**12))  # what was written a moment ago is kept
    line = organisation.line
    line.elect()
    line.landing.known.save()
    compact(organisation)  # and keeps what it read, and what was known of the rows
    monkeypatch.setattr(Shelf, "find", lambda *_: pytest.fail("contents were read again"))
    store = organisation.line.landing.store
    monkeypatch.setattr(type(store), "bundle", lambda *_: pytest.fail("a bundle was opened"))
    line = organisation.line
    assert line.plan().is_empty
    assert len(line.landing.read("neuron").generations) == 5
    assert line.elect(contents_of=line.landing.contents_on_shelf).members


def test_a_bit_that_a_bundle_lost_is_named_with_its_object_and_never_derived_from(organisation: Organisation) -> None:
    compact(organisation)
    path = bundles(organisation)[0]
    data, stat = bytearray(path.read_bytes()), path.stat()
    place = data.index(b"2026-04-01T02:05:00Z")
    data[place] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    code, lines = verified(organisation)
    assert code == 1 and lines[-1].startswith("8 of 9 landed objects")  # a bill has a manifest
    assert "neuron run=run-0~host=i-0123456789abcdef0~2026-04-01T02-00-00Z.jsonl: " in lines[0]
    assert f" of {path}: sha256 " in lines[0] and lines[0].endswith("found")
    shutil.rmtree(organisation.settings.cache)
    with pytest.raises(SourceError, match="other bytes than were landed"):
        organisation.line.elect()


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-40], lambda data: data.replace(b'"landed_at": "2026', b'"landed_at": "2025')]
)
def test_a_bundle_that_is_cut_or_whose_records_changed_is_named_with_what_to_do(
    organisation: Organisation, damage: Callable[[bytes], bytes]
) -> None:
    compact(organisation)
    path = bundles(organisation)[0]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(SourceError, match="a bundle of landed deliveries is damaged") as raised:
        organisation.line.landing.read("neuron")
    assert str(path) in str(raised.value) and "remove it to land its deliveries again" in str(raised.value)
    path.unlink()
    assert organisation.outcomes() == {"landed": 3}


def test_what_differs_from_its_record_stays_in_its_folder(organisation: Organisation) -> None:
    path = next(organisation.landing.glob("neuron/*2026-04-01T02*/*/*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"02:05", b"02:07"))
    assert compact(organisation)[0] == ("neuron", "2026-04-01", 2)
    assert path.exists() and verified(organisation)[0] == 1


def test_large_deliveries_and_parquet_stay_in_folders(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "SMALL", 100)
    assert compact(organisation) == []


def test_a_bundle_holds_no_more_than_it_may(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "MOST", 2)
    before = known(organisation)
    assert compact(organisation)[:2] == [("neuron", "2026-04-01", 2), ("neuron", "2026-04-02", 2)]
    samples(organisation, "2026-04-01", 6, 7, at="2026-04-01T20:00")
    organisation.refresh()
    assert compact(organisation) == [("neuron", "2026-04-01", 2)]  # of three in folders; a day may have several bundles
    assert len(organisation.line.landing.read("neuron").generations) == 7
    assert verified(organisation)[0] == before["verified"][0] == 0


def test_by_itself_a_source_with_many_is_compacted_and_a_day_that_goes_on_only_with_many_of_its_own(
    organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compact(organisation, by_itself=True) == []
    monkeypatch.setattr(compacting, "MANY", 4)
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-02T23:00:00Z")  # the second day goes on
    assert compact(organisation, by_itself=True) == [("neuron", "2026-04-01", 3)]
    samples(organisation, "2026-04-02", 6, 7)
    organisation.refresh()
    assert compact(organisation, by_itself=True) == [("neuron", "2026-04-02", 4)]


def test_a_kill_at_any_instant_leaves_each_delivery_in_one_of_both_and_the_next_compaction_mends_it(
    organisation: Organisation,
) -> None:
    before = landed(organisation)
    home = organisation.settings.home
    disk = Disk(home, seed=0)
    states = disk.states(lambda: compact(organisation))
    assert len(states) > 30
    whole = organisation.files()
    for number, (effect, state) in enumerate(states):
        if not nightly.IS_NIGHTLY and number % 3:
            continue
        state.after_power_cut(random.Random(number)).write(home)
        assert landed(organisation) == before, effect
        assert verified(organisation)[0] == 0, effect
        organisation.line.landing.recover()
        compact(organisation)
        assert organisation.files() == whole, effect


def test_a_look_while_deliveries_move_misses_none(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    before = landed(organisation)["neuron"]
    reader = organisation.line.landing
    read_folders = type(reader.store).read_folders

    def moved_meanwhile(store: Any, source: str, names: Any) -> Any:
        monkeypatch.undo()
        monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-04T00:00:00Z")
        compact(organisation)  # by another process, between the list of folders and their records
        return read_folders(store, source, names)

    monkeypatch.setattr(type(reader.store), "read_folders", moved_meanwhile)
    assert reader.read("neuron") == before


def test_the_command_names_each_bundle_and_states_when_there_is_nothing_to_do(organisation: Organisation) -> None:
    lines: list[str] = []
    command.run(organisation.settings, wait=0, tell=lines.append, say=lines.append)
    assert lines[0].startswith("Compacted 3 deliveries of neuron, 2026-04-01, into _bundles/2026-04-01-") and len(lines) == 3
    lines.clear()
    command.run(organisation.settings, wait=0, tell=lines.append, say=lines.append)
    assert lines == ["Nothing is to be compacted: no source has two small deliveries of one day in folders of their own."]


def test_a_question_about_sources_borrows_what_is_in_a_bundle(organisation: Organisation) -> None:
    compact(organisation)
    line, source = organisation.line, organisation.settings.source("neuron")
    line.elect()
    other = Organisation(organisation.folder / "other", *SOURCES).line.landing
    deliveries = [delivery for _, delivery in make_plan_of(organisation)]
    lent = list(line.landing.lend(source, deliveries, other))
    assert len(lent) == len(deliveries) == 5
    assert list(other.differences(other.read("neuron").generations)) == [None] * 5


def make_plan_of(organisation: Organisation) -> list[Any]:
    """Every delivery of telemetry as a landing that knows none would plan it."""
    aside = organisation.folder / "aside"
    fresh = organisation.settings.model_copy(update={"home": aside, "landing": str(aside / "landing")})
    return [(source, one) for source, one in Line(fresh).plan().new if source.name == "neuron"]


def test_the_record_in_a_bundle_is_the_one_that_was_written(organisation: Organisation) -> None:
    records = {
        path.relative_to(organisation.landing / "runs"): path.read_bytes()
        for path in organisation.landing.glob(f"runs/*/*/{RECORD}")
    }
    compact(organisation)
    (path,) = organisation.landing.glob(f"runs/{BUNDLES}/*.zip")
    with zipfile.ZipFile(path) as bundle:
        assert {Path(name): bundle.read(name) for name in bundle.namelist() if name.endswith(RECORD)} == records
        assert all(json.loads(data)["landed_at"] for data in records.values())
