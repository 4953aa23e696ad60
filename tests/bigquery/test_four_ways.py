"""One billing account read from a Parquet folder, JSON lines, Cloud Storage and BigQuery: every published table is the same.

No two ways have the rows of a partition in one order, in as many files, or under the same names. Most rows of the account
(account.py) are worth the same, so a fee that no number of them divides would go to other runs if a place decided.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dagster_project.commands.query import digests
from tests.bigquery.account import Days, write_account
from tests.conftest import Command
from tests.connectors.gcp import write_lines, write_partition
from tests.line.kit import query
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import GoogleExports
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow

NOW = "2026-06-20T00:00:00Z"
Write = Callable[[str, pa.Schema, Days], dict[str, Any]]  # a source's name, columns and partitions; returns where they lie


def in_another_order(days: Days, seed: int) -> Days:
    """Every partition as two files whose rows are shuffled, by the names of the files: day/name."""
    drawn, files = random.Random(seed), {}
    for day, rows in days.items():
        shuffled = drawn.sample(rows, len(rows))
        files |= {f"{day}/{drawn.randrange(10**9)}": shuffled[first::2] for first in range(2) if shuffled[first::2]}
    return files


def published(folder: Path, trainledger: Command, write: Write) -> Path:
    """The home of a refresh of the account whose bills lie where `write` puts them."""
    exports = GoogleExports(folder)
    for name, (schema, days) in write_account(exports).items():
        exports.sources.append({"name": name, "kind": "gcp_billing", **write(name, schema, days)})
    finished = trainledger("refresh", "--config", exports.config(), now=NOW)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    return folder / "home"


def told_by(home: Path) -> dict[str, tuple[int, str]]:
    return {one.table: (one.rows, one.digest) for one in digests(home / "published/trainledger.duckdb")}


@pytest.fixture(scope="module")
def as_parquet(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    folder = tmp_path_factory.mktemp("parquet")

    def write(name: str, schema: pa.Schema, days: Days) -> dict[str, Any]:
        for day, rows in days.items():
            write_partition(folder / "exports" / name, day, *rows, schema=schema)
        return {"location": f"exports/{name}"}

    return published(folder, trainledger, write)


def test_json_lines_in_another_order_and_under_other_names_move_no_figure(
    as_parquet: Path, tmp_path: Path, trainledger: Command
) -> None:
    def write(name: str, _: pa.Schema, days: Days) -> dict[str, Any]:
        for number, (file, rows) in enumerate(in_another_order(days, seed=1).items()):
            day, part = file.split("/")
            write_lines(tmp_path / "exports" / name, day, *rows, name=f"{part}.json{'.gz' * (number % 2)}")
        return {"location": f"exports/{name}"}

    assert told_by(published(tmp_path, trainledger, write)) == told_by(as_parquet)


def test_the_ledger_and_the_oracle_agree_on_the_account(as_parquet: Path) -> None:
    tables = Oracle(as_parquet.parent / "trainledger.yaml", now=NOW).tables()
    found = differences(as_parquet / "published/trainledger.duckdb", tables)
    assert not found, report(found)


def test_no_row_of_the_account_is_held_back(as_parquet: Path) -> None:
    """So that the digests of fct_quarantine, which names objects and rows, can be compared as well."""
    assert query(as_parquet, "select * from marts.fct_quarantine") == []
