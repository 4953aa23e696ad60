"""Stores on the test server, and a look at what they send."""

from __future__ import annotations

from collections.abc import Iterator
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
    client = store.client
    client.meta.events.register("before-send.s3", lambda request, **_: sent.append((request.url, dict(request.headers))))
    return sent


def denying(client: Any, operation: str, code: str, status: int, times: int = 1_000) -> None:
    """Let one operation of a client answer with an error so many times, as the server has no policies by default."""
    from botocore.awsrequest import AWSResponse

    body = f"<Error><Code>{code}</Code><Message>user planted-key-id is not authorized</Message></Error>".encode()
    left = [times]

    def answer(request: Any, **_: Any) -> Any:
        class Raw:
            def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
                yield body

        left[0] -= 1
        return AWSResponse(request.url, status, {"Content-Type": "application/xml"}, Raw()) if left[0] >= 0 else None

    client.meta.events.register(f"before-send.s3.{operation}", answer)
