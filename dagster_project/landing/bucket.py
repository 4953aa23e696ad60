"""A landing in a bucket: objects first, `_generation.json` last and only if it is not there; a local mirror by hash for reading.

The mirror is a cache: every file in it is named by its sha256 and fetched again when it is not there. The clients, of S3 and of
Cloud Storage, are those that read exports.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from connectors.errors import ConnectorError
from connectors.stores import Bucket, ObjectInfo
from dagster_project.base import durable, modes
from dagster_project.base.failures import SourceError
from dagster_project.landing.records import (
    ACCEPTED,
    ISSUED,
    RECORD,
    REFUSED,
    TOMBSTONE,
    Generation,
    IssuedLine,
    LandedObject,
    decode,
    encode,
    safe_name,
)
from dagster_project.landing.store import Beside, SourceLanding, Stamp, clear, folder_in, source_landing
from dagster_project.landing.verifying import difference, hash_of, require_same


class BucketLanding:
    """A landing below a prefix of a bucket."""

    def __init__(self, bucket: Bucket, cache: Path) -> None:
        self.bucket = bucket
        self.uri = self.bucket.uri
        self.mirror = cache / "mirror"
        self.staging = cache / "staging"

    def read(self, source: str, partition: str | None = None) -> SourceLanding:
        """Every record of a source or partition, each fetched once and then read from the mirror."""
        return self._read(self._records(source if partition is None else f"{source}/{safe_name(partition)}"))

    def _read(self, infos: Iterable[ObjectInfo]) -> SourceLanding:
        return source_landing((self.bucket.uri_of(info.key), self._record(info)) for info in infos)

    def _records(self, folder: str) -> Iterator[ObjectInfo]:
        for info in self._listed(f"{folder}/"):
            if info.key.endswith((f"/{RECORD}", TOMBSTONE, ACCEPTED)) or f"/{REFUSED}/" in info.key:
                yield info

    def _by_folder(self, source: str) -> dict[str, list[ObjectInfo]]:
        found: dict[str, list[ObjectInfo]] = {}
        for info in self._records(source):
            found.setdefault(info.key.split("/")[1], []).append(info)
        return found

    def folders(self, source: str) -> dict[str, Stamp]:
        """Each partition, with a number for the keys and ETags of its records: these say all, so that nothing else is asked."""
        found = self._by_folder(source).items()
        names = {folder: "\n".join(sorted(f"{info.key}@{info.etag}" for info in infos)) for folder, infos in found}
        return {folder: (0, int(hashlib.sha256(text.encode()).hexdigest()[:15], 16)) for folder, text in names.items()}

    def read_folders(self, source: str, names: Collection[str]) -> Iterator[tuple[str, SourceLanding]]:
        """The records of some partitions, found by one listing."""
        for folder, infos in self._by_folder(source).items() if names else ():
            if folder in names:
                yield folder, self._read(infos)

    def stamps(self, source: str, folder: str) -> dict[str, Stamp]:
        """Nothing: the partition's own stamp tells."""
        return {}

    def is_as(self, stamps: dict[str, Stamp]) -> bool:
        """Yes."""
        return True

    def _listed(self, prefix: str) -> list[ObjectInfo]:
        try:
            return list(self.bucket.list_objects(prefix))
        except ConnectorError as error:
            raise SourceError(
                f"the landing cannot be listed: {error.message.rstrip('.')}",
                where=self.uri,
                remedy=f"{error.remedy} It needs {self.bucket.permissions}.",
            ) from error

    def _record(self, info: ObjectInfo) -> bytes:
        name = hashlib.sha256(f"{self.bucket.uri_of(info.key)}@{info.etag}".encode()).hexdigest()
        path = self.mirror / "records" / name
        if path.exists():
            return path.read_bytes()
        data = self.bucket.get(info.key)
        with modes.owner_alone():  # a look at the landing needs no lock
            durable.put(path, data)
        return data

    def commit(self, generation: Generation, folder: Path, read_next: set[str]) -> None:
        """Upload the staged files, then the record; keep `read_next`, the files that the build will read, in the mirror.

        When another writer landed the same bytes first, its record is kept and this one is dropped.
        """
        for path in sorted(folder.iterdir()):
            self.bucket.upload(path, f"{generation.path}/{path.name}")
        self.bucket.put_new(f"{generation.path}/{RECORD}", encode(generation))
        for landed in generation.objects:
            if landed.file in read_next:
                self._into_mirror(folder / landed.file, landed.sha256)

    def put_record(self, record: Beside) -> None:
        """Write or replace a record that lies beside generations; a put is atomic."""
        self.bucket.put(record.path, encode(record))

    def issued(self) -> list[IssuedLine]:
        """Of every report that was issued from it, the line of the chain."""
        found = self._listed(f"{ISSUED}/")
        return [decode(self._record(info), IssuedLine, self.bucket.uri_of(info.key)) for info in found]

    def remove(self, generation: Generation) -> None:
        """Delete a generation's objects, its record last, so that what is cut short is found again."""
        keys = [info.key for info in self._listed(f"{generation.path}/")]
        for key in sorted(keys, key=lambda key: key.endswith(f"/{RECORD}")):
            self.bucket.delete(key)

    def object_path(self, generation: Generation, landed: LandedObject) -> Path:
        """The object in the mirror, fetched and checked against its hash when it is not there."""
        path = self._mirrored(landed.sha256)
        if not path.exists():
            with folder_in(self.staging) as folder:
                found = self.bucket.download_hashed(f"{generation.path}/{landed.file}", folder / "object")
                require_same([difference(generation, landed, found)])
                self._into_mirror(folder / "object", landed.sha256)
        return path

    def found_hash(self, generation: Generation, landed: LandedObject) -> str | None:
        """The sha256 of an object as it lies in the bucket; None when it is gone."""
        key = f"{generation.path}/{landed.file}"
        if not any(info.key == key for info in self._listed(key)):
            return None
        with modes.owner_alone(), folder_in(self.staging) as folder:
            return self.bucket.download_hashed(key, folder / "object")

    def hash_to_read(self, generation: Generation, landed: LandedObject) -> str | None:
        """The sha256 of what a build reads. A mirrored file that lost a bit goes; the object is fetched, and compared, again."""
        path = self._mirrored(landed.sha256)
        if path.exists() and hash_of(path) != landed.sha256:
            path.unlink()
        return landed.sha256

    def _mirrored(self, sha256: str) -> Path:
        return self.mirror / sha256[:2] / f"{sha256}.parquet"

    def _into_mirror(self, path: Path, sha256: str) -> None:
        target = self._mirrored(sha256)
        target.parent.mkdir(parents=True, exist_ok=True)
        durable.sync(path)
        path.replace(target)

    def recover(self) -> None:
        """Empty the local staging folder. Objects without a record are not seen; landing their delivery again replaces them."""
        clear(self.staging)
