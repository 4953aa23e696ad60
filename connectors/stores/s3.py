"""Objects in S3 through boto3: listing, conditional reads and writes. The only client of S3, for exports and for a landing.

Reading an export asks for s3:ListBucket on the bucket and s3:GetObject below the prefix; a landing also for s3:PutObject and
s3:DeleteObject. Credentials and roles are the matter of `s3_access`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from boto3.exceptions import S3UploadFailedError
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from connectors.errors import ConnectorError, Place, SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo, StoreOptions
from connectors.stores.s3_access import expected_region, meaning_of, s3_client
from connectors.stores.transfer import CHUNK, Remote, broken, changed, check_size, retried, write_hashed

_CHANGED = {"404", "NoSuchKey", "NoSuchVersion", "412", "PreconditionFailed"}  # the listed object is gone or another one


class S3Store(Remote):
    """The objects below s3://bucket/prefix, by keys relative to the prefix, to be read. S3 is not asked before the first call.

    Every failure is a ConnectorError with the object's name, a reason and a remedy; of AWS's answer only the code is repeated.
    """

    def __init__(self, location: str, options: StoreOptions | None = None) -> None:
        bucket, _, prefix = location.removeprefix("s3://").partition("/")
        if not bucket:
            remedy = "Write s3://bucket/prefix."
            raise SourceUnreadableError(f"{location} names no bucket.", reason="missing_bucket", remedy=remedy)
        # only the end is trimmed: a legacy report without a prefix has keys that begin with '/'
        prefix = prefix.rstrip("/")
        self.uri = f"s3://{bucket}/{prefix}" if prefix else f"s3://{bucket}"
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._options = options or StoreOptions()
        self._payer = {"RequestPayer": "requester"} if self._options.requester_pays else {}

    @cached_property
    def client(self) -> Any:
        """The client of boto3, made when it is first needed."""
        try:
            return s3_client(self._options)
        except (BotoCoreError, ClientError, ValueError) as error:  # ValueError: an endpoint that is no URL
            raise self._failure(error) from error

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """List all pages; S3 lists in the order of UTF-8 bytes, which is the order of the keys."""
        pages = self.client.get_paginator("list_objects_v2")
        with self._named_errors():
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix, **self._payer):
                for entry in page.get("Contents", ()):
                    if not entry["Key"].endswith("/"):  # the empty objects that consoles create as folders
                        key = entry["Key"][len(self._prefix) :]
                        yield ObjectInfo(key, entry["Size"], entry["ETag"].strip('"'), entry["LastModified"])

    def get(self, key: str, listed: ObjectInfo | None = None) -> bytes:
        """Return a small object whole; with `listed`, exactly the object that was listed, else ExportChangedError."""
        return retried("broken_stream", lambda: b"".join(self._stream(key, listed)))

    def download_hashed(self, key: str, path: Path, listed: ObjectInfo | None = None) -> str:
        """Stream an object to a file and return its sha256; a stream that breaks is started again, a changed object is not."""
        return retried("broken_stream", lambda: write_hashed(self._stream(key, listed), path))

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a small object whole."""
        check_size(self.uri_of(info.key), info, limit)
        return self.get(info.key, info)

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Copy an object to a local file in one stream and return its sha256."""
        return self.download_hashed(info.key, path, info)

    def _named(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._prefix + key, **self._payer}

    def _stream(self, key: str, listed: ObjectInfo | None) -> Iterator[bytes]:
        """Yield the bytes of an object, all of them or an error."""
        condition = {"IfMatch": f'"{listed.etag}"'} if listed else {}
        size, read = listed.size if listed else None, 0
        try:
            answer = self.client.get_object(**self._named(key), **condition)
            size = answer["ContentLength"] if size is None else size
            body = answer["Body"]
            with body:  # closes it; what `with` itself gives is the raw connection
                for chunk in body.iter_chunks(CHUNK):
                    read += len(chunk)
                    yield chunk
        except (ClientError, NoCredentialsError) as error:
            raise self._failure(error, key, listed) from error
        except BotoCoreError as error:
            raise self._broken(key, read, size, type(error).__name__) from error
        if read != size:
            raise self._broken(key, read, size, "short body")

    @contextlib.contextmanager
    def _named_errors(self, key: str | None = None) -> Iterator[None]:
        try:
            yield
        except (BotoCoreError, ClientError) as error:
            raise self._failure(error, key) from error
        except S3UploadFailedError as error:  # boto3 wraps the error of an upload in a text
            raise self._failure(error.__context__ or error, key) from error

    def _broken(self, key: str, read: int, size: int | None, what: str) -> SourceUnreadableError:
        of = "" if size is None else f" of {size}"
        return broken(self.uri_of(key), key, f"the stream ended after {read}{of} bytes ({what})")

    def _failure(self, error: BaseException, key: str | None = None, listed: ObjectInfo | None = None) -> ConnectorError:
        """Translate an AWS error. Its text is left out: it may repeat an access key's id."""
        where = self.uri if key is None else self.uri_of(key)
        code = error.response["Error"].get("Code", "?") if isinstance(error, ClientError) else type(error).__name__
        action = getattr(error, "operation_name", "the request")
        if listed and code in _CHANGED:
            return changed(where, listed.key)
        reason, remedy = meaning_of(code, action, self._bucket, self._options, expected_region(error))
        return SourceUnreadableError(f"{where}: {action} failed with {code}.", place=Place(key), reason=reason, remedy=remedy)


class S3Bucket(S3Store):
    """The same objects, to be written as well: a landing."""

    permissions = "s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject below its prefix"

    def put(self, key: str, data: bytes, **condition: str) -> None:
        """Write or replace a small object; readers see the old or the new one."""
        with self._named_errors(key):
            self.client.put_object(**self._named(key), Body=data, **condition)

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object unless its key is taken, and return whether it was free. Of several writers exactly one wins."""
        try:
            retried("write_conflict", lambda: self.put(key, data, IfNoneMatch="*"))
        except SourceUnreadableError as error:
            if error.reason != "key_taken":
                raise
            return False
        return True

    def upload(self, path: Path, key: str) -> None:
        """Copy a local file of any size to an object."""
        with self._named_errors(key):
            self.client.upload_file(str(path), self._bucket, self._prefix + key, ExtraArgs=self._payer)

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is no error."""
        with self._named_errors(key):
            self.client.delete_object(**self._named(key))
