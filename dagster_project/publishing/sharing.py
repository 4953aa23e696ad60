"""The publication in a bucket, where BI tools read: its Parquet files, and manifest.json, which names those of one publication.

A file is named by its table, month and hash, so it is uploaded once and never changed; a publication is swapped by one write of
manifest.json. Files of the publication before stay, for whoever is still reading by its manifest; older ones are deleted. Killed
at any instant, readers have the manifest before and all its files, and the next refresh goes on.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project.base import durable
from dagster_project.base.failures import SourceError
from dagster_project.publishing.parts import LINK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connectors.stores import Bucket

FORM = 1  # of manifest.json
MANIFEST = "manifest.json"
TABLES, LISTS = "tables/", "lists/"
AT_A_TIME = 8  # uploads; a client of boto3 keeps ten connections
_OURS = re.compile(rf"{TABLES}[a-z0-9_]+/[^/]+\.[0-9a-f]{{16}}\.parquet|{LISTS}[a-z0-9_]+/files\.txt")


@dataclass(frozen=True, slots=True)
class Shared:
    """What was brought to the bucket: how many files, and their bytes."""

    location: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _File:
    """One Parquet file of the publication."""

    table: str
    part: str
    sha256: str
    path: Path
    rows: int | None  # None for a view

    @property
    def key(self) -> str:
        return f"{TABLES}{self.table}/{self.part}.{self.sha256[:16]}.parquet"


def share(published: Path, record: dict[str, Any], bucket: Bucket) -> Shared:
    """Bring a bucket to the publication that PUBLICATION.json (`record`) is of; ConnectorError where the bucket refuses."""
    files = list(_files(published / LINK, record))
    there = {info.key: info.size for info in bucket.list_objects()}
    before = _manifest(bucket) if MANIFEST in there else {"files": []}
    new = [file for file in files if there.get(file.key) != file.path.stat().st_size]
    for file in new:
        if durable.sha256_of(file.path) != file.sha256:
            raise SourceError(
                f"{file.path} is not the file that was published",
                remedy="Run `trainledger refresh --full`: it writes the publication again.",
            )
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda file: bucket.upload(file.path, file.key), new))
    lists = _lists(bucket, files)
    for key, text in lists.items():
        bucket.put(key, text.encode())
    bucket.put(MANIFEST, json.dumps(_document(record, files), indent=1).encode())
    kept = {file.key for file in files} | {file["path"] for file in before["files"]} | lists.keys()
    for key in sorted(there.keys() - kept):
        if _OURS.fullmatch(key):  # what else lies below the prefix is somebody's
            bucket.delete(key)
    return Shared(bucket.uri, len(new), sum(file.path.stat().st_size for file in new))


def _files(folder: Path, record: dict[str, Any]) -> Iterable[_File]:
    for name, sha256 in sorted(record["parquet"].items()):
        table, _, part = name.removesuffix(".parquet").partition("/")
        month = part.partition("=")[2] or part
        rows = record["files"].get(table, {}).get(month)
        if rows is None and table in record["parts"]:
            rows = record["parts"][table].get(month, (0,))[0]
        yield _File(table, part, sha256, folder / name, rows)


def _manifest(bucket: Bucket) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(bucket.get(MANIFEST))
        if found["form"] == FORM and all(isinstance(file["path"], str) for file in found["files"]):
            return found
    except (ValueError, TypeError, LookupError):
        pass  # something else has that name
    raise SourceError(
        f"{bucket.uri_of(MANIFEST)} is not a manifest that this version writes",
        remedy="Give `publish_to` a prefix of its own, which nothing else writes to.",
    )


def _lists(bucket: Bucket, files: Iterable[_File]) -> dict[str, str]:
    """For tools that read one table by a list of its files: Athena and Hive by the folder, BigQuery by the file."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        found[f"{LISTS}{file.table}/files.txt"].append(bucket.uri_of(file.key))
    return {key: "".join(f"{uri}\n" for uri in uris) for key, uris in found.items()}


def _document(record: dict[str, Any], files: Iterable[_File]) -> dict[str, Any]:
    listed = [
        {
            "table": file.table,
            "part": file.part,
            "path": file.key,
            "rows": file.rows,
            "bytes": file.path.stat().st_size,
            "sha256": file.sha256,
        }
        for file in files
    ]
    of_publication = ("build_id", "fingerprint", "code_version", "tables")
    return {"form": FORM, **{name: record[name] for name in of_publication}, "files": listed}
