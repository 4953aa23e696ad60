"""Every listed object of a source is accounted for: delivered, refused, a known bystander, awaited, or not understood.

A finder yields what it knows and passes by the rest. Here the rest is counted, and what looks like data becomes a refusal, so
that nine months of a bill that were copied without `metadata/` are reported instead of leaving an empty ledger. Decided from the
listing; only of a finding one small object is read, to say what it looks like.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from connectors.deliveries import Delivery, Refusal
from connectors.layouts.exports import REWRITING, Layout
from connectors.layouts.findings import not_followed, not_published, not_understood
from connectors.stores import ObjectInfo, ObjectStore

Found = Delivery | Refusal
# a manifest comes minutes after its data; a day later, by the times of the objects, it is not merely late
_OVERDUE = timedelta(days=1)

# What lies beside data without being data, by its name; docs/operations.md has the same list for people.
_BYSTANDER = re.compile(
    r"[._].*"  # _SUCCESS, _metadata, .DS_Store, .part.crc: hidden by the custom of Unix and Hadoop
    r"|.*\.(?:crc|md5|sha256|md|sql)"  # checksums, notes, the CREATE TABLE that a legacy report brings
    r"|(?:README|LICENSE|CHANGELOG)(?:\.\w+)?"
    r"|aws-programmatic-access-test-object|crawler-cfn\.yml|Thumbs\.db|desktop\.ini"
    r"|.*\.trace\.json(?:\.gz)?|perfetto_trace\.json(?:\.gz)?|cache_version\.txt",  # beside a profile, from JAX and XProf
    re.IGNORECASE | re.DOTALL,
)
_BYSTANDERS_FOLDER = re.compile(r"(?:^|/)(?:\.[^/]+|_temporary|cost_and_usage_data_status)/")
# of MLPerf's folders each kind reads a part: run records the logs of runs, meters those with power logs beside them
_MLPERF = re.compile(r"(?:^|/)(?:systems/[^/]+\.json|results/[^/]+/[^/]+/(?:scaling\.json|(?:power/[^/]+/)?[^/]+\.(?:txt|log)))")
_DATA_LIKE = re.compile(
    r"\.(?:parquet|csv|tsv|json|jsonl|ndjson|prom|txt|avro|orc|xlsx?|zip)(?:\.(?:gz|zst|bz2|snappy))?$|\.(?:gz|zst|bz2)$",
    re.IGNORECASE,
)
_Place = tuple[int, str]  # which layout, and the partition; where a folder is none, its name


@dataclass(frozen=True, slots=True)
class Counts:
    """The listed objects of a source; the parts add up to `listed`."""

    listed: int
    delivered: int
    refused: int
    bystanders: int
    awaited: int  # data whose manifest may still come
    not_understood: int


def nothing_there(location: str, counts: Counts) -> tuple[str, str] | None:
    """In words, that a location holds nothing to read, and what to do; None where something is there.

    No refusal: a provider that has not begun, and a bucket for next year, are no fault. `status` and `doctor` show it.
    """
    if counts.listed > counts.bystanders:
        return None
    what = "nothing below this prefix" if "://" in location else "nothing in this folder"
    if location.startswith("bq://"):
        what = "no partition in the days that were asked for"
    elif location.startswith(("prom://", "prom+")):
        what = "none of the metrics that are read, on the days that were asked for"
    if counts.bystanders:
        what += f" but {counts.bystanders} that {'are' if counts.bystanders > 1 else 'is'} no data, such as _SUCCESS or README"
    return f"{location}: {what}", "Correct `location`, or wait until something is delivered there."


class _Listing:
    """A store that remembers what it listed, so that a location is listed once."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self.listed: dict[str, ObjectInfo] = {}

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        for info in self._store.list_objects(prefix):
            self.listed[info.key] = info
            yield info

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def look(
    kind: str, find: Callable[[ObjectStore], Iterable[Found]], layouts: Sequence[Layout], store: ObjectStore
) -> tuple[list[Found], Counts]:
    """What a source has: its deliveries and refusals, those for what was passed by among them, and every object counted."""
    listing = _Listing(store)
    found = list(find(listing))  # the methods that are not here are the store's
    listed = listing.listed
    # of a local folder alone: a bucket has neither links nor pipes
    passed = {key: one for key, one in getattr(store, "not_followed", {}).items() if not is_bystander(key)}
    state = _of_finder(found, listed, layouts)
    state |= {key: "bystanders" for key in listed if key not in state and is_bystander(key)}
    if found and layouts:
        found += _without_manifest(kind, store, layouts, listed, state)
    rest = [info for key, info in listed.items() if key not in state]
    state |= {info.key: "not_understood" for info in rest}
    if rest and (not found or any(_DATA_LIKE.search(info.key) for info in rest)):
        found.append(not_understood(kind, store, layouts, rest))
    if passed:
        found.append(not_followed(kind, store, [*passed.values()]))
    counts = Counter(state[key] for key in listed) + Counter(not_understood=len(passed))
    parts = ("delivered", "refused", "bystanders", "awaited", "not_understood")
    if answer_of := getattr(store, "answer_of", None):  # what is landed of files that are asked where they lie
        found = [answer_of(item) for item in found]
    return found, Counts(len(listed) + len(passed), *(counts[part] for part in parts))


