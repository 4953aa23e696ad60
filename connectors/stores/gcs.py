"""Objects in Cloud Storage through google-cloud-storage: listing and reading. The only client of Cloud Storage.

It asks for storage.objects.list on the bucket and storage.objects.get. An object is known by its generation, which changes with
its bytes and with nothing else: a move to a colder class of storage, or another label, is no news.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from google.api_core.exceptions import NotFound, PreconditionFailed
from google.cloud import storage
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse
from google.cloud.storage.retry import DEFAULT_RETRY

from connectors.stores import READ_LIMIT, ObjectInfo, StoreOptions
from connectors.stores.google_access import CALL, client_of, named_errors
from connectors.stores.google_locations import bucket_location
from connectors.stores.transfer import Remote, broken, changed, check_size, hash_of

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
        with TemporaryDirectory() as folder:
            self.fetch(info, Path(folder) / "object")
            return (Path(folder) / "object").read_bytes()

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Copy the bytes that are stored, checked against their checksum; those of another generation are ExportChangedError."""
        where = self.uri_of(info.key)
        blob = self.client.bucket(self._bucket).blob(self._prefix + info.key)
        with named_errors(where, "read", self.options, info.key):
            try:
                blob.download_to_filename(
                    str(path), raw_download=True, if_generation_match=int(info.etag), timeout=CALL, retry=_RETRY
                )
            except (NotFound, PreconditionFailed) as error:
                raise changed(where, info.key) from error
            except (DataCorruption, InvalidResponse) as error:
                raise broken(where, info.key, f"what was read is not what is stored ({type(error).__name__})") from error
        return hash_of(path)
