"""What our code made of the landed bytes can be made again: from the bytes alone, by corrected code, in a home of 0.2.0."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from connectors.deliveries import Converted, Delivery, Part
from connectors.errors import ExportContentError, Place
from connectors.registry import DESCRIPTORS, KINDS, connector_for
from dagster_project.base.code import code_version
from dagster_project.commands.status import read_status
from dagster_project.landing.land import NotDerivedError
from dagster_project.landing.versions import connector_version
from tests.landing.kit import Organisation, bill_line, instant, write_run
from tests.landing.whole_company import SOURCES, whole_company

UNBLENDED = "select line_item_unblended_cost from raw.aws_cur order by 1"
VERSION = "dagster_project.landing.land.connector_version"


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")


class OlderCode:
    """The connectors as an older version had them: it lost the first row of every file it read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patches = monkeypatch

    def __enter__(self) -> None:
        self._patches.setattr("dagster_project.landing.deriving.derive.connector_for", self._older)
        self._patches.setattr(VERSION, lambda kind: "older")

    def __exit__(self, *_: object) -> None:
        self._patches.undo()
        self._patches.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")

    @staticmethod
    def _older(kind: str) -> Any:
        connector = connector_for(kind)

        def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
            converted = connector.convert(delivery, files, folder, store_uri)
            parts = []
            for number, part in enumerate(converted.parts):
                table = pq.read_table(part.path, partitioning=None)
                pq.write_table(table.slice(1), folder / f"older-{number}.parquet")
                parts.append(Part(folder / f"older-{number}.parquet", part.source_object))
            return replace(converted, parts=tuple(parts), rows=converted.rows - len(parts))

        return SimpleNamespace(KIND=connector.KIND, SCHEMA=connector.SCHEMA, convert=convert)


@pytest.fixture
def older_code(monkeypatch: pytest.MonkeyPatch) -> OlderCode:
    return OlderCode(monkeypatch)


def test_every_kind_that_is_read_is_tried_here() -> None:
    assert sorted(SOURCES.values()) == sorted(KINDS)


@pytest.mark.parametrize(
    "asked", [{}, {"as_of": "2026-06-10"}, {"as_published": "2026-05-20"}], ids=["now", "as-of", "as-published"]
)
def test_landed_with_old_code_and_read_with_new_is_landed_with_new_for_every_kind(
    tmp_path: Path, older_code: OlderCode, asked: dict[str, str]
) -> None:
    when = {name: instant(text) for name, text in asked.items()}
    corrected, fresh = whole_company(tmp_path / "corrected"), whole_company(tmp_path / "fresh")
    with older_code:
        assert corrected.outcomes() == {"landed": len(SOURCES)}
        before = {kind: corrected.raw(f"select count(*) from raw.{kind}", **when) for kind in SOURCES.values()}
    fresh.refresh()
    shutil.rmtree(corrected.folder / "exports")  # the provider is not asked
    for kind in SOURCES.values():
        question = f"select * exclude (_published_at) from raw.{kind} order by all"
        rows = corrected.raw(question, **when)
        assert rows == fresh.raw(question, **when), kind
        assert (len(rows),) != before[kind][0], f"the older code read {kind} as the new one does, so nothing was tried"
    mine, theirs = (one.line.units(one.line.elect(**when)) for one in (corrected, fresh))
    assert mine == theirs


def test_the_shelf_may_be_deleted_and_is_made_again_without_the_provider(tmp_path: Path) -> None:
    organisation = whole_company(tmp_path)
    organisation.refresh()
    before = organisation.line.units(organisation.line.elect())
    shutil.rmtree(organisation.settings.cache)
    shutil.rmtree(tmp_path / "exports")
    assert organisation.line.units(organisation.line.elect()) == before
    assert organisation.raw(UNBLENDED) == [(1.0,), (2.0,)]


def test_a_look_makes_nothing_and_shows_that_something_is_to_be_made(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()
    line = organisation.line
    line.elect(contents_of=line.landing.contents_on_shelf)
    shutil.rmtree(organisation.settings.cache)
    with pytest.raises(NotDerivedError):
        line.elect(contents_of=line.landing.contents_on_shelf)
    assert read_status(organisation.settings).sources[0].landed == 1
    assert not (organisation.settings.cache / "derived").exists(), "status changes nothing"


def test_a_typed_copy_that_is_gone_is_written_again(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "runs", "kind": "training_runs"})
    write_run(tmp_path / "exports/runs/a.run.json", "a", at="2026-05-02")
    organisation.refresh()
    (copy,) = (organisation.settings.cache / "derived").rglob("*.parquet")
    copy.unlink()
    assert organisation.raw("select distinct recorded_id from raw.training_runs") == [("a",)]


