"""`trainledger prune`: validations of old builds and the side files of killed writers go; what is in force stays."""

import json
from pathlib import Path

import pytest

from dagster_project.commands.pruning import run
from dagster_project.locking import HOLDER_NAME, writer_lock
from tests.landing.kit import Organisation

OLD, PUBLISHED, CITED, UNDER_WAY, LATE, VIEW = (
    f"2026061{day}T000000Z-0123abcd-{day * 6}" for day in ("0", "1", "2", "3", "8", "4")
)
NOT_OURS = "notes"


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """20 June: builds of six days, of which one is published, one under way and one cited; an earlier view with two."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    made = Organisation(tmp_path)
    home, view = made.settings.home, made.settings.home / "asof" / "as-of-20260601T000000.000000Z"
    for root, names in ((home, (OLD, PUBLISHED, CITED, UNDER_WAY, LATE, NOT_OURS)), (view, (OLD, VIEW))):
        for name in names:
            (root / "evidence" / name).mkdir(parents=True)
            (root / "evidence" / name / "deliveries.json").write_text("{}")
    for root, build in ((home, PUBLISHED), (view, VIEW)):
        (root / "published").mkdir()
        (root / "published" / "trainledger.duckdb").touch()
        (root / "published" / "PUBLICATION.json").write_text(json.dumps({"build_id": build}))
        (root / HOLDER_NAME).write_text(json.dumps({"name": "ana", "pid": 1, "command": "killed"}))
    marker = {"started_at": "", "fingerprint": "", "code_version": "", "units": {}, "months": [], "is_full": True}
    (home / "building.json").write_text(json.dumps({"build_id": UNDER_WAY, **marker}))
    made.issued.parent.mkdir()
    made.issued.write_text(json.dumps({"build_id": CITED}) + "\n")
    return made


def pruned(organisation: Organisation, *, yes: bool) -> list[str]:
    told: list[str] = []
    run(organisation.settings, yes=yes, wait=0, tell=told.append, say=told.append)
    return told


def evidence(organisation: Organisation) -> set[str]:
    home = organisation.settings.home
    return {path.relative_to(home).as_posix() for path in home.rglob("evidence/*")}


def test_validations_go_with_their_builds_and_those_in_force_stay(organisation: Organisation) -> None:
    before = evidence(organisation)
    gone = {f"evidence/{OLD}", f"asof/as-of-20260601T000000.000000Z/evidence/{OLD}"}
    assert pruned(organisation, yes=False)[:2] == [
        f"would remove {name} (validations of a build that is no longer published)" for name in sorted(gone, reverse=True)
    ]
    assert evidence(organisation) == before
    assert len(pruned(organisation, yes=True)) == len(gone)
    assert evidence(organisation) == before - gone
    assert pruned(organisation, yes=True) == ["Nothing is to be removed."]


def test_the_side_file_of_a_killed_writer_goes_and_a_living_ones_stays(organisation: Organisation) -> None:
    view = organisation.settings.home / "asof" / "as-of-20260601T000000.000000Z"
    with writer_lock(view, "trainledger report"):
        pruned(organisation, yes=True)
        assert (view / HOLDER_NAME).exists()
    (view / HOLDER_NAME).write_text("{}")
    pruned(organisation, yes=True)
    assert not (view / HOLDER_NAME).exists() and not (organisation.settings.home / HOLDER_NAME).exists()
