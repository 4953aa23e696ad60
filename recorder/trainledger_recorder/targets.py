"""Where a recorder delivers to: a folder, a bucket of S3 or of Cloud Storage. A delivery is whole or absent.

The client of a cloud is a package that the recorder does not bring: it is imported when something is first delivered there.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trainledger_recorder.errors import DeliveryError, UsageError
from trainledger_recorder.files import sync

_PACKAGES = {"s3": "boto3", "gs": "google-cloud-storage"}


@dataclass(frozen=True)
class Options:
    """How a store is reached. None of them is a secret."""

    role_arn: str | None = None
    external_id: str | None = None
    endpoint_url: str | None = None
    impersonate: str | None = None


class Target(Protocol):
    """What delivering needs of a store."""

    def deliver(self, path: Path, key: str, *, replaces: bool = False) -> None:
        """Copy a file to a key whose bytes never change, so that once more is the same; or over an older state of it."""
        ...


def checked_target(location: str) -> str:
    """The location with nothing to be misread: a relative folder is meant from here. UsageError for what is no target."""
    scheme, separator, rest = location.partition("://")
    if not separator:
        return str(Path(location).expanduser().absolute())
    if scheme not in _PACKAGES or not rest.strip("/"):
        raise UsageError(f"{location} cannot be recorded to", "Give --to s3://bucket/prefix, gs://bucket/prefix or a folder.")
    return location.rstrip("/")


def open_target(location: str, options: Options) -> Target:
    """The target of a location."""
    scheme, separator, _ = location.partition("://")
    if not separator:
        return Folder(Path(location))
    try:
        if scheme == "s3":
            from trainledger_recorder import s3

            return s3.Bucket(location, options)
        from trainledger_recorder import gcs

        return gcs.Bucket(location, options)
    except ModuleNotFoundError as error:
        remedy = f"Install {_PACKAGES[scheme]} beside the recorder."
        raise DeliveryError(f"{scheme}:// needs a package that is not installed here ({error.name})", remedy) from error


class Folder:
    """A folder, also of a network's file system: written beside its name and renamed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def deliver(self, path: Path, key: str, *, replaces: bool = False) -> None:
        """Copy a file; readers see it whole."""
        target = self._root / key
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name[-100:]}.{os.getpid()}.tmp")
        try:
            shutil.copyfile(path, beside)
            sync(beside)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
        sync(target.parent)
