"""One billing account read from a Parquet folder, JSON lines, Cloud Storage and BigQuery: every published table is the same.

No two ways have the rows of a partition in one order, in as many files, or under the same names. Most rows of the account
(account.py) are worth the same, so a fee that no number of them divides would go to other runs if a place decided. Real rows of
two other accounts take the same ways, where the samples are there.

What differs from the service: the emulator takes `_PARTITIONTIME` for now, so one table is divided by its export time here, which
gives the partitions of the files, and the others by nothing: they are read by the time of use. The statements by
`_PARTITIONTIME` are type-checked in test_statements_are_googlesql.py.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery, storage

from dagster_project.commands.query import digests
from dagster_project.demo.gcp.table import FOLDER, ROWS, SCHEMA, TIMES, Table
from dagster_project.warehouse import modelling
from tests.bigquery.account import Days, write_account
from tests.bigquery.servers import bigquery_emulator, must_be_installed, storage_emulator
from tests.conftest import Command
from tests.connectors.gcp import write_lines, write_partition
from tests.line.kit import query
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import GoogleExports
from tests.oracle.oracle import Oracle
from tests.shared import SHARED

pytestmark = pytest.mark.slow
needs_samples = pytest.mark.skipif(
    SHARED is None, reason="the folder `shared` with samples and reference is not beside the project"
)

NOW = "2026-06-20T00:00:00Z"
# takes the name of a source, its columns and the rows of its files; returns where it put them
Write = Callable[[str, pa.Schema, Days], dict[str, Any]]


def published(folder: Path, trainledger: Command, write: Write, seed: int | None = None) -> Path:
    """The home of a refresh of the account, with `seed` in another order."""
    exports = GoogleExports(folder)
    for name, (schema, days) in write_account(exports).items():
        files = {f"{day}/part-000000000000": rows for day, rows in days.items()} if seed is None else _shuffled(days, seed)
        exports.sources.append({"name": name, "kind": "gcp_billing", **write(name, schema, files)})
    finished = trainledger("refresh", "--config", exports.config(), now=NOW)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    return folder / "home"


def _shuffled(days: Days, seed: int) -> Days:
    """Every partition as two files in whose order of names its rows are mixed."""
    drawn, files = random.Random(seed), {}
    for day, rows in days.items():
        mixed = drawn.sample(rows, len(rows))
        files |= {f"{day}/{drawn.randrange(10**9)}": mixed[first::2] for first in range(2) if mixed[first::2]}
    return files


def told_by(home: Path) -> dict[str, tuple[int, str]]:
    return {one.table: (one.rows, one.digest) for one in digests(home / "published/trainledger.duckdb")}


@pytest.fixture(scope="module")
def as_parquet(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    folder = tmp_path_factory.mktemp("parquet")

    def write(name: str, schema: pa.Schema, files: Days) -> dict[str, Any]:
        for file, rows in files.items():
            day, part = file.split("/")
            write_partition(folder / "exports" / name, day, *rows, schema=schema, name=part)
        return {"location": f"exports/{name}"}

    return published(folder, trainledger, write)


def test_json_lines_in_another_order_and_under_other_names_move_no_figure(
    as_parquet: Path, tmp_path: Path, trainledger: Command
) -> None:
    def write(name: str, _: pa.Schema, files: Days) -> dict[str, Any]:
        for number, (file, rows) in enumerate(files.items()):
            day, part = file.split("/")
            write_lines(tmp_path / "exports" / name, day, *rows, name=f"{part}.json{'.gz' * (number % 2)}")
        return {"location": f"exports/{name}"}

    assert told_by(published(tmp_path, trainledger, write, seed=1)) == told_by(as_parquet)


def test_a_bucket_and_a_folder_publish_the_same(as_parquet: Path, tmp_path: Path, trainledger: Command) -> None:
    must_be_installed()
    with storage_emulator(tmp_path) as url:
        client = storage.Client("acme", client_options={"api_endpoint": url}, credentials=AnonymousCredentials())
        bucket = client.create_bucket("acme-billing")

        def write(name: str, schema: pa.Schema, files: Days) -> dict[str, Any]:
            for file, rows in files.items():
                day, part = file.split("/")
                path = write_partition(tmp_path / "exports" / name, day, *rows, schema=schema, name=part)
                bucket.blob(path.relative_to(tmp_path).as_posix()).upload_from_filename(path)
                path.unlink()
            return {"location": f"gs://acme-billing/exports/{name}", "endpoint_url": url}

        assert told_by(published(tmp_path, trainledger, write, seed=2)) == told_by(as_parquet)


def _micros(instant: datetime) -> int:
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_a_table_and_a_folder_publish_the_same(as_parquet: Path, tmp_path: Path, trainledger: Command) -> None:
    """The table is made and filled from the two files that the demo writes for `bq load`."""
    must_be_installed()
    with bigquery_emulator(tmp_path) as server:
        options = {"api_endpoint": server.rest}
        client = bigquery.Client(server.project, client_options=options, credentials=AnonymousCredentials())
        client.create_dataset("exports")

        def write(name: str, schema: pa.Schema, files: Days) -> dict[str, Any]:
            written = Table()
            for rows in files.values():
                written.add(row | {time: _micros(row[time]) for time in TIMES} for row in rows)
            written.write(tmp_path / name, schema)
            columns = client.schema_from_json(tmp_path / name / FOLDER / SCHEMA)
            table = bigquery.Table(f"{server.project}.exports.{name}", schema=columns)
            if name == "gcp":
                table.time_partitioning = bigquery.TimePartitioning(field="export_time")
            client.create_table(table)
            lines = gzip.decompress((tmp_path / name / FOLDER / ROWS).read_bytes()).splitlines()
            assert client.insert_rows_json(table, [json.loads(line) for line in lines]) == []
            return {"location": f"bq://{table.reference}", "endpoint_url": server.rest}

        assert told_by(published(tmp_path, trainledger, write, seed=3)) == told_by(as_parquet)


def test_the_ledger_and_the_oracle_agree_on_the_account(as_parquet: Path) -> None:
    tables = Oracle(as_parquet.parent / "trainledger.yaml", now=NOW).tables()
    found = differences(as_parquet / "published/trainledger.duckdb", tables)
    assert not found, report(found)


def test_no_row_of_the_account_is_held_back(as_parquet: Path) -> None:
    """So that the digests of fct_quarantine, which names objects and rows, can be compared as well."""
    assert query(as_parquet, "select * from marts.fct_quarantine") == []


# what rows that a fee covers have in common, what another column of the order states, and what becomes of a row by its share
SAID_OTHERWISE = {
    "bill_line_id",
    *("line_id", "attribution_line_id", "source_name", "provider_name", "payer_account_id", "usage_month", "billing_currency"),
    *("is_usage", "is_part_of_usage", "sub_account_id", "is_accelerator_type"),  # the last two: machine_place, cost_component
    *("effective_cost", "weight", "is_weight_borrowed", "contracted_cost", "has_invoice", "line_count"),
    *("accelerator_type", "on_demand_list_cost"),  # instance_type, cost_component; what goes where the row goes
    *("part_number", "chip_share"),  # of AWS alone: the parts of a machine's row that its pods have
    "delivery_content_hash",  # by which delivery a row came, not what it states: four ways deliver one row under four hashes
}


def test_whatever_decides_about_a_charge_of_google_decides_between_rows_of_one_time(as_parquet: Path, tmp_path: Path) -> None:
    """A column of evidence that is new in int_gcp_charges belongs into the macro deciding_order."""
    build_file = shutil.copyfile(as_parquet / "build.duckdb", tmp_path / "build.duckdb")
    with duckdb.connect(str(build_file)) as connection:
        columns = connection.execute("select column_name from duckdb_columns() where table_name = 'int_gcp_charges'").fetchall()
    [compiled] = [text for name, text in modelling.compiled(tmp_path).items() if name.endswith(".int_gcp_commitment_shares")]
    [order] = re.findall(r"order by (lines\.charge_period_start.*?lines\.source_object)", compiled, re.DOTALL)
    assert {name for (name,) in columns} - {*re.findall(r"lines\.(\w+)", order)} - SAID_OTHERWISE == set()


def placed(home: Path, source: str, measure: str, where: str = "true") -> Decimal:
    """What runs and residuals of a source carry together."""
    both = " union all ".join(
        f"select {measure} as cost from marts.{table} where source_name = '{source}' and {where}"
        for table in ("fct_run_cell_costs", "fct_residual_costs")
    )
    [(total,)] = query(home, f"select coalesce(sum(cost), 0) from ({both})")
    return total


@needs_samples
def test_a_free_trial_costs_what_its_promotion_takes_back(as_parquet: Path) -> None:
    """Millionths of a dollar by day: 3 x 5 + 1, 5, 2 x 5 + 1, 0; 32 in all, and the promotion takes back each of them."""
    assert placed(as_parquet, "koku", "effective_cost") == Decimal("0.000032")
    assert placed(as_parquet, "koku", "billed_cost", "cost_component = 'credit'") == Decimal("-0.000032")
    assert placed(as_parquet, "koku", "billed_cost") == 0


@needs_samples
def test_the_commitment_rows_of_2019_add_up(as_parquet: Path) -> None:
    """50 + 50 + 30 + 30 + 50 + 50 + 100 + 70 + 70 = 500, less two discounts of 50 and two of 30: 340."""
    assert placed(as_parquet, "cud", "billed_cost") == 340
    [(unbalanced,)] = query(
        as_parquet,
        "select count(*) from marts.fct_reconciliation where method = 'conservation' and difference is distinct from 0",
    )
    assert unbalanced == 0
