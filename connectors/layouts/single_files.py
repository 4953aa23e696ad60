"""Sources without manifests or folders of partitions, such as telemetry and tables people write: each file is one delivery."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from connectors.deliveries import Delivery
from connectors.stores import ObjectStore


def find_file_deliveries(store: ObjectStore, kind: str, endings: tuple[str, ...]) -> Iterator[Delivery]:
    """Yield a delivery for each file with one of the endings, in the order of their keys."""
    for info in store.list_objects():
        name = info.key.rpartition("/")[2]
        if name.lower().endswith(endings) and not name.startswith((".", "_")):
            yield Delivery(kind, partition_of(info.key), info.key, info.last_modified, (info,))


def packed(*endings: str) -> tuple[str, ...]:
    """Endings of files, plain and compressed."""
    return tuple(f"{ending}{more}" for ending in endings for more in ("", ".gz", ".zst"))


def partition_of(key: str) -> str:
    """Name a file's partition so that it can be a folder, and two keys never share one."""
    name = key.replace("%", "%25").replace("~", "%7E").replace("/", "~")
    if len(name.encode()) <= 180:  # a folder name has at most 255 bytes
        return name
    return f"{name.encode()[:100].decode(errors='ignore')}~{hashlib.sha256(key.encode()).hexdigest()}"