def test_a_landing_clears_what_dead_processes_left_and_not_what_a_living_one_makes(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    shelf = organisation.settings.cache / "derived"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    living, dead = shelf / f".again-{os.getppid()}" / "report", shelf / f".again-{ended.pid}" / "killed"
    for folder in (living, dead):
        folder.mkdir(parents=True)
    organisation.refresh()
    assert living.is_dir() and not dead.exists()


def refusing(monkeypatch: pytest.MonkeyPatch, what: Callable[[Delivery], bool], version: str) -> None:
    """Code of another version that refuses some deliveries."""
    connector = connector_for("aws_cur")

    def convert(delivery: Delivery, files: dict[str, Path], folder: Path, store_uri: str) -> Converted:
        if what(delivery):
            raise ExportContentError("a number nobody can mean", place=Place(delivery.objects[0].key), reason="wrong_type")
        return connector.convert(delivery, files, folder, store_uri)

    fake = SimpleNamespace(KIND="aws_cur", SCHEMA=connector.SCHEMA, convert=convert)
    monkeypatch.setattr("dagster_project.landing.deriving.derive.connector_for", lambda kind: fake)
    monkeypatch.setattr(VERSION, lambda kind: version)


def test_what_new_code_refuses_no_longer_counts_as_if_it_had_been_refused_when_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrected, fresh = Organisation(tmp_path / "corrected"), Organisation(tmp_path / "fresh")
    for organisation in (corrected, fresh):
        organisation.deliver([bill_line(7.0)], at="2026-05-02")
        organisation.refresh()
        organisation.deliver([bill_line(8.0)], at="2026-05-03")
    corrected.refresh()
    assert corrected.raw(UNBLENDED) == [(8.0,)]
    refusing(monkeypatch, lambda delivery: delivery.published_at == instant("2026-05-03"), "stricter")
    fresh.refresh()
    for organisation in (corrected, fresh):
        assert organisation.raw(UNBLENDED) == [(7.0,)]
        assert organisation.raw("select source_name, reason from raw.quarantine") == [("cur", "wrong_type")]
        assert organisation.line.plan().is_empty, "a refusal is not read again by the same code"
    assert corrected.line.units(corrected.line.elect()) == fresh.line.units(fresh.line.elect())


def test_what_old_code_refused_is_tried_again_by_new_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line(7.0)], at="2026-05-02")
    with monkeypatch.context() as older:
        refusing(older, lambda delivery: True, "older")
        assert organisation.outcomes() == {"refused": 1}
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.raw(UNBLENDED) == [(7.0,)]


def made_by_0_2_0(organisation: Organisation) -> None:
    """Turn a landing into what 0.2.0 wrote: derived values and typed copies inside the generation, no shelf."""
    for record in organisation.landing.rglob("_generation.json"):
        document = json.loads(record.read_text())
        document |= {
            "connector_version": "0.2.0+23353351b1f2",
            "row_digest": "0" * 64,
            "rows": 1,
            "parts": [{"file": "gone.parquet", "source_object": "x", "rows": 1, "size": 1, "sha256": "0" * 64, "columns": {}}],
            "unknown_columns": [],
            "refusals": [],
            "controls": {"payers": ["wrong"], "months": [], "model_version": None, "run_ids": []},
        }
        record.write_text(json.dumps(document, indent=1))
        (record.parent / "samples.parquet").write_bytes(b"a typed copy of 0.2.0")
    shutil.rmtree(organisation.settings.cache)


def test_a_home_of_0_2_0_goes_on_without_the_provider(tmp_path: Path) -> None:
    old, fresh = whole_company(tmp_path / "old"), whole_company(tmp_path / "fresh")
    old.refresh()
    fresh.refresh()
    made_by_0_2_0(old)
    shutil.rmtree(tmp_path / "old/exports")
    assert old.line.units(old.line.elect()) == fresh.line.units(fresh.line.elect())
    for kind in SOURCES.values():
        question = f"select * from raw.{kind} order by all"
        assert old.raw(question) == fresh.raw(question), kind


@pytest.fixture
def pruned_months(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Organisation]:
    organisation = Organisation(tmp_path)
    for day, cost in (("2026-04-10", 1.0), ("2026-04-20", 2.0)):
        monkeypatch.setenv("TRAINLEDGER_NOW", f"{day}T12:00:00Z")
        organisation.deliver([bill_line(cost)], at=day)
        organisation.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-29T00:00:00Z")
    yield organisation


def test_what_was_made_of_a_generation_goes_with_it(pruned_months: Organisation) -> None:
    from dagster_project.landing.retention import prune

    shelf = pruned_months.settings.cache / "derived/cur/2026-04"
    assert len(list(shelf.iterdir())) == 2
    line = pruned_months.line
    (removal,) = prune(pruned_months.settings.sources, line.landing, pruned_months.issued, yes=True)
    assert [folder.name for folder in shelf.iterdir()] == [
        one.name for one in pruned_months.line.landing.read("cur").generations if one.name != removal.generation.name
    ]


def test_a_generation_that_new_code_falls_back_to_is_not_removed(
    pruned_months: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dagster_project.landing.retention import prune

    refusing(monkeypatch, lambda delivery: delivery.published_at == instant("2026-04-20"), "stricter")
    assert pruned_months.raw(UNBLENDED) == [(1.0,)]
    assert prune(pruned_months.settings.sources, pruned_months.line.landing, pruned_months.issued, yes=True) == []


def test_what_the_registry_has_of_a_kind_belongs_to_its_version_and_to_that_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def versions() -> tuple[dict[str, str], str]:
        return {kind: connector_version.__wrapped__(kind) for kind in KINDS}, code_version.__wrapped__()

    kinds, code = versions()
    monkeypatch.setitem(DESCRIPTORS, "aws_cur", replace(DESCRIPTORS["aws_cur"], book_rank=3))
    changed_kinds, changed_code = versions()
    assert {kind for kind in KINDS if kinds[kind] != changed_kinds[kind]} == {"aws_cur"}
    assert changed_code != code, "months are built again: another source may be the book"
