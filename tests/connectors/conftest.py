"""A real S3 server for the tests that ask for it. It is started in this process and spoken to over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.connectors.buckets import BUCKET


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    from moto.server import ThreadedMotoServer  # slow to import, and most tests need no server

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of an empty server with one bucket, and an environment without any real credentials."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS", "AWS_ROLE_ARN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "planted-key-id",
        "AWS_SECRET_ACCESS_KEY": "planted-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }.items():
        monkeypatch.setenv(name, value)
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket=BUCKET)
    yield client
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        if keys := [{"Key": entry["Key"]} for entry in page.get("Contents", ())]:
            client.delete_objects(Bucket=BUCKET, Delete={"Objects": keys})
    client.delete_bucket(Bucket=BUCKET)
