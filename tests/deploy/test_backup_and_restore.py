"""What must be kept of a home is `landing/`, `reports/` and the configuration: they publish the same, also those of 0.2.0."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from dagster_project.landing.restated import Restated, record
from tests.conftest import Command
from tests.line.kit import NOW, write_small_exports

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


def digests(trainledger: Command, folder: Path) -> dict[str, str]:
    done = trainledger("digest", "--json", "--config", folder / "trainledger.yaml", now=NOW)
    assert done.returncode == 0, done.stderr
    return {one["table"]: one["digest"] for one in json.loads(done.stdout)["tables"]}


def refresh(trainledger: Command, folder: Path) -> None:
    done = trainledger("refresh", "--config", folder / "trainledger.yaml", now=NOW)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    """A refreshed home with a restated figure of an issued report."""
    folder = tmp_path_factory.mktemp("lost")
    write_small_exports(folder)
    (folder / "home").mkdir()
    record(folder / "home", [Restated("2026Q1-1", "cost", "code", "1", "2", "1")])
    refresh(trainledger, folder)
    return folder


def restored(lost: Path, folder: Path) -> Path:
    """The configuration and `landing/` in another place, where the provider has nothing any more."""
    for source in (lost / "exports").iterdir():
        (folder / "exports" / source.name).mkdir(parents=True)
    shutil.copy2(lost / "trainledger.yaml", folder)
    shutil.copytree(lost / "home/landing", folder / "home/landing")
    return folder


def test_a_home_restored_from_its_landing_publishes_the_same_and_with_its_reports_what_was_restated(
    lost: Path, tmp_path: Path, trainledger: Command
) -> None:
    home = restored(lost, tmp_path)
    refresh(trainledger, home)
    before, after = digests(trainledger, lost), digests(trainledger, home)
    assert {table for table in before if before[table] != after.get(table)} == {"fct_restatements", "fct_restated_texts"}
    shutil.copytree(lost / "home/reports", home / "home/reports", dirs_exist_ok=True)
    refresh(trainledger, home)
    assert digests(trainledger, home) == before


def left_by_0_2_0(home: Path) -> None:
    """Make of a landing a home of 0.2.0: what its code derived is in the records and beside them; its own publication."""
    for path in (home / "landing").rglob("_generation.json"):
        derived = {
            "connector_version": "0.2.0+23353351b1f2",
            "row_digest": "0" * 64,
            "rows": 1,
            "parts": [{"file": "typed.parquet", "source_object": "x", "rows": 1, "size": 1, "sha256": "0" * 64, "columns": {}}],
            "unknown_columns": [],
            "refusals": [],
            "controls": {"payers": ["wrong"], "months": [], "model_version": None, "run_ids": []},
        }
        path.write_text(json.dumps(json.loads(path.read_text()) | derived, indent=1) + "\n")
        (path.parent / "typed.parquet").write_bytes(b"a typed copy of 0.2.0")
    parquet = home / "published/.parquet-20260501T000000Z-000000000000/fct_gone"
    parquet.mkdir(parents=True)
    (parquet / "all.parquet").write_bytes(b"rows of 0.2.0")
    (home / "published/parquet").symlink_to(parquet.parent.name)
    publication = {
        "build_id": "20260501T000000Z-000000000000",
        "fingerprint": "0" * 64,
        "code_version": "0" * 64,
        "units": {"AWS/2026-04": "0" * 64},
        "tables": {"fct_gone": "0" * 64},
        "rows": {"fct_gone": 1},
        "parquet": {"fct_gone/all.parquet": "0" * 64},
    }
    (home / "published/PUBLICATION.json").write_text(json.dumps(publication, indent=1) + "\n")
    for file in (home / "build.duckdb", home / "published/trainledger.duckdb"):
        with duckdb.connect(str(file)) as connection:
            connection.execute("create schema marts; create table marts.fct_gone as select 1 as id")


def test_a_home_that_0_2_0_left_publishes_what_a_fresh_one_does(lost: Path, tmp_path: Path, trainledger: Command) -> None:
    home = restored(lost, tmp_path)
    shutil.copytree(lost / "home/reports", home / "home/reports")
    left_by_0_2_0(home / "home")
    refresh(trainledger, home)
    assert digests(trainledger, home) == digests(trainledger, lost)
    assert not list((home / "home/published").glob("*/fct_gone"))
