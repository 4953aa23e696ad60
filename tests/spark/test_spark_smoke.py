"""One mart with all its ancestors on Apache Spark: the same landing, the same dbt project, the same digits as on DuckDB."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from dagster_project.kinds import built_kinds
from dagster_project.publishing.digest import columns_of, table_digest
from dagster_project.warehouse.raw import TABLES
from tests.conftest import Command
from tests.line.kit import NOW
from tests.spark.two_clouds import write_two_clouds

pytestmark = pytest.mark.slow
MART = "fct_training_run_costs"
ROOT = Path(__file__).resolve().parents[2]
SPARK_SECONDS = 600


@dataclass(frozen=True)
class Built:
    """A connection that sees both engines' tables, and what DuckDB's publication says of its own."""

    connection: duckdb.DuckDBPyConnection
    parquet: Path
    digests: dict[str, str]

    def from_spark(self, table: str) -> str:
        """A SELECT of a table that Spark built."""
        return f"select * from read_parquet('{self.parquet / table}/*.parquet')"


def require_spark() -> None:
    """Without Java or pyspark: a failure under CI, a listed skip elsewhere."""
    refuse = pytest.fail if os.environ.get("CI") else pytest.skip
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        refuse("no Java on this machine; `make test` installs it where it may")
    if importlib.util.find_spec("pyspark") is None:
        refuse("pyspark is not installed: it is in the extra `scale`")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Iterator[Built]:
    require_spark()
    home, spark = tmp_path_factory.mktemp("two clouds"), tmp_path_factory.mktemp("spark")  # a blank, which Spark encodes in paths
    config = write_two_clouds(home)
    refreshed = trainledger("refresh", "--config", config, now=NOW)
    assert refreshed.returncode == 0, refreshed.stdout[-3000:] + refreshed.stderr[-3000:]
    command = [sys.executable, "-m", "tests.spark.on_spark", str(config), str(spark), MART]
    environment = os.environ | {"TRAINLEDGER_NOW": NOW}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SPARK_SECONDS, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    publication = json.loads((home / "home" / "published" / "PUBLICATION.json").read_bytes())
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        for name, file in (("build", "build.duckdb"), ("published", "published/trainledger.duckdb")):
            connection.execute(f"attach '{home / 'home' / file}' as {name} (read_only)")
        yield Built(connection, spark / "parquet", publication["tables"])


def test_the_costs_of_runs_on_both_clouds_have_the_digest_that_duckdb_published(built: Built) -> None:
    built.connection.execute(f"create schema marts; create table marts.{MART} as {built.from_spark(f'marts.{MART}')}")
    assert columns_of(built.connection, "marts", MART) == columns_of(built.connection, "marts", MART, "published")
    found = table_digest(built.connection, "marts", MART)
    different = built.connection.execute(f"from marts.{MART} except from published.marts.{MART}").fetchall()
    assert found.digest == built.digests[MART], different
    rules = built.connection.execute(f"select distinct attribution_rule from marts.{MART} where billed_cost <> 0").fetchall()
    assert {"managed_job", "tag", "resource_time"} == {rule for (rule,) in rules}, "a mart without a rule proves nothing of it"


def test_spark_reads_each_raw_row_as_duckdb_does(built: Built) -> None:
    built.connection.execute("use build")  # a view's tables are looked up there
    counts = {}
    for table in (*built_kinds(), *TABLES):
        duck, spark = f"select * from raw.{table}", built.from_spark(f"raw.{table}")
        names = [[row[0] for row in built.connection.execute(f"describe {rows}").fetchall()] for rows in (duck, spark)]
        assert names[0] == names[1], table
        for one, other in ((duck, spark), (spark, duck)):
            assert built.connection.execute(f"{one} except all {other}").fetchall() == [], table
        [(counts[table],)] = built.connection.execute(f"select count(*) from ({spark})").fetchall()
    assert min(counts[name] for name in ("aws_cur", "gcp_billing", "training_runs", "delivery_totals", "months")) > 0, counts
