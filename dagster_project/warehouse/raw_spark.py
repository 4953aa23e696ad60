"""Schema raw on Apache Spark: the tables that raw.py gives DuckDB, made from the same landed Parquet by the same SQL text.

sqlglot writes DuckDB's text in Spark's dialect; here is only how Spark opens files and keeps tables. Tables, not views, because
a Spark view cannot name a list of files; each is written once and read by several models. Needs the extra `scale`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import duckdb
from sqlglot import exp, parse_one

from dagster_project.election.election import Election
from dagster_project.failures import TrainledgerError
from dagster_project.kinds import built_kinds
from dagster_project.landing.deriving.typed_select import empty_select
from dagster_project.landing.land import Landing
from dagster_project.settings import Rules
from dagster_project.warehouse import raw

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkReadError(TrainledgerError):
    """Spark did not read what the landing holds."""


def open_session(folder: Path, cores: int = 2, memory: str = "2g", **options: str) -> SparkSession:
    """A session on this machine; its tables are below a folder, its catalog ends with it. dbt's session method joins it."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.driver.memory": memory,
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        # naive times of ours are UTC; overflow is an error, never null; Parquet's own timestamps
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # as DuckDB: of two entries of one name in a map the later one counts
        "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("trainledger")
    for name, value in (settings | options).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def create_raw(spark: SparkSession, rules: Rules, landing: Landing, election: Election, months: Sequence[date]) -> None:
    """Create or replace every table of schema raw."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS raw")
    with duckdb.connect() as con:
        raw.create_raw(con, rules, landing, election, months)
        for name, columns in ({"landed_files": raw.FILE_COLUMNS} | raw.TABLES).items():
            rows = spark.createDataFrame(con.sql(f"FROM raw.{name}").to_arrow_table())
            _save(rows.to(_run(spark, empty_select(columns.items())).schema), f"raw.{name}")
    for kind in built_kinds():
        files = raw.landed_files(landing, election.members, kind)
        _save(_run(spark, raw.rows_of(kind, rules, files, lambda paths: _view_of(spark, paths))), f"raw.{kind}")
        expected = sum(member.contents.rows for member in election.members if member.generation.kind == kind)
        if (read := spark.table(f"raw.{kind}").count()) != expected:
            what = f"Spark read {read} of {expected} landed rows of {kind}"
            raise SparkReadError(what, where=landing.store.uri, remedy="Report it.")


def _run(spark: SparkSession, text: str) -> DataFrame:
    """Rows of a SELECT written for DuckDB, whose TIMESTAMP is without a zone and UTC, as Spark's is in a session of ours."""
    select = parse_one(text, read="duckdb")
    for kind in select.find_all(exp.DataType):
        if kind.is_type("timestamp"):
            kind.replace(exp.DataType.build("timestamptz"))
    return spark.sql(select.sql("spark"))


def _view_of(spark: SparkSession, paths: list[str]) -> str:
    """A view of files of one physical shape, with `_file` and `file_row_number` as DuckDB's read_parquet gives them."""
    name = f"files_{uuid4().hex}"
    rows = spark.read.parquet(*(re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in paths))
    path = "regexp_replace(_metadata.file_path, '^file:/+', '/')"  # a blank is %20 in it, but a plus sign is one
    file = f"url_decode(replace({path}, '+', '%2B')) as _file"
    rows.selectExpr("*", file, "_metadata.row_index as file_row_number").createTempView(name)
    return name


def _save(frame: DataFrame, table: str) -> None:
    frame.write.mode("overwrite").format("parquet").saveAsTable(table)
