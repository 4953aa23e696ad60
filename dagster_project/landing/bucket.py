"""A landing in a bucket: objects first, `_generation.json` last and only if it is not there; a local mirror by hash for reading.

The mirror is a cache: every file in it is named by its sha256 and fetched again when it is not there. The clients, of S3 and of
Cloud Storage, are those that read exports.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.errors import ConnectorError
from connectors.stores import Bucket, ObjectInfo
from dagster_project.base import durable, modes
from dagster_project.base.failures import SourceError
from dagster_project.landing.bundles import BUNDLES, Bundle
from dagster_project.landing.opened_bundles import OpenBundles, Stamp, is_bundle
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
from dagster_project.landing.store import (
    Beside,
    SourceLanding,
    clear,
    folder_in,
    joined,
    source_landing,
)
from dagster_project.landing.verifying import difference, hash_of, require_same


class BucketLanding:
    """A landing below a prefix of a bucket."""

    def __init__(self, bucket: Bucket, cache: Path) -> None:
        self.bucket = bucket
        self.uri = self.bucket.uri
        self.mirror = cache / "mirror"
        self.staging = cache / "staging"
        self._opened = OpenBundles()
        self._infos: dict[str, ObjectInfo] = {}  # of bundles, by their keys
        self._bundles: dict[str, dict[str, Stamp]] = {}  # of each source, as last listed
        self._fetched: tuple[str, Bundle] | None = None  # the bundle that was last compared, as it lies in the bucket

    def read(self, source: str) -> SourceLanding:
        """Every record of a source, each fetched once and then read from the mirror."""
        folders = self._read(self._records(source))
        return joined([folders, *(self.read_bundle(source, name) for name in self.bundles(source))])

    def read_partition(self, source: str, partition: str) -> SourceLanding:
        """The records in the folder of a partition."""
        return self._read(self._records(f"{source}/{safe_name(partition)}"))

    def bundles(self, source: str) -> dict[str, Stamp]:
        """Each bundle of a source, with a number for its ETag."""
        infos = [info for info in self._listed(f"{source}/{BUNDLES}/") if is_bundle(info.key.rpartition("/")[2])]
        self._infos |= {info.key: info for info in infos}
        stamps = {info.key.removeprefix(f"{source}/"): (_number(f"{info.key}@{info.etag}"), info.size) for info in infos}
        self._bundles[source] = stamps
        return stamps

    def read_bundle(self, source: str, name: str) -> SourceLanding:
        """The records of a bundle."""
        return source_landing(self.bundle(source, name).records())

    def bundle(self, source: str, name: str) -> Bundle:
        """A bundle in the mirror, fetched when it is not there."""
        info, uri = self._infos[f"{source}/{name}"], self.bucket.uri_of(f"{source}/{name}")
        path = self.mirror / "bundles" / hashlib.sha256(f"{uri}@{info.etag}".encode()).hexdigest()
        if not path.exists():
            with modes.owner_alone(), folder_in(self.staging) as folder:
                self.bucket.download_hashed(info.key, folder / "bundle")
                path.parent.mkdir(parents=True, exist_ok=True)
                durable.sync(folder / "bundle")
                (folder / "bundle").replace(path)
        return Bundle(path, uri)

    def put_bundle(self, source: str, name: str, staged: Path) -> None:
        """Upload a staged bundle; a put is atomic."""
        self.bucket.upload(staged, f"{source}/{name}")

    def files_of(self, generation: Generation) -> tuple[bytes, dict[str, bytes]] | None:
        """The record and the objects of a generation in its own folder; None where something of them is gone."""
        names = (RECORD, *(landed.file for landed in generation.objects))
        keys = [f"{generation.path}/{name}" for name in names]
        if not {info.key for info in self._listed(f"{generation.path}/")}.issuperset(keys):
            return None
        record, *objects = map(self.bucket.get, keys)
        return record, dict(zip(names[1:], objects, strict=True))

    def remove_bundled(self, generations: Iterable[Generation]) -> None:
        """Delete the objects of generations that are in a bundle."""
        for generation in generations:
            self.remove(generation)

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
        return {folder: (0, _number(text)) for folder, text in names.items()}

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

    def lay(self, generation: Generation, landed: LandedObject, path: Path) -> None:
        """Put an object at a path, to be read: a link to it in the mirror, or its bytes out of a bundle."""
        found = self._opened.of(self, generation, self._bundles.get(generation.source, {}))
        if found is None:
            try:
                path.symlink_to(self.object_path(generation, landed).absolute())
            except ConnectorError:  # it may be in a bundle since
                found = self._opened.of(self, generation)
                if found is None:
                    raise
        if found:
            path.write_bytes(found.file(generation, landed.file) or b"")
            require_same([difference(generation, landed, hash_of(path), found.where)])

    def bundle_of(self, generation: Generation) -> str:
        """The bundle that a generation is in; '' where it has a folder of its own."""
        found = self._opened.of(self, generation)
        return found.where if found else ""

    def object_path(self, generation: Generation, landed: LandedObject) -> Path:
        """The object in the mirror, fetched and checked against its hash when it is not there."""
        path = self._mirrored(landed.sha256)
        if not path.exists():
            with folder_in(self.staging) as folder:
                found = self.bucket.download_hashed(f"{generation.path}/{landed.file}", folder / "object")
                require_same([difference(generation, landed, found)])
                self._into_mirror(folder / "object", landed.sha256)
        return path

    @contextmanager
    def opened(self, generation: Generation, landed: LandedObject) -> Iterator[Path]:
        """An object of a generation that is in no bundle, to be read for a moment: what no build reads is not mirrored."""
        with modes.owner_alone(), folder_in(self.staging) as folder:
            self.bucket.download_hashed(f"{generation.path}/{landed.file}", folder / "object")
            yield folder / "object"

    def found_hash(self, generation: Generation, landed: LandedObject) -> str | None:
        """The sha256 of an object as it lies in the bucket; None when it is gone."""
        key = f"{generation.path}/{landed.file}"
        if not any(info.key == key for info in self._listed(key)):
            return self._found_in_bundle(generation, landed)
        with modes.owner_alone(), folder_in(self.staging) as folder:
            return self.bucket.download_hashed(key, folder / "object")

    def _found_in_bundle(self, generation: Generation, landed: LandedObject) -> str | None:
        """The sha256 of an object of a bundle, which is fetched again from the bucket, once for all its members that follow."""
        if (known := self._opened.of(self, generation)) is None:
            return None
        if self._fetched is None or self._fetched[0] != known.where:
            with modes.owner_alone(), folder_in(self.staging) as folder:
                key = known.where.removeprefix(f"{self.uri}/")
                self.bucket.download_hashed(key, folder / "bundle")
                self._fetched = known.where, Bundle(folder / "bundle", known.where)  # what is mapped stays
        data = self._fetched[1].file(generation, landed.file)
        return None if data is None else hashlib.sha256(data).hexdigest()

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


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:15], 16)
