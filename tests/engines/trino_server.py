"""A real Trino server over the tests' own S3 server, for tests of bills that are asked where they lie.

`make engines` unpacks it below .engines. Its catalogue of tables is a folder, its one connector that of Hive, with which a table
of a CUR is made in Athena as well. It is known by its answers before a test asks it, and ended by the test module that began it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.browser import free_port
from tests.s3 import KEY_ID, SECRET

ROOT = Path(__file__).resolve().parents[2]
SERVER = Path(os.environ.get("TRAINLEDGER_TRINO_SERVER") or ROOT / ".engines/trino-server-368")
PATIENCE = 180  # seconds that it may take to start on a busy machine; 20 on an idle one
_CONFIG = """
coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
node.internal-address=127.0.0.1
query.max-memory=400MB
query.max-memory-per-node=400MB
query.max-total-memory-per-node=500MB
memory.heap-headroom-per-node=200MB
"""
_CATALOG = """
connector.name=hive
hive.metastore=file
hive.metastore.catalog.dir=file://{folder}/catalog
hive.allow-register-partition-procedure=true
hive.s3.endpoint={s3}
hive.s3.path-style-access=true
hive.s3.ssl.enabled=false
hive.s3.aws-access-key={key}
hive.s3.aws-secret-key={secret}
"""
ELSEWHERE = "elsewhere"  # a second catalog over the same tables, which reads times of Parquet in a zone of its own
_JAVA = ("-Xmx1G", "-Duser.timezone=UTC", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Djdk.attach.allowAttachSelf=true")
_TYPES = {"string": "varchar", "large_string": "varchar", "double": "double", "int64": "bigint", "bool": "boolean"}


@dataclass(frozen=True)
class Trino:
    """A server that answers, and the bucket server that it reads."""

    port: int
    s3: str

    def url(self, table: str, catalog: str = "hive") -> str:
        """What a source names a table by."""
        return f"trino+http://127.0.0.1:{self.port}/{catalog}/bills/{table}"

    def run(self, sql: str) -> list[Any]:
        """The answer to a statement, by Trino's own client."""
        from trino.dbapi import connect

        cursor = connect(host="127.0.0.1", port=self.port, user="test", catalog="hive", schema="bills").cursor()
        cursor.execute(sql)
        return cursor.fetchall()

    def table(self, name: str, location: str, types: Mapping[str, str]) -> None:
        """A table over the months of an export below `location`, as AWS makes it for Athena: a partition each."""
        columns = ", ".join(f'"{column}" {kind}' for column, kind in {**types, "billing_period": "varchar"}.items())
        self.run(
            f"CREATE TABLE hive.bills.{name} ({columns}) WITH (format = 'PARQUET', external_location = '{location}',"
            " partitioned_by = ARRAY['billing_period'])"
        )
        self.run(f"CALL hive.system.sync_partition_metadata('bills', '{name}', 'ADD', false)")

    def add_month(self, name: str, month: str, location: str) -> None:
        """Give a table one more month."""
        names, values = "ARRAY['billing_period']", f"ARRAY['{month}']"
        self.run(f"CALL hive.system.register_partition('bills', '{name}', {names}, {values}, '{location}')")


def must_be_installed() -> None:
    """Skip where the server, a Java runtime or the client is missing; on CI that is a failure."""
    missing = None
    if not (SERVER / "lib").is_dir():
        missing = f"{SERVER.name} is missing: `make engines` unpacks it"
    elif shutil.which("java") is None:
        missing = "no Java here"
    if missing:
        (pytest.fail if os.environ.get("CI") == "1" else pytest.skip)(missing)


@contextmanager
def trino_server(folder: Path, s3: str) -> Iterator[Trino]:
    """A server without any table, which reads the buckets of one S3 server and forgets everything at its end."""
    port, etc = free_port(), folder / "etc"
    (etc / "catalog").mkdir(parents=True)
    (etc / "config.properties").write_text(_CONFIG.format(port=port))
    (etc / "log.properties").write_text("io.trino=WARN\n")
    catalog = _CATALOG.format(folder=folder, s3=s3, key=KEY_ID, secret=SECRET)
    (etc / "catalog/hive.properties").write_text(catalog)
    (etc / f"catalog/{ELSEWHERE}.properties").write_text(f"{catalog}hive.parquet.time-zone=Asia/Tokyo\n")
    settings = {
        "node.environment": "test",
        "node.id": "one",
        "node.data-dir": folder / "data",
        "plugin.dir": _plugins(folder),
        "config": etc / "config.properties",
        "catalog.config-dir": etc / "catalog",
        "log.levels-file": etc / "log.properties",
    }
    given = [f"-D{name}={value}" for name, value in settings.items()]
    command = ["java", *_JAVA, *given, "-cp", f"{SERVER / 'lib'}/*", "io.trino.server.TrinoServer"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    try:
        _wait_for(process, port, folder / "server.log")
        trino = Trino(port, s3)
        trino.run("CREATE SCHEMA hive.bills")
        yield trino
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)


def types_in(files: list[Path]) -> dict[str, str]:
    """The columns of all files of an export, and their types in Trino."""
    found: dict[str, str] = {}
    for file in files:
        for field in pq.read_schema(file):
            if not pa.types.is_null(field.type):
                found.setdefault(field.name, _type_of(field.type))
    return found


def _type_of(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "timestamp(3)"
    if pa.types.is_map(kind):
        return "map(varchar, varchar)"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    return _TYPES[str(kind)]


def _plugins(folder: Path) -> Path:
    """The one plugin that is needed: with all sixty a start takes minutes."""
    plugins = folder / "plugin"
    plugins.mkdir()
    (plugins / "hive").symlink_to(SERVER / "plugin/hive")
    return plugins


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/info", timeout=5) as answer:
                if not json.load(answer)["starting"]:
                    return
        except OSError:
            pass
        time.sleep(0.5)
    raise RuntimeError(f"Trino did not start:\n{log.read_text()[-3000:]}")
