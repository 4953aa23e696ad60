"""Stores on the test server, and a look at what they send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from connectors.stores import ObjectStore, StoreOptions
from connectors.stores.opening import open_store
from connectors.stores.s3 import S3Store

BUCKET = "exports"


def store_at(endpoint: str, location: str = f"s3://{BUCKET}/p/cur", **options: Any) -> ObjectStore:
    return open_store(location, base=Path(), options=StoreOptions(endpoint_url=endpoint, **options))


def put(client: Any, key: str, body: bytes = b"x") -> None:
    client.put_object(Bucket=BUCKET, Key=key, Body=body)


def calls_of(store: ObjectStore) -> list[tuple[str, dict[str, str]]]:
    """Record the HTTP calls of a store's client: path and headers as they are sent."""
    assert isinstance(store, S3Store)
    sent: list[tuple[str, dict[str, str]]] = []
    client = store._client()
    client.meta.events.register("before-send.s3", lambda request, **_: sent.append((request.url, dict(request.headers))))
    return sent
