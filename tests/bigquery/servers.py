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
from pathlib import Path
from typing import Any

import pytest

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


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, f"the server ended: {log.read_text(errors='replace')[-2000:]}"
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError), urllib.request.urlopen(url, timeout=2):
            return
        time.sleep(0.2)
    raise AssertionError(f"no answer from {url}: {log.read_text(errors='replace')[-2000:]}")
