"""Folders `_PARTITIONTIME=YYYY-MM-DD` or `_PARTITIONDATE=...`, one per partition of a BigQuery table: a folder is a delivery.

There is no manifest, so the newest file's time is when the partition was published. A Parquet file that lies in no such folder
is refused by name: left aside in silence, its costs would be missing from the bill. A second folder of a day is refused as well:
its rows may be those of the first. JSON lines are read where they are all that a partition's folder has; beside Parquet they
would be the same rows once more, and are reported as not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from itertools import groupby

from connectors.deliveries import Delivery, Refusal, identity_of, refusal
from connectors.errors import ExportContentError, Place
from connectors.stores import ObjectInfo, ObjectStore

_PARQUET = re.compile(r"(?:.*/)?(?![._])[^/]*\.parquet", re.IGNORECASE | re.DOTALL)
_JSON_LINES = re.compile(
    r"_PARTITION(?:TIME|DATE)=[^/]*/(?![._])[^/]*\.(?:json|jsonl|ndjson)(?:\.gz)?", re.IGNORECASE | re.DOTALL
)
_FOLDER = re.compile(r"_PARTITION(?:TIME|DATE)=(\d{4}-\d{2}-\d{2})", re.ASCII)


def find_partition_deliveries(
    store: ObjectStore, kind: str, partition_of: Callable[[date], str | None]
) -> Iterator[Delivery | Refusal]:
    """Yield a delivery for each partition, by its day; `partition_of` names it, or returns None for a day that is none."""
    files = [info for info in store.list_objects() if _PARQUET.fullmatch(info.key) or _JSON_LINES.fullmatch(info.key)]
    files.sort(key=_folder_of)  # by keys alone, a folder inside of it would lie between two files of a partition
    taken: set[date] = set()
    for folder, group in groupby(files, key=_folder_of):
        every = tuple(group)
        objects = tuple(info for info in every if _PARQUET.fullmatch(info.key)) or every
        day = _day_of(folder)
        is_second = day in taken
        partition = partition_of(day) if day and not is_second else None
        published_at = max(info.last_modified for info in objects)
        if day and partition:
            taken.add(day)
            yield Delivery(kind, partition, f"{published_at:%Y%m%dT%H%M%S.%fZ}", published_at, objects)
            continue
        key = objects[0].key
        what = f"a second folder of {day}" if is_second else "no folder that is a partition of this export"
        error = ExportContentError(
            f"{store.uri_of(key)} lies in {what}.",
            place=Place(key, value=folder),
            reason="bad_partition",
            remedy="Export each partition into a folder _PARTITIONTIME=YYYY-MM-DD below the location, or remove the file.",
        )
        name = (folder or "no folder").replace("/", "~")
        yield refusal(error, name, identity_of(kind, folder, objects), key, published_at)


def _folder_of(info: ObjectInfo) -> str:
    return info.key.rpartition("/")[0]


def _day_of(folder: str) -> date | None:
    match = _FOLDER.fullmatch(folder)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None