def is_bystander(key: str) -> bool:
    """Whether an object is on the list of what lies beside data, or only marks a folder."""
    name = key.rpartition("/")[2]
    known = _BYSTANDER.fullmatch(name), _BYSTANDERS_FOLDER.search(key), _MLPERF.search(key)
    return not name or any(known)


def _of_finder(found: Sequence[Found], listed: dict[str, ObjectInfo], layouts: Sequence[Layout]) -> dict[str, str]:
    """Objects that deliveries and refusals speak of, with the manifests that repeat them."""
    deliveries = [item for item in found if isinstance(item, Delivery)]
    state = {info.key: "delivered" for item in deliveries for info in (*item.objects, item.manifest) if info}
    # a folder of Google's is refused by the first of its files
    refused = {_folder_and_ending(item.source_object) for item in found if isinstance(item, Refusal)}
    state |= {key: "refused" for key in listed if key not in state and _folder_and_ending(key) in refused}
    places = {_place_of(item.manifest.key, layouts, "manifest") for item in deliveries if item.manifest}
    for key in listed:
        if key not in state and (place := _place_of(key, layouts, "manifest")):
            state[key] = "delivered" if place in places else "refused"
    return state


def _without_manifest(
    kind: str, store: ObjectStore, layouts: Sequence[Layout], listed: dict[str, ObjectInfo], state: dict[str, str]
) -> Iterator[Refusal]:
    """Data in the folders of an export that no manifest names: left over, still awaited, or overdue."""
    manifests: dict[_Place, list[ObjectInfo]] = {}
    data: dict[_Place, list[ObjectInfo]] = {}
    for key, info in listed.items():
        if place := _place_of(key, layouts, "manifest"):
            manifests.setdefault(place, []).append(info)
        elif key not in state and (place := _place_of(key, layouts, "data")):
            data.setdefault(place, []).append(info)
    newest = max(info.last_modified for key, info in listed.items() if state.get(key) != "bystanders")
    for place, infos in data.items():
        written = max((info.last_modified for info in manifests.get(place, [])), default=None)
        since = max(info.last_modified for info in infos)
        if written and since <= written + REWRITING:  # of an earlier or broken execution: the newer manifest leaves it out
            is_refused = all(state.get(info.key) == "refused" for info in manifests[place])
            word = "refused" if is_refused else "bystanders"
        elif newest - since > _OVERDUE:
            yield not_published(kind, store, layouts[place[0]], infos)
            word = "refused"
        else:
            word = "awaited"
        state |= {info.key: word for info in infos}


def _folder_and_ending(key: str) -> tuple[str, str]:
    folder, _, name = key.rpartition("/")
    return folder, name.rpartition(".")[2].lower() if folder.startswith(("_PARTITIONTIME=", "_PARTITIONDATE=")) else name


def _place_of(key: str, layouts: Sequence[Layout], part: str) -> _Place | None:
    for number, layout in enumerate(layouts):
        if match := getattr(layout, part).fullmatch(key):
            return number, layout.partition_of(match) or key.rpartition("/")[0]
    return None
