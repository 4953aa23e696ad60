"""`engine: spark` of a bill of AWS publishes what its rows publish, to the last digit.

Real: Spark on two workers (tests/engines/spark_on_s3.py), the S3 server of the tests, a table of Iceberg on it, whole refreshes.
Drawn: the bills of tests/oracle/any_bill.py, and ordinary rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import psutil
import pytest
import yaml

from connectors.stores import StoreOptions
from connectors.stores.spark_process import SparkProcess
from dagster_project.commands.query import digests
from tests.conftest import Command
from tests.engines.drawn_bill import DIFFERING, drawn_rows
from tests.engines.spark_on_s3 import CATALOGUE, spark_on_s3
from tests.evidence.walked import faults
from tests.oracle import any_bill
from tests.oracle.builders import Exports
from tests.s3 import CREDENTIALS, s3_server

pytestmark = [pytest.mark.slow, pytest.mark.proved_by("engines")]

NOW = "2026-06-20T00:00:00Z"
BUCKET, NAMESPACE, LOCATION = "company-exports", f"{CATALOGUE}.billing", f"iceberg://{CATALOGUE}/billing"
BILLS = {"cur-a": ("2026-04", "2026-05"), "cur-c": ("2026-04",)}  # in Parquet: drawn ones, and one of ordinary rows
ORDINARY = 3000


@dataclass
class Lake:
    """The organisation, its export on S3, and Spark beside it."""

    exports: Exports
    endpoint: str

    @property
    def folder(self) -> Path:
        """Where the organisation's files and homes are."""
        return self.exports.folder

    def config(self, name: str, **bills: dict[str, Any]) -> Path:
        """A configuration of another home, in which some bills are read otherwise."""
        folder = self.folder / name
        folder.mkdir()
        document = yaml.safe_load(self.exports.config().read_text())
        for source in document["sources"]:
            source |= {"location": str(self.folder / source["location"])} | bills.get(source["name"], {})
        path = folder / "trainledger.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    def files(self, bill: str) -> list[str]:
        """The data files of an export, as Spark names them."""
        listed = boto3.client("s3", endpoint_url=self.endpoint).list_objects_v2(Bucket=BUCKET, Prefix=f"{bill}/data/")
        return [f"s3a://{BUCKET}/{one['Key']}" for one in listed["Contents"]]

    def spark(self, *statements: str, files: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Run statements as somebody else in the company would; the rows of the last one."""
        process, found = SparkProcess(f"s3://{BUCKET}", StoreOptions(endpoint_url=self.endpoint)), []
        try:
            if files:
                process.ask("open", files=list(files), view="export")
            for statement in statements:
                found = process.ask("rows", statement=statement)["rows"]
        finally:
            process.close()
        return found


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    exports = Exports(tmp_path_factory.mktemp("lake"))
    with pytest.MonkeyPatch.context() as patch, s3_server() as endpoint:
        # of a machine without accelerators the rows of a record are not found under an engine: docs/sources/aws_cur.md
        patch.setitem(any_bill.NODES, "i-0e", "p5.48xlarge")
        any_bill.write_any_exports(exports, 3)
        exports.bill(drawn_rows(3, ORDINARY), "2026-04", "cur-c")
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        client = boto3.client("s3", endpoint_url=endpoint)
        client.create_bucket(Bucket=BUCKET)
        for bill in BILLS:
            folder = exports.folder / "exports" / bill
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):  # data/ before metadata/, as AWS writes
                client.upload_file(str(path), BUCKET, f"{bill}/{path.relative_to(folder).as_posix()}")
        with spark_on_s3(exports.folder / "spark", endpoint) as environment:
            for name, value in environment.items():
                patch.setenv(name, value)
            yield Lake(exports, endpoint)


@pytest.fixture(scope="module")
def rows(lake: Lake, trainledger: Command) -> dict[str, tuple[int, str]]:
    """What is published where the rows themselves are landed."""
    return published(trainledger, lake.config("rows"))


def published(trainledger: Command, config: Path) -> dict[str, tuple[int, str]]:
    done = trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {one.table: (one.rows, one.digest) for one in digests(config.parent / "home/published/trainledger.duckdb")}


def records(config: Path) -> dict[str, list[dict[str, Any]]]:
    """What was asked of each bill."""
    landing = config.parent / "home/landing"
    return {bill: [json.loads(path.read_text()) for path in sorted((landing / bill).rglob("*query.json"))] for bill in BILLS}


def processes() -> list[str]:
    """Of the processes that this one started, those of an engine that asks."""
    found = (" ".join(one.cmdline()) for one in psutil.Process().children(recursive=True) if one.status() != "zombie")
    return [line for line in found if "spark_program" in line or "SparkSubmit" in line]


def test_files_on_s3_in_groups_publish_what_their_rows_publish(
    lake: Lake, rows: dict[str, tuple[int, str]], trainledger: Command
) -> None:
    read = {"endpoint_url": lake.endpoint, "engine": "spark"}
    config = lake.config("files", **{bill: {"location": f"s3://{BUCKET}/{bill}", **read} for bill in BILLS})
    groups = published(trainledger, config)
    assert {name for name in rows if rows[name] != groups[name]} <= DIFFERING
    asked = records(config)
    assert {bill: len(found) for bill, found in asked.items()} == {bill: len(months) for bill, months in BILLS.items()}
    [one] = asked["cur-c"]
    assert one["engine"] == "spark" and one["row_count"] == ORDINARY > 1.5 * one["answer_row_count"]
    assert not processes(), "Spark is left behind"
    again = trainledger("refresh", "--config", config, now=NOW)
    assert again.returncode == 0 and "Nothing is new" in again.stderr, again.stderr
    assert records(config) == asked
    verified = trainledger("verify", "--landing", "--config", config)
    assert verified.returncode == 0 and "cur-a: 2 deliveries are groups, not the provider's rows" in verified.stdout
    assert not faults(config.parent / "home", config), "a number whose rows do not add up to it"


def test_tables_of_iceberg_in_groups_publish_what_their_rows_publish(
    lake: Lake, rows: dict[str, tuple[int, str]], trainledger: Command
) -> None:
    columns = "* EXCEPT (_file) FROM export"
    for bill in BILLS:
        by_month = "PARTITIONED BY (months(bill_billing_period_start_date))"
        lake.spark(f"CREATE TABLE {NAMESPACE}.`{bill}` USING iceberg {by_month} AS SELECT {columns}", files=lake.files(bill))
    config = lake.config("tables", **{bill: {"location": f"{LOCATION}/{bill}", "engine": "spark"} for bill in BILLS})
    groups = published(trainledger, config)
    assert {name for name in rows if rows[name] != groups[name]} <= DIFFERING
    asked, table = records(config), f"{NAMESPACE}.`cur-a`"
    [first] = lake.spark(f"SELECT snapshot_id FROM {table}.snapshots")
    versions = [f"VERSION AS OF {first['snapshot_id']}" in one["statement"] for one in asked["cur-a"]]
    assert versions == [True] * len(BILLS["cur-a"])
    assert not processes(), "Spark is left behind"
    # one more snapshot, in which May has a line more: May is asked, and no other month
    lake.spark(f"INSERT INTO {table} SELECT * FROM {table} WHERE bill_billing_period_start_date >= '2026-05-01' LIMIT 1")
    done = trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode == 0, done.stderr[-3000:]
    newer = {bill: [one for one in found if one not in asked[bill]] for bill, found in records(config).items()}
    [may] = newer.pop("cur-a")
    assert newer == {"cur-c": []} and f"VERSION AS OF {first['snapshot_id']}" not in may["statement"]
    [before] = [one for one in asked["cur-a"] if "BILLING_PERIOD=2026-05" in one["files"][0]["key"]]
    assert may["row_count"] == before["row_count"] + 1
