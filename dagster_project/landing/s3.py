"""A landing on S3: objects first, `_generation.json` last with If-None-Match, and a local mirror by hash for reading.

The mirror is a cache: every file in it is named by its sha256 and fetched again when it is not there.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

from dagster_project import durable
from dagster_project.failures import SourceError, UsageError
from dagster_project.landing.records import RECORD, REFUSED, TOMBSTONE, Generation, LandedObject, encode, safe_name
from dagster_project.landing.store import SourceLanding, clear

CHUNK = 1 << 20
ALREADY_THERE = {"PreconditionFailed", "ConditionalRequestConflict", "412"}


class S3Landing:
    """A landing below s3://bucket/prefix. Endpoint, region and credentials come from the AWS chain and environment."""

    def __init__(self, uri: str, cache: Path) -> None:
        bucket, _, prefix = uri.removeprefix("s3://").partition("/")
        if not bucket:
            raise UsageError(f"landing '{uri}' names no bucket", remedy="Write s3://bucket/prefix.")
        self.uri = uri
        self.bucket = bucket
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self.mirror = cache / "mirror"
        self.staging = cache / "staging"

    @cached_property
    def client(self) -> Any:
        """The S3 client, made when it is first needed."""
        import boto3
        from botocore.config import Config

        return boto3.client("s3", config=Config(retries={"mode": "standard", "max_attempts": 5}))

    def read(self, source: str, partition: str | None = None) -> SourceLanding:
        """Every record of a source or partition, each fetched once and then read from the mirror."""
        landed = SourceLanding()
        for key, etag in self._records(source if partition is None else f"{source}/{safe_name(partition)}"):
            landed.add(f"{self.uri.rstrip('/')}/{key.removeprefix(self.prefix)}", self._record(key, etag))
        return landed.tidied()

    def _records(self, folder: str) -> list[tuple[str, str]]:
        return [
            (key, etag)
            for key, etag in self._list(f"{self.prefix}{folder}/")
            if key.endswith((f"/{RECORD}", TOMBSTONE)) or f"/{REFUSED}/" in key
        ]

    def _list(self, prefix: str) -> list[tuple[str, str]]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
            return [(entry["Key"], entry["ETag"].strip('"')) for page in pages for entry in page.get("Contents", [])]
        except (BotoCoreError, ClientError) as error:
            raise SourceError(
                f"the landing cannot be listed: {error}",
                where=self.uri,
                remedy="It needs s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject below its prefix.",
            ) from error

    def _record(self, key: str, etag: str) -> bytes:
        name = hashlib.sha256(f"{self.bucket}/{key}@{etag}".encode()).hexdigest()
        path = self.mirror / "records" / name
        if path.exists():
            return path.read_bytes()
        data = self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write(path, data)
        return data

    def commit(self, generation: Generation, folder: Path, read_next: set[str]) -> None:
        """Upload the staged files, then the record; keep what the build will read in the mirror."""
        from botocore.exceptions import ClientError

        below = f"{self.prefix}{generation.path}/"
        for path in sorted(folder.iterdir()):
            self.client.upload_file(str(path), self.bucket, below + path.name)
        try:
            self.client.put_object(Bucket=self.bucket, Key=below + RECORD, Body=encode(generation), IfNoneMatch="*")
        except ClientError as error:
            if error.response["Error"]["Code"] not in ALREADY_THERE:  # another writer landed the same bytes: its record stands
                raise
        for landed in generation.objects:
            if landed.file in read_next:
                self._into_mirror(folder / landed.file, landed.sha256)

    def put_record(self, path: str, data: bytes) -> None:
        """Write or replace one small record; a put is atomic."""
        self.client.put_object(Bucket=self.bucket, Key=self.prefix + path, Body=data)

    def remove(self, generation: Generation) -> None:
        """Delete a generation's objects, its record last, so that what is cut short is found again."""
        below = f"{self.prefix}{generation.path}/"
        keys = [key for key, _ in self._list(below)]
        for key in sorted(keys, key=lambda key: key.endswith(f"/{RECORD}")):
            self.client.delete_object(Bucket=self.bucket, Key=key)

    def object_path(self, generation: Generation, landed: LandedObject) -> Path:
        """The object in the mirror, fetched and checked against its hash when it is not there."""
        path = self._mirrored(landed.sha256)
        if not path.exists():
            self._fetch(f"{self.prefix}{generation.path}/{landed.file}", landed.sha256)
        return path

    def _mirrored(self, sha256: str) -> Path:
        return self.mirror / sha256[:2] / f"{sha256}.parquet"

    def _into_mirror(self, path: Path, sha256: str) -> None:
        target = self._mirrored(sha256)
        target.parent.mkdir(parents=True, exist_ok=True)
        durable.sync(path)
        path.replace(target)

    def _fetch(self, key: str, sha256: str) -> None:
        from botocore.exceptions import ClientError

        self.staging.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.staging)
        digest = hashlib.sha256()
        try:
            with os.fdopen(handle, "wb") as file:
                for chunk in self.client.get_object(Bucket=self.bucket, Key=key)["Body"].iter_chunks(CHUNK):
                    digest.update(chunk)
                    file.write(chunk)
        except ClientError as error:
            raise SourceError(f"a landed object cannot be read: {error}", where=f"s3://{self.bucket}/{key}") from error
        if digest.hexdigest() != sha256:
            raise SourceError(
                "a landed object has other bytes than were landed",
                where=f"s3://{self.bucket}/{key}",
                remedy="Restore the object's version, or remove its generation to land it again.",
            )
        self._into_mirror(Path(name), sha256)

    def recover(self) -> list[str]:
        """Empty the local staging folder. Objects without a record are not seen; landing their delivery again replaces them."""
        return clear(self.staging)
