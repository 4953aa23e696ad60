"""A real PostgreSQL server for tests. Without one: a failure under CI, a listed skip elsewhere."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser import free_port

# Debian keeps most of its programs off PATH
FOUND = [
    *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True),
    *map(Path, filter(None, [shutil.which("initdb")])),
]
PROGRAMS = FOUND[0].resolve().parent if FOUND else None
# the server refuses to be root's
THEIRS = {"user": "postgres", "group": "postgres", "extra_groups": ()} if os.geteuid() == 0 else {}


@contextmanager
def postgres() -> Iterator[dict[str, str]]:
    """An empty database until the block ends, as the variables by which libpq finds it."""
    if PROGRAMS is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "no PostgreSQL on this machine; `make test` installs it where it may"
        )
    folder, port = Path(tempfile.mkdtemp()), str(free_port())
    if THEIRS:
        shutil.chown(folder, "postgres")
    data, there = folder / "data", {"PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "postgres", "PGDATABASE": "postgres"}
    made = [PROGRAMS / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "--no-locale", "-E", "UTF8"]
    options = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={port}", "-c", "unix_socket_directories=", "-c", "fsync=off"]
    try:
        subprocess.run(made, check=True, capture_output=True, cwd=folder, **THEIRS)
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen([PROGRAMS / "postgres", "-D", data, *options], stderr=log, cwd=folder, **THEIRS)
        try:
            while subprocess.run([PROGRAMS / "pg_isready", "-q"], env=os.environ | there, check=False).returncode:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
            yield there
        finally:
            server.send_signal(signal.SIGINT)  # without waiting for its clients
            server.wait(timeout=60)
    finally:
        shutil.rmtree(folder)
