"""One dbt build over hand-made runs and telemetry, every test case a run on a machine of its own; then read-only."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from dagster_project.warehouse import modelling
from tests.conftest import built_once
from tests.energy import (
    calibration_scenario,
    matches_scenario,
    meters_scenario,
    own_figures,
    places_scenario,
    power_scenario,
    raw_tables,
    scenario,
)
from tests.warm import run_dbt


def dbt_build(database: Path, work: Path) -> None:
    """The models and their data tests, as the product calls dbt; unit tests run with the whole project."""
    target = work / "target"
    modelling.lend_parse_state(modelling.parsed_project(work), target)
    done = run_dbt([*modelling.BUILD_ARGUMENTS, "--full-refresh"], database, target)
    assert done.returncode == 0, (target / "run_results.json").read_text()[-4000:]


class Marts:
    """Rows of the built tables by run and month."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def rows(self, query: str) -> list[dict]:
        result = self.connection.execute(query)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def energy(self, run_id: str, month: str = "2026-07-01") -> dict:
        (row,) = self.rows(
            f"select * from marts.fct_training_run_energy where training_run_id = '{run_id}' and usage_month = '{month}'"
        )
        return row

    def modelled(self, run_id: str, month: str = "2026-07-01") -> dict:
        (row,) = self.rows(
            "select * from marts.fct_training_run_emissions_modelled "
            f"where training_run_id = '{run_id}' and usage_month = '{month}'"
        )
        return row

    def figures(self, run_id: str) -> dict[str, Decimal]:
        """Every measure of a run's July, without its name."""
        return {name: value for name, value in self.energy(run_id).items() if name != "training_run_id"}


def build(work: Path) -> None:
    work.mkdir()
    with duckdb.connect(str(work / "build.duckdb")) as connection:
        connection.begin()  # else every row waits for the disk
        raw_tables.create(connection)
        line = raw_tables.Line(connection, datetime(2026, 7, 15, 12))  # noqa: DTZ001 raw times are UTC without a zone
        scenario.write(line, hours_elsewhere=power_scenario.write(line))
        matches_scenario.write(line)
        meters_scenario.write(line)
        own_figures.write(line)
        places_scenario.write(line)
        calibration_scenario.write(line)
        connection.commit()
    dbt_build(work / "build.duckdb", work)


@pytest.fixture(scope="session")
def marts(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Marts]:
    work = built_once(tmp_path_factory, request.config, "energy", build)
    with duckdb.connect(str(work / "build.duckdb"), read_only=True) as connection:
        yield Marts(connection)
