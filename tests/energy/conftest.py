"""One dbt build over hand-made runs and telemetry, every test case a run on a machine of its own; then read-only."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from dagster_project.warehouse import runner
from dagster_project.warehouse.builds import Build
from dagster_project.warehouse.statements import statements
from tests.conftest import built_once
from tests.energy import (
    calibration_scenario,
    doubts_scenario,
    drawn_minutes,
    drawn_reduced,
    matches_scenario,
    meters_scenario,
    own_figures,
    places_scenario,
    power_scenario,
    raw_tables,
    scenario,
)


def build_models(database: Path) -> None:
    """The models and their data tests, as a full build runs them; unit tests run with the whole project."""
    build = Build("b", "", "", "", {}, [], is_full=True)
    with duckdb.connect(str(database)) as connection:
        nodes = list(runner.run(statements(database.parent), build, connection))
    broken = [f"{node.name} {node.detail}" for node in nodes if node.status not in ("success", "pass", "warn")]
    assert not broken, "\n".join(broken)


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
        scenario.write(line, hours_elsewhere=power_scenario.write(line) + doubts_scenario.write(line))
        matches_scenario.write(line)
        meters_scenario.write(line)
        own_figures.write(line)
        places_scenario.write(line)
        calibration_scenario.write(line)
        drawn_minutes.write(line)
        drawn_reduced.write(line)
        connection.commit()
    build_models(work / "build.duckdb")


@pytest.fixture(scope="session")
def marts(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Marts]:
    work = built_once(tmp_path_factory, request.config, "energy", build)
    with duckdb.connect(str(work / "build.duckdb"), read_only=True) as connection:
        yield Marts(connection)
