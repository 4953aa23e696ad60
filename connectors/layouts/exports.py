"""The folders of AWS exports: which manifests there are, and which deliveries they make.

Knows Data Exports (OVERWRITE and CREATE_NEW) and legacy reports (with and without assembly folders, and for Athena). Everything
is decided from one listing and the manifests; a folder without its manifest is no delivery, unless the status that a report has
for Athena is READY. Columns are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby

from connectors.deliveries import Delivery, Refusal, identity_of, refusal
from connectors.errors import ExportContentError, ExportNotPublishedError, Place
from connectors.layouts.manifests import parse_manifest, resolve
from connectors.stores import ObjectInfo, ObjectStore
from connectors.times import execution_time

# A provider that rewrites writes its manifest last, some hours after the one before; a copy is made in one go.
REWRITING = timedelta(hours=1)
_LARGEST_STATUS = 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """A manifest's key, with groups named for the partition and optionally `execution`, and how to name the partition.

    `data` has the same groups: a file whose manifest is missing is reported with its partition.
    """

    manifest: re.Pattern[str]
    data: re.Pattern[str]
    partition_of: Callable[[re.Match[str]], str | None]  # None: the folder's name is no partition
    data_formats: tuple[str, ...] = (".parquet", ".csv.gz", ".csv", ".zip")
    status: re.Pattern[str] | None = None  # a file whose column `status` is READY, or UPDATING while months are rewritten


def find_export_deliveries(store: ObjectStore, kind: str, layouts: Sequence[Layout]) -> Iterator[Delivery | Refusal]:
    """Yield deliveries and refusals by partition, oldest first. A folder without its manifest is no delivery."""
    listed = {info.key: info for info in store.list_objects()}
    manifests = [key for key in listed if key.endswith("Manifest.json")]
    matches = ((layout, layout.manifest.fullmatch(key)) for key in manifests for layout in layouts)
    candidates = [(_read(store, kind, layout, match, listed), bool(match["execution"])) for layout, match in matches if match]
    known = {one.partition for one, _ in candidates}
    candidates += [(one, False) for layout in layouts for one in _by_status(store, kind, layout, listed, known)]
    candidates.sort(key=lambda one: (one[0].partition, one[0].published_at, not one[1], _key_of(one[0])))
    for _, group in groupby(candidates, key=lambda one: one[0].partition):
        yield from _each_once(list(group))


def _by_status(
    store: ObjectStore, kind: str, layout: Layout, listed: dict[str, ObjectInfo], known: Collection[str]
) -> Iterator[Delivery | Refusal]:
    """The months of a copy without manifests, where a status shows that all their files are there."""
    statuses = [info for key, info in listed.items() if layout.status and layout.status.fullmatch(key)]
    if not statuses:
        return
    months: dict[str, list[ObjectInfo]] = {}
    folders: dict[str, set[str]] = {}
    for key, info in listed.items():
        match = layout.data.fullmatch(key) if key.endswith(".parquet") else None
        if match and (partition := layout.partition_of(match)) and partition not in known:
            months.setdefault(partition, []).append(info)
            folders.setdefault(partition, set()).add(key.rpartition("/")[0])
    if not months:
        return
    newest = max(statuses, key=lambda info: (info.last_modified, info.key))
    status = _status_in(store, newest)
    for partition, objects in months.items():
        published_at = max(info.last_modified for info in objects)
        if len(folders[partition]) > 1:  # of two reports, or month=4 beside month=04: together they would be billed twice
            several = ", ".join(sorted(folders[partition]))
            what = f"{store.uri}: {partition} lies in several folders ({several}), and no manifest names one."
            error = ExportContentError(
                what,
                place=Place(objects[0].key),
                reason="bad_partition",
                remedy="Give each report a source of its own, or copy the manifests in its date folders too.",
            )
            yield refusal(error, partition, identity_of(kind, partition, objects), objects[0].key, published_at)
            continue
        if status == "READY":
            yield Delivery(kind, partition, f"{published_at:%Y%m%dT%H%M%S.%fZ}", published_at, tuple(objects))
            continue
        what = f"{store.uri_of(newest.key)}: the report is {status}, so its months may be incomplete."
        waiting = ExportNotPublishedError(
            what,
            place=Place(newest.key, column_name="status", value=status),
            reason="being_rewritten",
            remedy="Copy the report again, with its status, when that is READY, or copy the manifests in its date folders too.",
        )
        yield refusal(waiting, partition, identity_of(kind, partition, (*objects, newest)), newest.key, published_at)


def _status_in(store: ObjectStore, info: ObjectInfo) -> str:
    """The word in a status file, a Parquet of one short text. Its bytes are searched: a damaged file would end who opens it."""
    content = store.read(info, _LARGEST_STATUS)
    return next((word for word in ("UPDATING", "READY") if word.encode() in content), "of no known status")


def _read(
    store: ObjectStore, kind: str, layout: Layout, match: re.Match[str], listed: dict[str, ObjectInfo]
) -> Delivery | Refusal:
    """What one manifest gives: a delivery, or the reason why not."""
    info, partition = listed[match.string], layout.partition_of(match)
    try:
        if partition is None:
            what = f"{store.uri_of(info.key)} lies in a folder that is no month of an export."
            raise ExportContentError(what, place=Place(info.key), reason="bad_partition")
        return _delivery(store, kind, partition, layout, match, listed)
    # not the others: the location cannot be read, or is being written, and this delivery may be fine
    except (ExportContentError, ExportNotPublishedError) as error:
        name = partition or info.key.rpartition("/")[0].replace("/", "~")
        published_at = execution_time(match["execution"] or "") or info.last_modified
        return refusal(error, name, identity_of(kind, name, (info,)), info.key, published_at)


def _delivery(
    store: ObjectStore, kind: str, partition: str, layout: Layout, match: re.Match[str], listed: dict[str, ObjectInfo]
) -> Delivery:
    """Read a manifest and find the objects it names."""
    info = listed[match.string]
    uri = store.uri_of(info.key)
    names, execution_id = parse_manifest(store.read(info), info.key, uri)
    objects = resolve(names, store.uri.rpartition("/")[2], listed, info.key, uri)
    for data in objects:
        if not data.key.lower().endswith(layout.data_formats):
            raise ExportContentError(
                f"{uri} names {data.key}; this layout is read as {', '.join(layout.data_formats)}.",
                place=Place(data.key),
                reason="unsupported_format",
                remedy="Set the export's format to Parquet or to gzip CSV.",
            )
    # the month's own manifest repeats the newest execution, which is known by the folder of its files
    execution = match["execution"] or _execution_folder(objects)
    published_at = execution_time(execution or "") or info.last_modified
    # only on S3: in a local folder the times are those of the copy, not the provider's
    newest = max(data.last_modified for data in objects)
    if not execution and store.uri.startswith("s3://") and newest > info.last_modified + REWRITING:
        what = f"{uri} is older than the files it names: the provider is rewriting them."
        raise ExportNotPublishedError(what, place=Place(info.key), reason="being_rewritten")
    return Delivery(kind, partition, execution or execution_id or info.etag, published_at, objects, info)


def _execution_folder(objects: tuple[ObjectInfo, ...]) -> str | None:
    """The folder that all data files share, when it is named by an execution and not by a partition."""
    folders = {info.key.rpartition("/")[0].rpartition("/")[2] for info in objects}
    name = folders.pop() if len(folders) == 1 else ""
    return name if execution_time(name) else None


def _each_once(candidates: list[tuple[Delivery | Refusal, bool]]) -> Iterator[Delivery | Refusal]:
    """Drop repeats: of two manifests that name the same files, the month's and an execution's, the execution's is taken."""
    executions = {_files(result) for result, is_execution in candidates if is_execution and isinstance(result, Delivery)}
    refused: set[tuple[str, int | None, str | None]] = set()
    for result, is_execution in candidates:
        if isinstance(result, Delivery):
            if is_execution or _files(result) not in executions:
                yield result
        elif (place := (result.source_object, result.row_number, result.column_name)) not in refused:
            refused.add(place)
            yield result


def _files(delivery: Delivery) -> frozenset[str]:
    return frozenset(info.key for info in delivery.objects)


def _key_of(result: Delivery | Refusal) -> str:
    return result.source_object if isinstance(result, Refusal) else (result.manifest or result.objects[0]).key
