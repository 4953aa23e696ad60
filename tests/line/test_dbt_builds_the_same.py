"""dbt itself, with its own materialisations, makes of a schema raw the bytes that our runner makes of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from dagster_project.commands.demonstration import DEMO_NOW
from dagster_project.publishing.publish import Identity, publish
from dagster_project.publishing.tables import published_tables
from dagster_project.warehouse import modelling, report_models
from tests.conftest import Command

pytestmark = [pytest.mark.slow, pytest.mark.proved_by("dbt")]


def published(build_file: Path, folder: Path) -> dict[str, str]:
    """sha256 of every Parquet file of a publication of a build file."""
    tables = published_tables(modelling.project(folder))
    selects = report_models.select_texts(folder)
    with duckdb.connect(str(build_file)) as build:
        [(build_id,)] = build.execute("select max(build_id) from ops.builds").fetchall()
        return publish(build, folder, tables, Identity(build_id, "f", "c", {}), None, selects)["parquet"]


def test_a_full_build_by_dbt_is_published_in_the_same_bytes(
    demo_home: Path, tmp_path: Path, trainledger: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, build_file, target = tmp_path / "demo", tmp_path / "build.duckdb", tmp_path / "target"
    shutil.copytree(demo_home, folder, symlinks=True)
    monkeypatch.setenv("TRAINLEDGER_NOW", DEMO_NOW)
    # the demo's last refresh built no month again, and a schema raw has the files of the months that are built
    done = trainledger("refresh", "--months", "2025-11..2026-09", "--config", folder / "trainledger.yaml")
    assert done.returncode == 0, done.stderr
    ours = folder / "trainledger-home" / "build.duckdb"
    shutil.copyfile(ours, build_file)
    with duckdb.connect(str(build_file)) as connection:
        for schema in ("staging", "intermediate", "marts", "seeds"):
            connection.execute(f"drop schema {schema} cascade")
    modelling.lend_parse_state(tmp_path, target)
    built = modelling.run_dbt([*modelling.BUILD_ARGUMENTS, "--full-refresh"], build_file, target)
    assert built.returncode == 0, built.stdout[-4000:]
    assert published(build_file, tmp_path / "dbt") == published(ours, tmp_path / "ours") != {}
