"""dbt on Apache Spark as a process of its own: a session, schema raw from the landed Parquet, the models, the marts as Parquet.

Run by path, as dbt_process.py is, with what on_spark.py wrote down: nothing is decided here. Where Spark is, its own settings
say (`SPARK_CONF_DIR`, `SPARK_HOME`, `MASTER`, `PYSPARK_SUBMIT_ARGS`); where nobody says, it is this machine. Schema raw is
tables, not views, because a Spark view cannot name a list of files; each is written once and read by several models.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from dagster_project.warehouse import dbt_process

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOWN_ROWS = 3
# what an answer depends on, whoever's Spark it is
OURS = {
    # naive times of ours are UTC; overflow is an error, never null; Parquet's own timestamps
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    # as DuckDB: of two entries of one name in a map the later one counts
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # the names of this build's tables are this session's own, whatever catalog the company has
    "spark.sql.catalogImplementation": "in-memory",
    # products and quotients of the macros are made for it (docs/methodology/exactness.md)
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
}
OF_THIS_MACHINE = {
    "spark.driver.memory": "4g",  # with 2 GB the plan of int_power_readings did not fit beside those before it
    "spark.sql.ui.retainedExecutions": "1",  # plans of statements that are done, kept for a page that is off
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
}
SAID = ("SPARK_CONF_DIR", "SPARK_HOME", "MASTER", "PYSPARK_SUBMIT_ARGS")


def local(path: Path | str) -> str:
    """A path of the file system that all machines mount, wherever a cluster's own default lies. Spark takes it as it is written:
    a blank as %20 would be another folder, and an empty one."""
    return f"file://{path}"


def open_session(folder: Path) -> SparkSession:
    """The session of this build, which dbt's session method joins. Its tables are below a folder, its catalog ends with it."""
    from pyspark.sql import SparkSession

    settings = OURS | {"spark.sql.warehouse.dir": local(folder / "warehouse")}
    if not any(name in os.environ for name in SAID):
        settings |= OF_THIS_MACHINE
    builder = SparkSession.builder.appName("trainledger")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def keep_settings() -> None:
    """Leave the session's settings as they are: dbt-spark turns ANSI mode off before each statement, and lets no profile
    say otherwise. A sum of 39 digits would be null then, and a zero the text 0E-12."""
    from dbt.adapters.spark.session import Connection, Cursor

    def cursor(self: Connection) -> Cursor:
        return Cursor()

    Connection.cursor = cursor  # type: ignore[method-assign]


def create_raw(spark: SparkSession, plan: dict[str, Any], folder: Path, build_file: Path) -> None:
    """Every table of schema raw: the small ones from the build file, the others from the landed Parquet."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS raw")
    with duckdb.connect(str(build_file), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        for name, empty in plan["small"].items():
            place = folder / "small" / name
            place.mkdir(parents=True)
            connection.sql(f"FROM raw.{name}").write_parquet(str(place / "rows.parquet"))
            spark.catalog.createTable(f"raw.{name}", local(place), "parquet", spark.sql(empty).schema)
    for name, paths in plan["views"].items():
        _view_of(spark, name, paths)
    for kind, of in plan["kinds"].items():
        _save(spark.sql(of["select"]), f"raw.{kind}")
        if (read := spark.table(f"raw.{kind}").count()) != of["rows"]:
            raise ValueError(f"Spark read {read} of {of['rows']} landed rows of {kind}")


def _view_of(spark: SparkSession, name: str, paths: list[str]) -> None:
    """A view of files of one physical shape, with `_file` and `file_row_number` as DuckDB's read_parquet gives them."""
    rows = spark.read.parquet(*(local(re.sub(r"([*?\[\]{}\\])", r"\\\1", path)) for path in paths))
    path = "regexp_replace(_metadata.file_path, '^file:/+', '/')"  # a blank is %20 in it, but a plus sign is one
    file = f"url_decode(replace({path}, '+', '%2B')) as _file"
    rows.selectExpr("*", file, "_metadata.row_index as file_row_number").createTempView(name)


def _save(frame: DataFrame, table: str) -> None:
    frame.write.mode("overwrite").format("parquet").saveAsTable(table)


def keep(spark: SparkSession, plan: dict[str, Any], folder: Path, results: Path) -> None:
    """What outlives this process: the marts as Parquet, and the first rows of each failed test behind a query of DuckDB's."""
    document = json.loads(results.read_bytes())
    for number, result in enumerate(document["results"]):
        sql, result["compiled_code"] = result.get("compiled_code"), None  # nobody else reads Spark's SQL
        if result["status"] in ("fail", "warn") and sql:
            path = folder / "failing" / str(number)
            spark.sql(sql).limit(SHOWN_ROWS).write.parquet(local(path))
            result["compiled_code"] = "from read_parquet('{}/*.parquet')".format(str(path).replace("'", "''"))
    results.write_text(json.dumps(document))
    for table in plan["tables"]:
        if spark.catalog.tableExists(table):
            spark.table(table).write.parquet(local(folder / "tables" / table))


def run(folder: Path, build_file: Path, arguments: list[str]) -> int:
    """Raw tables, one dbt command, and what it left. Returns dbt's exit code."""
    plan = json.loads((folder / "plan.json").read_bytes())
    spark = open_session(folder)
    try:
        create_raw(spark, plan, folder, build_file)
        keep_settings()
        code = dbt_process.run(arguments)
        if code in (0, 1):
            keep(spark, plan, folder, Path(os.environ["DBT_TARGET_PATH"]) / "run_results.json")
    finally:
        end(spark)
    return code


def end(spark: SparkSession) -> None:
    """End the session and wait for its Java process, which must not write on when the refresh has gone on."""
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    dbt_process.follow(int(sys.argv[1]))
    gc.disable()
    home = Path(os.environ["TRAINLEDGER_BUILD_FOLDER"])
    try:
        code = run(Path(sys.argv[2]), home / os.environ["TRAINLEDGER_DUCKDB_PATH"], sys.argv[3:])
    except Exception:
        traceback.print_exc()
        code = 2  # as dbt says it where dbt itself did not work
    sys.exit(code)
