"""Which pairs were registered in time: the built statements on raw rows, with files in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_project.warehouse.statements import needed, statements
from tests.energy import raw_tables

NOON = datetime(2026, 7, 1, 12)
HOUR = timedelta(hours=1)
RELATION = "intermediate.int_comparison_registrations"
STAGED = ("staging.stg_user_inputs__comparison_plans", "staging.stg_training_runs__registrations")
RUNS = """create table marts.dim_training_runs (
    training_run_id varchar, workload_key varchar, pair_key varchar, accelerator_family varchar, started_at timestamp)"""
Registered = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registered]:
    """Rows of the model by pair, of some runs and some files."""
    sqls = [one.whole() for one in needed(statements(tmp_path_factory.mktemp("home")), [*STAGED])]
    [model] = [one for one in statements(tmp_path_factory.mktemp("home")) if one.relation == RELATION]
    with duckdb.connect() as connection:
        connection.execute(
            "attach ':memory:' as build; use build; create schema staging; create schema intermediate; create schema marts"
        )
        raw_tables.create(connection)
        connection.execute(RUNS)
        for sql in sqls:
            connection.execute(sql)

        def rows(runs: list[dict[str, Any]], files: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
            for table in ("marts.dim_training_runs", "raw.user_inputs", "raw.training_runs", "raw.registration_files"):
                connection.execute(f"delete from {table}")
            for run in runs:
                names = ", ".join(run)
                connection.execute(
                    f"insert into marts.dim_training_runs ({names}) values ({', '.join('?' for _ in run)})", [*run.values()]
                )
            for file in files:
                raw_tables.insert(connection, "registration_files", **file["file"])
                raw_tables.insert(connection, file["table"], **file["row"])
            found = connection.execute(model.sql)
            names = [column[0] for column in found.description]
            return {row[1]: dict(zip(names, row, strict=True)) for row in found.fetchall()}

        yield rows
