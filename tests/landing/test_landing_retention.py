"""Retention: what goes, what stays, and that what went is remembered by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dagster_project.base.failures import SourceError
from dagster_project.landing.retention import prune
from tests.landing.kit import Organisation, bill_line, instant

UNBLENDED = "select line_item_unblended_cost from raw.aws_cur order by 1"
DAYS = ["2026-04-03", "2026-04-10", "2026-04-20", "2026-05-02", "2026-05-10", "2026-05-16", "2026-05-18"]


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """April delivered seven times, each landed on its day; the n-th costs n. It closes on 15 May."""
    organisation = Organisation(tmp_path)
    for number, day in enumerate(DAYS, start=1):
        monkeypatch.setenv("TRAINLEDGER_NOW", f"{day}T12:00:00Z")
        organisation.deliver([bill_line(float(number))], at=day)
        organisation.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    return organisation


def days_that_go(organisation: Organisation, *, yes: bool = False) -> list[str]:
    removals = prune(organisation.settings.sources, organisation.line.landing, organisation.issued, yes=yes)
    return [f"{removal.generation.published_at:%Y-%m-%d}" for removal in removals]


def test_open_month_repeats_go_and_month_end_and_finals_stay(organisation: Organisation) -> None:
    # the 20th was the last word at the end of April, 10 May at the close; later ones are final
    assert days_that_go(organisation) == ["2026-04-03", "2026-04-10", "2026-05-02"]


def test_without_yes_nothing_is_removed(organisation: Organisation) -> None:
    before = organisation.files()
    assert days_that_go(organisation)
    assert organisation.files() == before


def test_what_was_superseded_lately_stays(organisation: Organisation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-22T00:00:00Z")
    assert days_that_go(organisation) == ["2026-04-03"]


def test_what_an_issued_report_cites_stays(organisation: Organisation) -> None:
    first = organisation.line.landing.read("cur").generations[0]
    chain = organisation.folder / "home" / "reports" / "issued.jsonl"
    chain.parent.mkdir()
    chain.write_text(json.dumps({"report_id": "2026Q2", "deliveries": [{"content_hash": first.content_hash}]}) + "\n")
    assert days_that_go(organisation) == ["2026-04-10", "2026-05-02"]
    chain.write_text("{}\n\n{cut")
    with pytest.raises(SourceError, match=r"line 3 of the chain .* nothing is removed"):
        days_that_go(organisation, yes=True)


def test_what_went_leaves_a_tombstone_is_not_landed_again_and_the_election_stays(organisation: Organisation) -> None:
    before = organisation.line.units(organisation.line.elect())
    days_that_go(organisation, yes=True)
    landed = organisation.line.landing.read("cur")
    assert (len(landed.generations), len(landed.tombstones)) == (4, 3)
    assert all(len(tombstone.generation.objects[0].sha256) == 64 for tombstone in landed.tombstones)
    assert organisation.line.units(organisation.line.elect()) == before
    assert organisation.line.plan().is_empty
    assert days_that_go(organisation, yes=True) == []


def test_an_as_of_that_needs_a_removed_generation_fails_by_its_name(organisation: Organisation) -> None:
    asked = {"as_published": instant("2026-04-11")}
    assert organisation.raw(UNBLENDED, **asked) == [(2.0,)]
    name = organisation.line.elect(**asked).members[0].generation.name
    days_that_go(organisation, yes=True)
    with pytest.raises(SourceError, match=f"{name} .*removed by retention"):
        organisation.line.elect(**asked)
    assert organisation.raw(UNBLENDED, as_published=instant("2026-04-30")) == [(3.0,)]


def test_a_removal_that_was_cut_short_is_finished_by_the_next_one(organisation: Organisation) -> None:
    landing = organisation.line.landing
    first = landing.read("cur").generations[0]
    folder = organisation.landing / first.path
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    days_that_go(organisation, yes=True)
    folder.mkdir()
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    assert first.path not in {generation.path for generation in landing.read("cur").generations}
    days_that_go(organisation, yes=True)
    assert not folder.exists()
