"""Schema raw on Apache Spark: the tables that raw.py gives DuckDB, read by Spark from the same landed Parquet.

Tables, not views, because a Spark view cannot name a list of files; each is written once and read by several models. Which
files count, their columns and the small tables are raw.py's word; here is only how Spark says it. Needs the extra `scale`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

from connectors.registry import connector_for
from dagster_project.election.election import Election
from dagster_project.election.run_tags import TAG_COLUMNS, tag_names
from dagster_project.failures import TrainledgerError
from dagster_project.kinds import KINDS, Kind, built_kinds
from dagster_project.landing.deriving.typed_select import TEXT_SUFFIX, typed_columns
from dagster_project.settings import Rules
from dagster_project.warehouse.raw import FILE_COLUMNS, TABLES, landed_files, small_tables

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from connectors.formats.schema import Schema
    from dagster_project.landing.land import Landing

SPARK_TYPES = {"VARCHAR": "string", "VARCHAR[]": "array<string>", "MAP(VARCHAR, VARCHAR)": "map<string,string>"}
TEXT_MAP = SPARK_TYPES["MAP(VARCHAR, VARCHAR)"]


class SparkReadError(TrainledgerError):
    """Spark did not read what the landing holds."""


def open_session(folder: Path, cores: int = 2, memory: str = "2g", **options: str) -> SparkSession:
    """A session on this machine; its tables stand below a folder, its catalog ends with it. dbt's session method joins it."""
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
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("trainledger")
    for name, value in (settings | options).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def create_raw(spark: SparkSession, rules: Rules, landing: Landing, election: Election, months: Sequence[date]) -> None:
    """Create or replace every table of schema raw."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS raw")
    for kind in built_kinds():
        files = landed_files(landing, election, kind)
        _save(_landed_rows(spark, kind, rules, files), kind)
        expected, found = _landed_count(election, kind), spark.table(f"raw.{kind}").count()
        if expected != found:
            raise SparkReadError(
                f"Spark read {found} of {expected} landed rows of {kind}", where=landing.store.uri, remedy="Report it."
            )
    for name, rows in small_tables(rules, election, months).items():
        _save(_frame(spark, TABLES[name], rows), name)


def _landed_count(election: Election, kind: Kind) -> int:
    return sum(member.contents.rows for member in election.members if member.generation.kind == kind)


def _save(frame: DataFrame, name: str) -> None:
    frame.write.mode("overwrite").format("parquet").saveAsTable(f"raw.{name}")


def _landed_rows(
    spark: SparkSession, kind: Kind, rules: Rules, files: Sequence[tuple[tuple[Any, ...], dict[str, str]]]
) -> DataFrame:
    from pyspark.sql import functions as F

    schema: Schema = connector_for(kind).SCHEMA
    shapes: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for row, physical in files:
        shapes.setdefault(tuple(physical.items()), []).append(row[0])
    empty = _frame(spark, {**dict(typed_columns(schema)), "_file": "VARCHAR", "_row_number": "BIGINT"}, [])
    typed = reduce(lambda one, other: one.unionByName(other), [empty, *(_typed(spark, schema, p) for p in shapes.values())])
    facts = _frame(spark, FILE_COLUMNS, [(_spark_path(spark, row[0]), *row[1:]) for row, _ in files])
    joined = typed.join(F.broadcast(facts), F.col("_file") == F.col("file"))
    added = [
        F.col("source_name").alias("_source_name"),
        F.col("content_hash").alias("_delivery_content_hash"),
        F.col("source_object").alias("_source_object"),
        F.col("_row_number"),
        F.col("published_at").alias("_published_at"),
    ]
    return joined.select(*(F.col(name) for name, _ in typed_columns(schema)), *added, *_flags(kind), *_run_tag(kind, rules))


def _typed(spark: SparkSession, schema: Schema, paths: list[str]) -> DataFrame:
    """Files of one physical shape as their connector declares them, with the file and the 1-based row in it."""
    from pyspark.sql import functions as F

    source = spark.read.parquet(*(re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in paths))
    physical = {field.name: field.dataType for field in source.schema}
    columns = [expression for column in schema for expression in _column(column.name, column.type, physical.get(column.name))]
    file = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "/")
    return source.select(*columns, file.alias("_file"), (F.col("_metadata.row_index") + 1).alias("_row_number"))


def _column(name: str, declared: str, physical: DataType | None) -> list[Column]:
    from pyspark.sql import functions as F

    types = {"Text": "string", "Number": "double", "BigInt": "bigint", "TextMap": TEXT_MAP}
    column = F.lit(None) if physical is None else F.col(f"`{name}`")
    if declared == "TextMap":
        nothing = F.create_map().cast(TEXT_MAP)
        is_map = physical is not None and physical.typeName() == "map"  # a writer that saw no value gave it no type of its own
        return [(F.coalesce(column.cast(TEXT_MAP), nothing) if is_map else nothing).alias(name)]
    if declared != "Number":
        return [column.cast(types.get(declared, declared.lower())).alias(name)]
    is_double = physical is not None and physical.typeName() == "double"
    text = F.nullif(F.trim(column.cast("string")), F.lit(""))
    return [
        (column if is_double else F.lit(None)).cast("double").alias(name),
        (F.lit(None) if is_double else text).cast("string").alias(name + TEXT_SUFFIX),
    ]


def _spark_path(spark: SparkSession, path: str) -> str:
    """A path as Spark names the file it read, where special characters are encoded."""
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.Path(path).toUri().toString()


def _flags(kind: Kind) -> list[Column]:
    """The flags of raw.py, by the same facts of the file."""
    from pyspark.sql import functions as F

    facts = KINDS[kind]
    if facts.payer_column is None:
        return [F.lit(True).alias("_is_book")]
    payer = F.col(facts.payer_column)
    is_book, is_elected = F.array_contains("book_payers", payer), F.array_contains("version_payers", payer)
    if facts.usage_column:
        month = F.date_format(facts.usage_column, "yyyy-MM")
        is_book = F.array_contains("book_months", F.concat(payer, F.lit("/"), month))
    if facts.version_column:
        version = F.coalesce(F.col(facts.version_column), F.lit(""))
        is_elected = F.array_contains("row_versions", F.concat(payer, F.lit("/"), version))
    return [is_book.alias("_is_book"), *([is_elected.alias("_is_elected_version")] if facts.fact == "carbon" else [])]


def _run_tag(kind: Kind, rules: Rules) -> list[Column]:
    from pyspark.sql import functions as F

    if kind not in TAG_COLUMNS:
        return []
    column, names = tag_names(kind, rules.run_tag_keys)
    values = [F.nullif(F.col(column)[F.lit(name)], F.lit("")) for name in names]
    return [F.coalesce(*values, F.lit(None).cast("string")).alias("_run_tag")]


def _frame(spark: SparkSession, columns: dict[str, str], rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    declared = ", ".join(f"`{name}` {SPARK_TYPES.get(kind, kind)}" for name, kind in columns.items())
    types = list(columns.values())
    filled = [tuple(_value(value, kind) for value, kind in zip(row, types, strict=True)) for row in rows]
    return spark.createDataFrame(filled, declared)


def _value(value: Any, kind: str) -> Any:
    """What Spark takes: it converts nothing by itself, and a time without a zone would be local time; ours are UTC."""
    if value is not None and kind.startswith("DECIMAL"):
        return Decimal(value)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
