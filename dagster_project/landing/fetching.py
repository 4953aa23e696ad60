"""How deliveries come: the objects of one side by side, small deliveries of a source some at a time.

A thousand run records that are read one by one cost five times what they cost together: a statement of the engine costs more than
their rows. What belongs together is decided from the listing alone; that each becomes a generation is landing.land's matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import convert

from connectors.deliveries import Delivery
from connectors.stores import GroupingStore, ObjectInfo, ObjectStore
from dagster_project.base import durable
from dagster_project.landing.answers import require_sums
from dagster_project.landing.kept import require_groups
from dagster_project.landing.records import LandedObject, file_names

if TYPE_CHECKING:
    from dagster_project.settings import SourceSettings

AT_A_TIME = 8  # objects of a delivery; a client of boto3 keeps ten connections
QUERY = "query.json"
RAW = "raw"  # before the key of what is kept as evidence
SMALL = 256 << 10  # bytes of a delivery that is read together with others
TOGETHER = 64  # deliveries: what is staged at one time, and lost with a kill, stays little


@dataclass(frozen=True)
class Fetched:
    """A delivery whose originals are here, and the folder for what is made of them."""

    delivery: Delivery
    folder: Path
    objects: list[LandedObject]  # in it
    made: Path
    content_hash: str
    store_uri: str
    version: str  # of the connector
    is_judged: bool = True  # a bill or carbon whose profile will be asked for

    @cached_property
    def files(self) -> dict[str, Path]:
        """The originals by the keys of their objects."""
        return {landed.key: self.folder / landed.file for landed in self.objects}


def batches(wanted: Iterable[tuple[SourceSettings, Delivery]]) -> Iterator[tuple[SourceSettings, list[Delivery]]]:
    """Deliveries in their order, small ones of a source together; of a partition one, for the next is news or not by it."""
    source, batch = None, []
    for its, delivery in wanted:
        fits = its is source and len(batch) < TOGETHER and _is_small(batch[-1]) and _is_small(delivery)
        if source and not (fits and delivery.partition not in {one.partition for one in batch}):
            yield source, batch
            batch = []
        source = its
        batch.append(delivery)
    if source:
        yield source, batch


def _is_small(delivery: Delivery) -> bool:
    sizes = [info.size for info in delivery.objects]
    return all(sizes) and sum(sizes) <= SMALL  # a table's partition has no size before it is read


def fetch(store: ObjectStore, delivery: Delivery, folder: Path, *, keeps_raw: bool = False) -> list[LandedObject]:
    """Read every object of a delivery once, some at a time, under flat safe names; data objects keep the manifest's order.

    Beside groups that another engine made lies the record of its query, whose sums they must have; with `keeps_raw` also the
    provider's rows, which must give the same groups.
    """
    wanted = [(info, "data") for info in delivery.objects]
    if delivery.manifest is not None:
        wanted.append((delivery.manifest, "manifest"))
    names = file_names([info.key for info, _ in wanted])

    def fetched(pair: tuple[ObjectInfo, str]) -> str:
        return store.fetch(pair[0], folder / names[pair[0].key])

    if len(wanted) == 1:
        hashes = [fetched(wanted[0])]
    else:
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            hashes = list(pool.map(fetched, wanted))
    fetched_objects = [
        LandedObject(
            **asdict(info) | {"size": (folder / names[info.key]).stat().st_size}, file=names[info.key], role=role, sha256=sha256
        )
        for (info, role), sha256 in zip(wanted, hashes, strict=True)
    ]
    queries = list(_queries(str(delivery.kind), store, fetched_objects, folder))
    if not (keeps_raw and queries):
        return [*fetched_objects, *queries]
    raw = list(_raw(cast(GroupingStore, store), delivery.objects, folder))
    found = [*fetched_objects, *queries, *raw]
    require_groups(str(delivery.kind), found, folder, store.uri_of(delivery.objects[0].key))
    return found


def _queries(kind: str, store: ObjectStore, objects: list[LandedObject], folder: Path) -> Iterator[LandedObject]:
    """Write the record of the query behind each object that is an answer, once the answer has the sums that it states."""
    query_of = getattr(store, "query_of", None)  # only what is asked of an engine has one
    for landed in objects if query_of else ():
        info = convert(landed, ObjectInfo, from_attributes=True)
        if query_of and (record := query_of(info)):
            require_sums(kind, folder / landed.file, record, store.uri_of(landed.key), landed.key)
            key = f"{landed.key.rpartition('/')[0]}/{QUERY}"
            file = file_names([landed.key, key])[key]
            durable.write(folder / file, record)
            facts = asdict(info) | {"key": key, "etag": "", "size": len(record)}
            yield LandedObject(**facts, file=file, role="query", sha256=sha256(record).hexdigest())


def _raw(store: GroupingStore, infos: Iterable[ObjectInfo], folder: Path) -> Iterator[LandedObject]:
    """Read the provider's rows behind answers, under names of their own."""
    for info in infos:
        rows, found = store.raw_of(info)
        for one in found:
            key = f"{RAW}/{one.key}"
            file = file_names([key])[key]
            sha256 = rows.fetch(one, folder / file)
            facts = asdict(one) | {"key": key, "size": (folder / file).stat().st_size}
            yield LandedObject(**facts, file=file, role="raw", sha256=sha256)
