"""Servers for tests of Google's sources, in an environment of their own: their pins must not bind ours.

`make .venv-bigquery/installed` installs requirements/bigquery-server.lock. What runs in it is a process with its own home and
free ports; it is known by its answers over HTTP before any client is made, for a client of Google's retries a port where nobody
listens for ten minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.formats.bigquery_types import arrow_schema
from tests.bigquery.described import fields_like
from tests.browser import free_port

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = Path(os.environ.get("TRAINLEDGER_BIGQUERY_SERVER") or ROOT / ".venv-bigquery")
PATIENCE = 60  # seconds that a server may take to start on a busy machine
# the server installs this extension at its start, and would download it
_HOME = "import duckdb_extensions; duckdb_extensions.import_extension('spatial')"


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running BigQuery emulator."""

    rest: str
    grpc: str
    project: str


def must_be_installed() -> None:
    """Skip where the environment is missing; on CI that is a failure."""
    if not (ENVIRONMENT / "bin/python").exists():
        reason = f"{ENVIRONMENT.name} is missing: `make .venv-bigquery/installed` makes it"
        (pytest.fail if os.environ.get("CI") == "1" else pytest.skip)(reason)


@contextmanager
def bigquery_emulator(folder: Path, project: str = "acme-billing") -> Iterator[Emulator]:
    """A server without any table, which forgets everything at its end."""
    environment = {**os.environ, "HOME": str(folder), "PATH": f"{ENVIRONMENT / 'bin'}:{os.environ.get('PATH', '')}"}
    subprocess.run([ENVIRONMENT / "bin/python", "-c", _HOME], env=environment, check=True, cwd=folder, timeout=PATIENCE)
    rest, grpc = free_port(), free_port()
    command = ["start", "--ephemeral", "--rest-port", str(rest), "--grpc-port", str(grpc), "--project", project]
    with _running([str(ENVIRONMENT / "bin/bqemulator"), *command], environment, folder) as process:
        _wait_for(f"http://127.0.0.1:{rest}/readyz", process, folder / "server.log")
        yield Emulator(f"http://127.0.0.1:{rest}", f"127.0.0.1:{grpc}", project)


@contextmanager
def _running(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process for as long as it is needed; what it states is in server.log."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


@contextmanager
def storage_emulator(folder: Path) -> Iterator[str]:
    """The address of a Cloud Storage without any bucket. It does not enforce `if_generation_match`."""
    port = free_port()
    command = ["start", "--host", "127.0.0.1", "--port", str(port), "--in-memory", "--quiet"]
    with _running([str(ENVIRONMENT / "bin/gcp-storage-emulator"), *command], dict(os.environ), folder) as process:
        _wait_for(f"http://127.0.0.1:{port}/storage/v1/b?project=acme", process, folder / "server.log")
        yield f"http://127.0.0.1:{port}"


def analysed(tables: Mapping[str, Sequence[Mapping[str, Any]]], statements: Sequence[str]) -> list[str | None]:
    """What a GoogleSQL analyser states against each statement; None where nothing. Columns are named as in the REST API."""
    question = json.dumps({"tables": tables, "statements": list(statements)})
    script = Path(__file__).with_name("analyse.py")
    finished = subprocess.run(
        [ENVIRONMENT / "bin/python", script], input=question, capture_output=True, text=True, timeout=PATIENCE * 2, check=False
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    answers: list[str | None] = json.loads(finished.stdout)
    return answers


class GoogleSQL:
    """GoogleSQL's reference implementation: a process that answers statements about the rows of one table (answer.py)."""

    def __init__(self) -> None:
        """Start it; the engine itself is made for the first statement, which takes a busy machine a minute or two."""
        command = [str(ENVIRONMENT / "bin/python"), str(Path(__file__).with_name("answer.py"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self, name: str, schema: pa.Schema, rows: pa.Table, statement: str) -> pa.Table:
        """The answer to a statement about rows, with the types of the Storage API."""
        fields = fields_like(schema)
        question = {"name": name, "fields": fields, "rows": plain(rows), "statement": statement}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        assert "error" not in found, found["error"]
        answered = arrow_schema(found)
        return pa.table(
            {field.name: _typed([row[field.name] for row in found["rows"]], field.type) for field in answered}, schema=answered
        )

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


def plain(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON can hold them: times as microseconds, decimals and days as texts."""
    return [_plain(row) for row in rows.to_pylist()]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return str(value) if isinstance(value, (Decimal, date)) else value


def _typed(values: list[Any], found: pa.DataType) -> pa.Array:
    return pa.array([_value(one, found) for one in values], found)


def _value(value: Any, found: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_list(found):
        return [_value(one, found.value_type) for one in value]
    if pa.types.is_struct(found):
        return {field.name: _value(value[field.name], field.type) for field in found}
    if pa.types.is_decimal(found):
        return Decimal(value)
    return date.fromisoformat(value) if pa.types.is_date(found) else value


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, f"the server ended: {log.read_text(errors='replace')[-2000:]}"
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError), urllib.request.urlopen(url, timeout=2):
            return
        time.sleep(0.2)
    raise AssertionError(f"no answer from {url}: {log.read_text(errors='replace')[-2000:]}")
