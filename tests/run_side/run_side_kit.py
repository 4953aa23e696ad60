"""Small builds and configurations for the tests of this folder: a fact with months, a dimension, the three tables of ops."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from dagster_project.publishing import publish as publishing
from dagster_project.publishing.publish import Identity
from dagster_project.publishing.tables import PublishedTable
from dagster_project.warehouse import builds, gates
from dagster_project.warehouse.delivery_table import DDL as DELIVERIES_DDL

FACT = PublishedTable(
    "fct_costs",
    "marts",
    ("training_run_id", "usage_month"),
    "One row per run and month.",
    {"effective_cost": "What the run cost's share was."},
)
DIMENSION = PublishedTable("dim_things", "marts", ("thing_id",), "", {})
TABLES = [DIMENSION, FACT]
ROWS = [
    ("a", "2026-04-01", "1.000000000001"),
    ("b", "2026-04-01", "2.5"),
    ("a", "2026-05-01", "-3"),
]
RECORD = {
    "training_run_id": "Run A",
    "provider_name": "AWS",
    "tokens": 1000,
    "attempts": [
        {
            "attempt_id": "1",
            "state": "succeeded",
            "started_at": "2026-04-02T00:00:00Z",
            "ended_at": "2026-04-02T06:00:00Z",
            "nodes": [{"resource_id": "i-1", "accelerator_type": "trn1.32xlarge", "chips": 16}],
        }
    ],
}
NOW = datetime(2026, 10, 10, tzinfo=UTC)


def identity(build_id: str, fingerprint: str = "f") -> Identity:
    """What a test publication states of itself."""
    return Identity(build_id, fingerprint, "code", {"AWS/2026-04": "1"})


def publish(build_file: Path, *of: Any) -> dict[str, Any]:
    """Publish a build file that is not open."""
    with duckdb.connect(str(build_file)) as build:
        return publishing.publish(build, *of)


def write_build(path: Path, rows: list[tuple[str, str, str]] = ROWS, build_id: str = "build-1") -> Path:
    """A build file as the line leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema marts")
        connection.execute(
            "create table marts.fct_costs (training_run_id varchar not null, usage_month date not null,"
            " effective_cost decimal(38, 12) not null, list_cost decimal(38, 12))"
        )
        for row in rows:
            connection.execute("insert into marts.fct_costs values (?, cast(? as date), cast(? as decimal(38, 12)), null)", row)
        connection.execute("create table marts.dim_things (thing_id varchar not null, seen_at timestamp, ratio double)")
        connection.execute(
            "insert into marts.dim_things values ('x', timestamp '2026-01-01 00:00:00.000001', 0.1), ('w', null, null)"
        )
        connection.execute(DELIVERIES_DDL)
        builds.open_build(connection, builds.Build("an older build", NOW.isoformat(), "e", "code", {}, [], True))
        builds.open_build(connection, builds.Build(build_id, NOW.isoformat(), "f", "code", {}, [f"{NOW:%F}"], True))
        gates.record(connection, build_id, [gates.GateResult("dbt.models", True, 0)])
    return path


def write_config(folder: Path, sources: str = "") -> Path:
    """A configuration with one source of run records in a folder that exists."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    config = folder / "trainledger.yaml"
    listed = sources or "  - {name: runs, kind: training_runs, location: ./runs}\n"
    config.write_text(f"organisation: {{name: Example AG}}\nhome: ./home\nsources:\n{listed}")
    return config
