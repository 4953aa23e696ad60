"""Where a recorder delivers to: a bucket of S3 or Cloud Storage by the product's own clients, or a folder. A delivery is whole
or not there."""

import os
import shutil
from pathlib import Path
from typing import Protocol

from connectors.stores import StoreOptions
from dagster_project import durable
from dagster_project.failures import UsageError

SCHEMES = ("s3", "gs")


class Target(Protocol):
    """What delivering needs of a store."""

    def deliver(self, path: Path, key: str) -> None:
        """Copy a file to a key whose bytes never change: once more is the same."""
        ...

    def replace(self, path: Path, key: str) -> None:
        """Copy a file to a key that may hold an older state of it."""
        ...


def checked_target(location: str) -> str:
    """The location with nothing to be misread: a relative folder is meant from here. UsageError for what is no target."""
    scheme, separator, rest = location.partition("://")
    if not separator:
        return str(Path(location).expanduser().absolute())
    if scheme not in SCHEMES or not rest.strip("/"):
        raise UsageError(
            f"{location} cannot be recorded to", remedy="Give --to s3://bucket/prefix, gs://bucket/prefix or a folder."
        )
    return location.rstrip("/")


def open_target(location: str, options: StoreOptions) -> Target:
    """The target of a location; the client of a cloud is imported here and nowhere else."""
    if location.startswith("s3://"):
        from connectors.stores.s3 import S3Bucket

        return _S3(S3Bucket(location, options))
    if location.startswith("gs://"):
        from connectors.stores.gcs import WritableBucket

        return WritableBucket(location, options)
    return Folder(Path(location))


class _S3:
    def __init__(self, bucket: object) -> None:
        self._upload = bucket.upload  # type: ignore[attr-defined]

    def deliver(self, path: Path, key: str) -> None:
        self._upload(path, key)

    replace = deliver


class Folder:
    """A folder, also of a network's file system: written beside its name and renamed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def deliver(self, path: Path, key: str) -> None:
        """Copy a file; readers see it whole."""
        target = self._root / key
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name[-100:]}.{os.getpid()}.tmp")
        try:
            shutil.copyfile(path, beside)
            durable.sync(beside)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
        durable.sync(target.parent)

    replace = deliver
