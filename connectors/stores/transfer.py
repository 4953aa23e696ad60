"""What every client does alike: copy bytes to a file with their hash, and name an object that changed or is too large."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from connectors.errors import ConnectorError, ExportChangedError, ExportContentError, Place, SourceUnreadableError
from connectors.stores import ObjectInfo

CHUNK = 1 << 20
_ATTEMPTS = 3  # clients retry requests, but neither a body that breaks off nor two writers that collide
_T = TypeVar("_T")


class Remote:
    """A location in a cloud: the full name of an object is the location's with the key behind it."""

    uri: str

    def uri_of(self, key: str) -> str:
        """Return the full name of an object for messages."""
        return f"{self.uri}/{key}"


def retried(reason: str, call: Callable[[], _T]) -> _T:
    """Call again where the last try failed for this reason."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return call()
        except ConnectorError as error:
            if error.reason != reason:
                raise
    return call()


def write_hashed(chunks: Iterable[bytes], path: Path) -> str:
    """Write chunks to a file, make it survive a power cut, and return the sha256 of its bytes."""
    digest = hashlib.sha256()
    with path.open("wb") as target:
        for chunk in chunks:
            digest.update(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    return digest.hexdigest()


def hash_of(path: Path) -> str:
    """Make a file that a client wrote survive a power cut, and return the sha256 of its bytes."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def changed(uri: str, key: str) -> ExportChangedError:
    """Name an object that is no longer the one that was listed."""
    return ExportChangedError(f"{uri} changed or vanished after it was listed.", place=Place(key))


def missing(uri: str, key: str) -> SourceUnreadableError:
    """Name an object of ours that is gone."""
    remedy = "Restore the object, for example an earlier version of it."
    return SourceUnreadableError(f"{uri} is not there.", place=Place(key), reason="missing_object", remedy=remedy)


def broken(uri: str, key: str, what: str) -> SourceUnreadableError:
    """Name an object of which not all came, or not what is stored."""
    remedy = "Try again; if it stays, check the network and the endpoint."
    return SourceUnreadableError(f"{uri}: {what}.", place=Place(key), reason="broken_stream", remedy=remedy)


def check_size(uri: str, info: ObjectInfo, limit: int) -> None:
    """Refuse an object that is larger than such an object may be."""
    if info.size > limit:
        raise ExportContentError(
            f"{uri} has {info.size} bytes; the limit for such a file is {limit}.",
            place=Place(info.key, value=str(info.size)),
            reason="too_large",
            remedy="Check what wrote this file: manifests and run records are small.",
        )
