"""Apache Spark as a company has it: a master, two workers that are processes of their own, a catalogue of Iceberg tables that
stays, its warehouse on the tests' S3 server. `make engines` fetches it; where it is missing, what asks for it is skipped.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from tests.spark.workers import SETTINGS, cluster

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".engines" / "spark"
CATALOGUE, WAREHOUSE = "lake", "lake-warehouse"
WORKERS = 2


def engine_home() -> Path:
    """The Spark that was fetched; a listed skip where it was not."""
    found = list((ROOT / ".venv-spark").glob("lib/python3*/site-packages/pyspark"))
    if shutil.which("java") is None or not found or not (JARS / "installed").is_file():
        pytest.skip("Spark with Iceberg and S3 is not here: `make engines` fetches it, and it needs Java and Maven")
    return found[0]


@contextlib.contextmanager
def spark_on_s3(folder: Path, endpoint: str) -> Iterator[dict[str, str]]:
    """The environment of a client of two workers that read and write the buckets of an S3 server."""
    home, classes = engine_home(), f"{JARS}/*"
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket=WAREHOUSE)
    settings = {
        **SETTINGS,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.driver.extraClassPath": classes,
        "spark.executor.extraClassPath": classes,
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        f"spark.sql.catalog.{CATALOGUE}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{CATALOGUE}.type": "hadoop",
        f"spark.sql.catalog.{CATALOGUE}.warehouse": f"s3a://{WAREHOUSE}/tables",
    }
    folder.mkdir(parents=True, exist_ok=True)
    with cluster(WORKERS, folder, {}, home, settings) as environment:
        yield environment
