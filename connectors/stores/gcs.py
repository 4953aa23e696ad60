"""Objects in Cloud Storage through google-cloud-storage: listing, reading, writing a landing. The only client of Cloud Storage.

Reading an export asks for storage.objects.list on the bucket and storage.objects.get; a landing also for storage.objects.create
and storage.objects.delete, which replacing an object needs too. An object is known by its generation, which changes with
its bytes and with nothing else: a move to a colder class of storage, or another label, is no news.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from google.api_core.exceptions import NotFound, PreconditionFailed
from google.cloud import storage
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse
from google.cloud.storage.retry import DEFAULT_RETRY

from connectors.errors import SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo, StoreOptions
from connectors.stores.google_access import CALL, client_of, named_errors
from connectors.stores.google_locations import bucket_location
from connectors.stores.transfer import Remote, broken, changed, check_size, hash_of, missing

# else the client asks for the bucket itself beside every call, for traces: a reader of objects may not, and it shows in audits
os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
_RETRY = DEFAULT_RETRY.with_timeout(CALL)
_FIELDS = "items(name,size,generation,timeCreated),nextPageToken"


class BucketStore(Remote):
    """The objects below gs://bucket/prefix, by keys relative to the prefix. Nothing is asked before the first call."""

    def __init__(self, location: str, options: StoreOptions | None = None) -> None:
        self._bucket, self._prefix = bucket_location(location)
        self.uri = f"gs://{self._bucket}/{self._prefix}".rstrip("/")
        self.options = options or StoreOptions()

    @cached_property
    def client(self) -> storage.Client:
        """The client, made when it is first needed. It reads and lists, for which no project is named."""
        return client_of(storage.Client, None, self.uri, "list", self.options)

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """List all pages; Cloud Storage lists in the order of UTF-8 bytes, which is the order of the keys."""
        with named_errors(self.uri, "list", self.options):
            found = self.client.list_blobs(self._bucket, prefix=self._prefix + prefix, fields=_FIELDS, timeout=CALL, retry=_RETRY)
            for blob in found:
                if not blob.name.endswith("/"):  # the empty objects that consoles create as folders
                    key = blob.name[len(self._prefix) :]
                    yield ObjectInfo(key, blob.size, str(blob.generation), blob.time_created)

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a small object whole."""
        check_size(self.uri_of(info.key), info, limit)
        return self._whole(info.key, int(info.etag))

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Copy the bytes that are stored, checked against their checksum; those of another generation are ExportChangedError."""
        return self._download(info.key, path, int(info.etag))

    def _whole(self, key: str, generation: int | None) -> bytes:
        with TemporaryDirectory() as folder:
            self._download(key, Path(folder) / "object", generation)
            return (Path(folder) / "object").read_bytes()

    def _download(self, key: str, path: Path, generation: int | None) -> str:
        where = self.uri_of(key)
        with named_errors(where, "read", self.options, key):
            try:
                self._blob(key).download_to_filename(
                    str(path), raw_download=True, if_generation_match=generation, timeout=CALL, retry=_RETRY
                )
            except (NotFound, PreconditionFailed) as error:
                raise (missing(where, key) if generation is None else changed(where, key)) from error
            except (DataCorruption, InvalidResponse) as error:
                raise broken(where, key, f"what was read is not what is stored ({type(error).__name__})") from error
        return hash_of(path)

    def _blob(self, key: str) -> storage.Blob:
        return self.client.bucket(self._bucket).blob(self._prefix + key)


class WritableBucket(BucketStore):
    """The same objects, to be written as well: a landing. What goes up is checked against its checksum by the server."""

    permissions = "storage.objects.list, get, create and delete, for example by roles/storage.objectUser on the bucket"

    def get(self, key: str) -> bytes:
        """Return a small object whole."""
        return self._whole(key, None)

    def download_hashed(self, key: str, path: Path) -> str:
        """Copy an object to a local file and return its sha256."""
        return self._download(key, path, None)

    def put(self, key: str, data: bytes, generation: int | None = None) -> None:
        """Write or replace a small object; readers see the old or the new one. Generation 0: only where there is none."""
        with named_errors(self.uri_of(key), "write", self.options, key):
            self._blob(key).upload_from_string(
                data, "application/octet-stream", if_generation_match=generation, timeout=CALL, retry=_RETRY
            )

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object unless its key is taken, and return whether it was free. Of several writers exactly one wins."""
        try:
            self.put(key, data, 0)
        except SourceUnreadableError as error:
            if not isinstance(error.__cause__, PreconditionFailed):
                raise
            return False
        return True

    def upload(self, path: Path, key: str) -> None:
        """Copy a local file of any size to an object."""
        with named_errors(self.uri_of(key), "write", self.options, key):
            self._blob(key).upload_from_filename(str(path), "application/octet-stream", timeout=CALL, retry=_RETRY)

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is no error."""
        with named_errors(self.uri_of(key), "write", self.options, key), suppress(NotFound):
            self._blob(key).delete(timeout=CALL, retry=_RETRY)
