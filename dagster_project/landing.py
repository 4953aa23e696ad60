"""Landing: one delivery in, one immutable generation out, or a named reason why not.

The same bytes as what stands before it in its partition add nothing. A delivery that is wrong is recorded as refused and
the generation before it stays. What is in the bytes is the connector's and the controls' matter; where generations live is
the store's.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from connectors.errors import ConnectorError, ExportContentError, ExportSchemaError
from dagster_project import __version__, clock
from dagster_project.generations import (
    Generation,
    RefusalRecord,
    RowRefusal,
    content_hash_of,
    encode,
)
from dagster_project.landing_store import LandingStore, SourceLanding, open_landing
from dagster_project.settings import Settings, SourceSettings

if TYPE_CHECKING:
    import duckdb

    from connectors.deliveries import Delivery, Refusal
    from connectors.stores import ObjectStore
    from dagster_project.planning import Plan

WRONG_FOR_GOOD = (ExportSchemaError, ExportContentError)  # anything else may pass, so nothing is recorded of it
IDENTITY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Landed:
    """What became of one delivery."""

    outcome: Literal["landed", "unchanged", "refused", "unreadable"]
    source: str
    partition: str
    generation: Generation | None = None  # the one that was landed, or the one that stands
    refusal: RefusalRecord | None = None
    error: ConnectorError | None = None  # of an unreadable delivery: message and remedy


class Landing:
    """Everything landed of the configured sources."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store: LandingStore = open_landing(settings)

    def read(self, source: str, partition: str | None = None) -> SourceLanding:
        """Every record the landing holds of one source, or of one of its partitions."""
        return self.store.read(source, partition)

    def recover(self) -> list[str]:
        """Remove what killed processes left behind."""
        return self.store.recover()

    @cached_property
    def engine(self) -> duckdb.DuckDBPyConnection:
        """An engine in memory that sums deliveries up; one for all, since starting it costs more than a small delivery."""
        from dagster_project.staged import open_engine

        return open_engine(self.settings.cache)

    @cached_property
    def connector_version(self) -> str:
        """The version of the code that reads exports: what it refused is tried again when it changes."""
        from connectors import errors

        digest = hashlib.sha256()
        for path in sorted(Path(errors.__file__).parent.glob("*.py")):
            digest.update(path.read_bytes())
        return f"{__version__}+{digest.hexdigest()[:12]}"

    def seen(self, source: str) -> set[str]:
        """Identities of deliveries whose bytes were already there. A cache: without it they are read once more."""
        path = self._seen_path(source)
        if not path.exists():
            return set()
        return {line for line in path.read_text().splitlines() if IDENTITY.fullmatch(line)}  # a cut line is not one

    def land_all(self, plan: Plan, on_landed: Callable[[Landed], None] | None = None) -> list[Landed]:
        """Land a plan: deliveries oldest first, then new refusals, then the withdrawal of those that no longer stand."""
        self.recover()
        results = []
        for source, delivery in plan.new:
            results.append(self.land(source, delivery))
            if on_landed:
                on_landed(results[-1])
        for source, refusal in plan.refused:
            results.append(self.refuse(source, refusal))
            if on_landed:
                on_landed(results[-1])
        for record in plan.withdrawn:
            self.withdraw(record)
        return results

    def land(self, source: SourceSettings, delivery: Delivery) -> Landed:
        """Land one delivery, or say why not. An object that changed while it was read is tried again by the next refresh."""
        from connectors.deliveries import refusal_of
        from dagster_project.planning import open_source

        try:
            return self._land(source, delivery, open_source(self.settings, source))
        except WRONG_FOR_GOOD as error:
            return self.refuse(source, refusal_of(delivery, error))
        except ConnectorError as error:
            return Landed("unreadable", source.name, delivery.partition, error=error)

    def _land(self, source: SourceSettings, delivery: Delivery, store: ObjectStore) -> Landed:
        from connectors.registry import connector_for
        from dagster_project.staged import describe, fetch, row_refusal

        with self._staging_folder() as folder:
            objects = fetch(store, delivery, folder)
            content_hash = content_hash_of(delivery.kind, delivery.partition, [o.sha256 for o in objects if o.role == "data"])
            standing = _standing(self.read(source.name, delivery.partition), delivery, content_hash)
            if standing:
                self._remember(source.name, delivery.identity)
                return Landed("unchanged", source.name, delivery.partition, standing)
            connector = connector_for(source.kind)
            files = {landed_object.key: folder / landed_object.file for landed_object in objects}
            converted = connector.convert(delivery, files, folder, store.uri)
            refusals = [row_refusal(refusal) for refusal in converted.refusals]
            if refusals and not converted.rows:  # nothing but refused records: what stood before is worth more
                return self._refuse(source, delivery.partition, delivery.identity, delivery.published_at, refusals)
            contents = describe(self.engine, source.kind, delivery.partition, converted.parts, connector.SCHEMA)
            generation = Generation(
                source=source.name, kind=source.kind, partition=delivery.partition, delivery_id=delivery.delivery_id,
                identity=delivery.identity, published_at=delivery.published_at, landed_at=clock.now(),
                connector_version=self.connector_version, content_hash=content_hash, row_digest=contents.row_digest,
                rows=contents.rows, objects=objects, parts=contents.parts, unknown_columns=sorted(converted.unknown_columns),
                refusals=refusals, controls=contents.controls,
            )  # fmt: skip
            self.store.commit(generation, folder)
        return Landed("landed", source.name, delivery.partition, generation)

    def refuse(self, source: SourceSettings, refusal: Refusal) -> Landed:
        """Record a delivery that is not taken, so that it is not read again and the quarantine shows it."""
        from dagster_project.staged import row_refusal

        return self._refuse(source, refusal.partition, refusal.identity, refusal.published_at, [row_refusal(refusal)])

    def _refuse(
        self, source: SourceSettings, partition: str, identity: str, published_at: datetime | None, refusals: list[RowRefusal]
    ) -> Landed:
        record = RefusalRecord(
            source=source.name, kind=source.kind, partition=partition, identity=identity,
            connector_version=self.connector_version, published_at=published_at, refused_at=clock.now(), refusals=refusals,
        )  # fmt: skip
        self.store.put_record(record.path, encode(record))
        return Landed("refused", source.name, partition, refusal=record)

    def withdraw(self, record: RefusalRecord) -> None:
        """Note that a refused delivery is no longer at its source."""
        self.store.put_record(record.path, encode(msgspec.structs.replace(record, withdrawn_at=clock.now())))

    @contextmanager
    def _staging_folder(self) -> Iterator[Path]:
        self.store.staging.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="delivery-", dir=self.store.staging))
        try:
            yield folder
        finally:
            if folder.exists():  # after a commit it has moved
                shutil.rmtree(folder)

    def _remember(self, source: str, identity: str) -> None:
        path = self._seen_path(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"\n{identity}\n")  # the first line end closes a line that a killed process cut

    def _seen_path(self, source: str) -> Path:
        return self.settings.cache / "seen" / f"{source}.txt"


def _standing(landed: SourceLanding, delivery: Delivery, content_hash: str) -> Generation | None:
    """The generation that makes a delivery no news: the one before it in its partition, if it has the same bytes.

    The one before it, not any: A, B, A is news. So is A after a refused B: the source is whole again.
    """
    mine = (delivery.published_at, content_hash)
    known = [g for g in landed.generations if g.partition == delivery.partition]
    known += [tombstone.generation for tombstone in landed.tombstones if tombstone.generation.partition == delivery.partition]
    before = max((g for g in known if g.order <= mine), key=lambda g: g.order, default=None)
    if before is None or before.content_hash != content_hash:
        return None
    refused_since = any(
        record.partition == delivery.partition
        and record.withdrawn_at is None
        and before.published_at < (record.published_at or record.refused_at)
        and (record.published_at is None or record.published_at < delivery.published_at)
        for record in landed.refusals
    )
    return None if refused_since and before.order != mine else before
