"""In words: what lies in a location that no delivery was made of, what is probably meant, and what to do about it.

Each finding is a refusal, so it is in the quarantine until the objects are gone or understood.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from io import BytesIO

from connectors.deliveries import Refusal, identity_of, refusal
from connectors.errors import (
    ConnectorError,
    ExportContentError,
    ExportNotPublishedError,
    Look,
    Place,
    folder_looks_like,
    looks_like,
    shorten,
)
from connectors.layouts.exports import Layout
from connectors.stores import ObjectInfo, ObjectStore

_SHOWN = 12  # names in one message
_LOOK_LIMIT = 8 << 20  # a larger object is not read only to say what it looks like
_PARTITION = re.compile(r"(?:^|/)(?:\w+=([^/]+)|(\d{8}-\d{8}))(?=/)")


def not_published(kind: str, store: ObjectStore, layout: Layout, infos: Sequence[ObjectInfo]) -> Refusal:
    """Data of one partition whose manifest has not come although a day has passed."""
    folder = infos[0].key.rpartition("/")[0]
    match = layout.data.fullmatch(infos[0].key)
    partition = (layout.partition_of(match) if match else None) or folder.replace("/", "~")
    since = max(info.last_modified for info in infos)
    what = f"{_count(len(infos), 'data file')} of {since:%Y-%m-%d} without a manifest, and newer objects a day later"
    error = ExportNotPublishedError(
        f"{store.uri_of(folder)}: {what}.",
        place=Place(folder, value=f"{partition}: {what}"),
        remedy="Copy the manifest of this partition too, or ask for a new delivery; data without one may be incomplete.",
    )
    return _refusal(error, kind, partition, infos)


def not_understood(kind: str, store: ObjectStore, layouts: Sequence[Layout], infos: Sequence[ObjectInfo]) -> Refusal:
    """All that was passed by in a location, as one finding that counts it and names its partitions."""
    what, remedy = _export(store, layouts, infos) if layouts else _files(kind, infos)
    partitions = list(dict.fromkeys(match[1] or match[2] for info in infos for match in _PARTITION.finditer(info.key)))
    places = f" ({_some(partitions)})" if partitions else ""
    if looks := _looks_like(kind, store, infos):
        # how the files of this kind would lie is no help to files of another
        what, remedy = f"{what}; this looks like {looks.what}", looks.remedy
    first = min(info.key for info in infos)
    error = ExportContentError(
        f"{store.uri}: {what}{places}; the first is {shorten(first)}.",
        place=Place(first, value=f"{what}{places}"),
        reason="not_understood",
        remedy=remedy,
    )
    return _refusal(error, kind, "", infos)


def not_followed(kind: str, store: ObjectStore, passed: Sequence[tuple[str, ObjectInfo]]) -> Refusal:
    """Links to folders, pipes and sockets in a folder, as one finding: what a link leads to may be the bill of another month."""
    counts = Counter(word for word, _ in passed)
    what = ", ".join(_count(count, word) for word, count in sorted(counts.items()))
    infos = sorted((info for _, info in passed), key=lambda info: info.key)
    error = ExportContentError(
        f"{store.uri}: {what}, not followed; the first is {shorten(infos[0].key)}.",
        place=Place(infos[0].key, value=what),
        reason="not_followed",
        remedy="Copy what a link leads to, or give it a source of its own; take pipes and sockets out of the location.",
    )
    return _refusal(error, kind, "", infos)


def _refusal(error: ConnectorError, kind: str, partition: str, infos: Sequence[ObjectInfo]) -> Refusal:
    newest = max(info.last_modified for info in infos)
    return refusal(error, partition, identity_of(kind, f"{partition}\n{error.message}", infos), infos[0].key, newest)


def _export(store: ObjectStore, layouts: Sequence[Layout], infos: Sequence[ObjectInfo]) -> tuple[str, str]:
    """What a location of an AWS export holds instead of one."""
    below = Counter(folder for info in infos if (folder := _folder_above(info.key, layouts)) is not None)
    folders = sorted(folder for folder in below if folder)
    if folders:
        export = "an export" if len(folders) == 1 else f"{len(folders)} exports"
        where = "one level" if all("/" not in folder for folder in folders) else "some levels"
        return (
            f"{export} {where} below, in {_some(folders)} ({_count(len(infos), 'object')})",
            f"Set `location` to the folder that holds data/ and metadata/, such as {store.uri}/{folders[0]}.",
        )
    if count := below.get(""):
        missing = "metadata/" if any(info.key.lower().startswith("data/") for info in infos) else "manifest"
        remedy = "Copy the whole export: which files are complete is known from the manifest."
        return f"{_count(count, 'data file')}, no {missing}", remedy
    remedy = "Set `location` to the folder of the export that holds data/ and metadata/, and move other files elsewhere."
    is_other = any(info.key.startswith(("data/", "metadata/")) for info in infos)
    where = "in data/ and metadata/ of an export of another kind" if is_other else "outside data/ and metadata/ of an export"
    return f"{_count(len(infos), 'object')} {where}", remedy


def _folder_above(key: str, layouts: Sequence[Layout]) -> str | None:
    """The folders before the layout's own ones: '' where it lies right, None where nothing fits."""
    parts = key.split("/")
    for depth in range(len(parts)):
        rest = "/".join(parts[depth:])
        if any(layout.manifest.fullmatch(rest) or layout.data.fullmatch(rest) for layout in layouts):
            return "/".join(parts[:depth])
    return None


def _files(kind: str, infos: Sequence[ObjectInfo]) -> tuple[str, str]:
    """What lies in a location whose files are known by their endings."""
    endings = Counter(_ending(info.key) for info in infos)
    named = ", ".join(f"{count} {ending}" for ending, count in sorted(endings.items())[:_SHOWN])
    if kind.startswith("gcp_"):
        remedy = (
            "Export each partition as Parquet or JSON lines into a folder _PARTITIONTIME=YYYY-MM-DD below the location, or move "
            "the files."
        )
        return f"{_count(len(infos), 'file')} of neither Parquet nor JSON lines: {named}", remedy
    remedy = f"Move them to a source of their kind; docs/sources/{kind}.md names the files that are read."
    return f"{_count(len(infos), 'file')} of no ending that {kind} has: {named}", remedy


def _ending(key: str) -> str:
    match = re.search(r"(?:\.\w{1,10})?\.\w{1,10}$", key.rpartition("/")[2])
    return match[0].lower() if match else "without an ending"


def _looks_like(kind: str, store: ObjectStore, infos: Sequence[ObjectInfo]) -> Look | None:
    """What the smallest file is by the words in it, else by its folders; a large file is not read: this is only a hint."""
    known = _words_of(store, [info for info in infos if 0 < info.size <= _LOOK_LIMIT])
    return looks_like(known, kind) or (None if looks_like(known, "") else folder_looks_like(infos[0].key, kind))


def _words_of(store: ObjectStore, infos: Sequence[ObjectInfo]) -> bytes:
    """The smallest file's bytes, unpacked; a manifest only where there is nothing else, for it has no words of its own."""
    info = min(infos, key=lambda info: (info.key.endswith("Manifest.json"), info.size, info.key), default=None)
    if info is None:
        return b""
    try:
        content = store.read(info, _LOOK_LIMIT)
        if info.key.lower().endswith(".gz"):
            with gzip.open(BytesIO(content)) as file:
                content = file.read(1 << 20)
    except (ConnectorError, OSError, EOFError, zlib.error):
        return b""
    return content


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
