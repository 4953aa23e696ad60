"""What an object store must offer to a connector.

A store lists and reads; it never writes to its location. Local folders and S3 look alike from here, so that a copied
export works without a cloud. The clients are modules of this folder; `connectors.stores.opening` chooses between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

READ_LIMIT = 64 << 20  # manifests and run records; data objects are fetched to disk


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object as listed. `key` is relative to the location and '/'-separated."""

    key: str
    size: int
    etag: str
    last_modified: datetime
    version_id: str | None = None


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """The per-source settings of trainledger.yaml that a store needs. None of them is a secret."""

    role_arn: str | None = None
    external_id: str | None = None
    endpoint_url: str | None = None
    requester_pays: bool = False


class ObjectStore(Protocol):
    """A location that can be listed and read."""

    uri: str

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects below a prefix in the order of their keys."""
        ...

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a small object whole; one above the limit is an ExportContentError."""
        ...

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Copy an object to a local file in one stream and return its sha256; ExportChangedError if it is another one now."""
        ...

    def uri_of(self, key: str) -> str:
        """Return the full name of an object for messages."""
        ...
