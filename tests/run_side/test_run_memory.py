"""`memory_limit`: every engine of a refresh has it, dbt's too, and what a killed one had put on the disk goes."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dagster_project.landing.opening import open_landing
from dagster_project.settings import Settings
from dagster_project.warehouse import building, builds, dbt_process, modelling
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site
from tests.landing.kit import Organisation, bill_line

LIMIT, SHOWN = "700MB", "667.5 MiB"  # as DuckDB shows it


def limit_of(connection: duckdb.DuckDBPyConnection) -> str:
    return connection.execute("select current_setting('memory_limit')").fetchall()[0][0]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Organisation(tmp_path, memory_limit=LIMIT).settings


def test_landing_and_the_build_file_have_the_limit_of_the_configuration(settings: Settings) -> None:
    assert limit_of(open_landing(settings).deriver.here._engine) == SHOWN
    site = Site.of_home(settings.home, settings.memory_limit)
    with building.opened(site) as connection:
        assert limit_of(connection) == SHOWN
    assert modelling.environment(site.build_file, site.target, site.memory_limit)["TRAINLEDGER_MEMORY_LIMIT"] == LIMIT


def test_the_connection_of_dbt_has_the_limit_and_the_options_of_its_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbt.adapters.duckdb.credentials import DuckDBCredentials
    from dbt.adapters.duckdb.environments import Environment

    monkeypatch.setattr(duckdb, "connect", duckdb.connect)  # put back afterwards
    dbt_process.limit_memory(LIMIT)
    profile = DuckDBCredentials(path=str(tmp_path / "x.duckdb"), schema="main", config_options={"threads": 1})
    with Environment.initialize_db(profile) as connection:
        assert limit_of(connection) == SHOWN
        assert connection.execute("select current_setting('threads')").fetchall() == [(1,)]


def test_the_limit_is_not_in_the_profile_for_which_dbt_would_parse_the_project_again() -> None:
    profile = (Path(__file__).parents[2] / "dbt" / "profiles.yml").read_text()
    assert "memory" not in profile and "temp_directory" not in profile


def test_a_build_begins_without_what_a_killed_one_put_on_the_disk_and_without_the_engine_of_landing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-10T00:00:00Z")
    organisation = Organisation(tmp_path)
    organisation.deliver([bill_line()], at="2026-05-02")
    organisation.refresh()
    home = Home.of(organisation.settings)
    line, site = organisation.line, home.site
    election = line.elect()
    build = builds.start(site, line.units(election))
    site.spill.mkdir()
    (site.spill / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"half a sort")
    assert home.landing.deriver  # the engine that landed
    building.begin_file(home, build, election)
    building.create_raw(home, build, election)
    assert not site.spill.exists()
    assert "deriver" not in vars(home.landing)  # a build begins without the memory of landing's engine


def test_the_engine_puts_what_does_not_fit_where_a_killed_build_is_cleared(tmp_path: Path) -> None:
    site = Site.of_home(tmp_path)
    with building.opened(site) as connection:
        assert connection.execute("select current_setting('temp_directory')").fetchall() == [(str(site.spill),)]
