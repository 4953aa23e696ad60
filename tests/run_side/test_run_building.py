"""Builds: the marker names an interrupted one, and nothing half-built is ever current."""

import json
from pathlib import Path

import duckdb
import pytest
from run_side_kit import write_build

from dagster_project.base.code import code_version
from dagster_project.base.failures import GateError
from dagster_project.election.units import overall_fingerprint
from dagster_project.publishing.publish import COMMIT_RECORD
from dagster_project.warehouse import building, builds
from dagster_project.warehouse.site import Site

UNITS = {"AWS/2026-04": "1", "AWS/2026-05": "2"}


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
    site = published_site(tmp_path, UNITS, code_version())
    assert builds.is_current(site, UNITS)
    builds.start(site, UNITS)
    assert not builds.is_current(site, UNITS)


def test_a_published_file_that_vanished_is_not_current(tmp_path: Path) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    site.published_file.unlink()
    assert not builds.is_current(site, UNITS)


def test_only_changed_months_are_built_again(tmp_path: Path) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    build = builds.start(site, {**UNITS, "AWS/2026-05": "3"})
    assert not build.is_full and build.months == ["2026-05-01"]
    assert builds.current(site) == build


@pytest.mark.parametrize("cause", ["asked", "interrupted before it began", "no publication", "no build file", "run by hand"])
def test_everything_is_built_when_what_is_there_cannot_be_trusted(tmp_path: Path, cause: str) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    if cause == "interrupted before it began":
        builds.start(site, UNITS, full=True)
    if cause == "run by hand":
        builds.mark_partial(site)
    if cause == "no publication":
        (site.published / COMMIT_RECORD).unlink()
    if cause == "no build file":
        site.build_file.unlink()
    build = builds.start(site, UNITS, full=cause == "asked")
    assert build.is_full and build.months == ["2026-04-01", "2026-05-01"]


def test_a_build_after_an_interrupted_one_has_the_months_of_both(tmp_path: Path) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    builds.start(site, {**UNITS, "AWS/2026-05": "3"}, also=["2026-05"])
    build = builds.start(site, {**UNITS, "AWS/2026-04": "2"})
    assert not build.is_full and build.months == ["2026-04-01", "2026-05-01"]
    assert build.is_forced, "May was asked for"


def test_an_interrupted_full_build_goes_on_with_its_file(tmp_path: Path) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    first = builds.start(site, UNITS, full=True)
    with duckdb.connect(str(site.build_file)) as connection:
        builds.open_build(connection, first)
    build = builds.start(site, UNITS)
    assert not build.is_full and build.reads_all and build.months == first.months


def test_two_builds_of_one_second_have_two_names(tmp_path: Path) -> None:
    site = Site.of_home(tmp_path)
    first, second = builds.start(site, UNITS), builds.start(site, UNITS)
    assert first.build_id != second.build_id and first.fingerprint == second.fingerprint


def test_single_models_run_by_hand_are_never_published(tmp_path: Path) -> None:
    site = published_site(tmp_path, UNITS, code_version())
    builds.mark_partial(site)
    build = builds.current(site)
    assert build is not None
    with pytest.raises(GateError, match="Single models were run"):
        list(building.publish_steps(site, build))
    assert builds.start(site, UNITS).is_full


def test_an_as_of_build_has_a_place_of_its_own(tmp_path: Path) -> None:
    from dagster_project.base.clock import parse_instant

    site = Site.of_instant(tmp_path, "as-of", parse_instant("2026-07-01", "test"))
    assert site.published == tmp_path / "asof" / "as-of-20260701T000000.000000Z" / "published"
