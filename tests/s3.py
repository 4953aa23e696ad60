"""A real S3 server for the tests that ask for it, in this process and spoken to over HTTP, and credentials that open no other.

tests/conftest.py makes the fixtures known to every folder. Each module has its own server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

KEY_ID, SECRET = "planted-key-id", "planted-secret"
CREDENTIALS: Mapping[str, str] = {
    "AWS_ACCESS_KEY_ID": KEY_ID,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


@contextmanager
def s3_server(port: int = 0) -> Iterator[str]:
    """The address of a server that listens until the block ends."""
    from moto.server import ThreadedMotoServer  # slow to import, and most tests need no server

    server = ThreadedMotoServer(port=port, verbose=False)
    server.start()
    host, found = server.get_host_and_port()
    try:
        yield f"http://{host}:{found}"
    finally:
        server.stop()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def made_up_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without any real credentials."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
