"""Builds: the marker tells of an interrupted one, and nothing half-built is ever current."""

import json
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from run_side_kit import write_build

from dagster_project.code import code_version
from dagster_project.election.units import overall_fingerprint
from dagster_project.failures import GateError
from dagster_project.publishing.publish import COMMIT_RECORD
from dagster_project.warehouse import building
from dagster_project.warehouse.building import Site


class StandingLine:
    """A line whose units are given; landing and raw views are others' tests."""

    def __init__(self, units: dict[str, str]) -> None:
        self._units = units

    def units(self, _: object) -> dict[str, str]:
        """As given."""
        return self._units

    def fingerprint(self, _: object) -> str:
        """Over the units given."""
        return overall_fingerprint(self._units)

    def months_to_build(self, _: object, full: bool = False) -> list[date]:
        """All of two months, or the later one."""
        return [date(2026, 4, 1), date(2026, 5, 1)] if full else [date(2026, 5, 1)]


UNITS = {"AWS/2026-04": "1", "AWS/2026-05": "2"}
ELECTION = SimpleNamespace()


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-10-10T00:00:00Z")


def published_site(tmp_path: Path, units: dict[str, str], code: str) -> Site:
    """A home that looks published with these units by this code."""
    site = Site.of_home(tmp_path)
    site.published.mkdir()
    site.published_file.touch()
    write_build(site.build_file)
    record = {"build_id": "b0", "fingerprint": overall_fingerprint(units), "code_version": code, "units": units}
    (site.published / COMMIT_RECORD).write_text(json.dumps(record))
    return site


def test_equal_fingerprints_are_current_until_a_build_begins(tmp_path: Path) -> None:
    site, line = published_site(tmp_path, UNITS, code_version()), StandingLine(UNITS)
    assert building.is_current(line, site, ELECTION)
    building.start(line, site, ELECTION)
    assert not building.is_current(line, site, ELECTION)


def test_a_published_file_that_vanished_is_not_current(tmp_path: Path) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    site.published_file.unlink()
    assert not building.is_current(StandingLine(UNITS), site, ELECTION)


def test_only_changed_months_are_built_again(tmp_path: Path) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    build = building.start(StandingLine({**UNITS, "AWS/2026-05": "3"}), site, ELECTION)
    assert not build.is_full and build.months == ["2026-05-01"]
    assert building.current(site) == build
    assert "--full-refresh" not in building.dbt_arguments(build)


@pytest.mark.parametrize("cause", ["asked", "interrupted", "no publication", "no build file", "other code"])
def test_everything_is_built_when_what_is_there_cannot_be_trusted(tmp_path: Path, cause: str) -> None:
    site = published_site(tmp_path, UNITS, "older" if cause == "other code" else code_version())
    if cause == "interrupted":
        building.start(StandingLine(UNITS), site, ELECTION)
    if cause == "no publication":
        (site.published / COMMIT_RECORD).unlink()
    if cause == "no build file":
        site.build_file.unlink()
    build = building.start(StandingLine(UNITS), site, ELECTION, full=cause == "asked")
    assert build.is_full and build.months == ["2026-04-01", "2026-05-01"]
    assert "--full-refresh" in building.dbt_arguments(build)


def test_two_builds_of_one_second_have_two_names(tmp_path: Path) -> None:
    site, line = Site.of_home(tmp_path), StandingLine(UNITS)
    first, second = building.start(line, site, ELECTION), building.start(line, site, ELECTION)
    assert first.build_id != second.build_id and first.fingerprint == second.fingerprint


def test_single_models_run_by_hand_are_never_published(tmp_path: Path) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    building.mark_partial(site)
    build = building.current(site)
    assert build is not None
    with pytest.raises(GateError, match="Single models were run"):
        building.publish_build(site, build)
    assert building.start(StandingLine(UNITS), site, ELECTION).is_full


def test_an_as_of_build_has_a_place_of_its_own(tmp_path: Path) -> None:
    from dagster_project.clock import parse_instant

    site = Site.of_instant(tmp_path, "as-of", parse_instant("2026-07-01", "test"))
    assert site.published == tmp_path / "asof" / "as-of-20260701T000000.000000Z" / "published"
