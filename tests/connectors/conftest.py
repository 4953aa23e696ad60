"""A bucket of a real S3 server for the tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.connectors.buckets import BUCKET


@pytest.fixture
def s3(endpoint: str, made_up_credentials: None) -> Iterator[Any]:
    """A client of an empty server with one bucket."""
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket=BUCKET)
    yield client
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
        if keys := [{"Key": entry["Key"]} for entry in page.get("Contents", ())]:
            client.delete_objects(Bucket=BUCKET, Delete={"Objects": keys})
    client.delete_bucket(Bucket=BUCKET)
