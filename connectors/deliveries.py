"""The values that a connector and the landing exchange: deliveries, what they become, and what is refused.

Nothing here reads a file: a plan is made from one listing of the location.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from connectors.errors import ConnectorError, shorten
from connectors.stores import ObjectInfo

# the reason of a file that is read whole and has nothing that its kind knows: it is landed as nothing, with this remark
NOTHING_KNOWN = "no_known_metric"


@dataclass(frozen=True)
class Delivery:
    """One complete hand-over by a provider for one partition."""

    kind: str
    partition: str
    delivery_id: str
    published_at: datetime
    objects: tuple[ObjectInfo, ...]  # data objects, in the order of the manifest
    manifest: ObjectInfo | None = None

    @property
    def identity(self) -> str:
        """A hash that is equal for equal objects, known from the listing without reading them."""
        return identity_of(self.kind, self.partition, (*self.objects, self.manifest))


@dataclass(frozen=True)
class Refusal:
    """Something in a delivery that is not taken, with its place and a remedy: a row of the quarantine."""

    partition: str
    identity: str
    source_object: str
    row_number: int | None
    column_name: str | None
    value: str | None
    reason: str
    remedy: str
    message: str
    published_at: datetime | None = None


@dataclass(frozen=True)
class Part:
    """A Parquet file to be read: the landed original, or the typed copy beside it. It has at least one row."""

    path: Path
    source_object: str


@dataclass(frozen=True)
class Converted:
    """What a delivery, or one object of it, became. `refusals` name records that were left out, or kept with a remark."""

    parts: tuple[Part, ...] = ()
    rows: int = 0
    unknown_columns: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def merged(objects: Iterable[Converted]) -> Converted:
    """Add up what the objects of a delivery became; an unknown column is named once."""
    done = list(objects)
    return Converted(
        parts=tuple(part for one in done for part in one.parts),
        rows=sum(one.rows for one in done),
        unknown_columns=tuple(dict.fromkeys(name for one in done for name in one.unknown_columns)),
        refusals=tuple(refusal for one in done for refusal in one.refusals),
    )


def identity_of(kind: str, partition: str, objects: Iterable[ObjectInfo | None]) -> str:
    """Hash keys, etags, sizes and times of some objects as listed. No key can hold the separator, so no two lists look alike."""
    digest = hashlib.sha256()
    for text in (kind, partition):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for info in objects:
        if info is None:
            digest.update(b"\0")
            continue
        fields = (info.key, info.etag, str(info.size), info.last_modified.isoformat(), info.version_id or "")
        digest.update(b"\0".join(field.encode("utf-8", "surrogatepass") for field in fields) + b"\0\0")
    return digest.hexdigest()


def refusal_of(delivery: Delivery, error: ConnectorError) -> Refusal:
    """Turn an error into its row of the quarantine: what stopped a delivery, or a remark about one that is taken."""
    main = delivery.manifest or delivery.objects[0]
    return refusal(error, delivery.partition, delivery.identity, main.key, delivery.published_at)


def refusal(error: ConnectorError, partition: str, identity: str, key: str, published_at: datetime) -> Refusal:
    """Turn an error into a row of the quarantine; `key` names the object when the error names none."""
    return Refusal(
        partition=partition,
        identity=identity,
        source_object=shorten(error.source_object or key, 1000),
        row_number=error.row_number,
        column_name=error.column_name,
        value=error.value,
        reason=error.reason,
        remedy=error.remedy,
        message=error.message,
        published_at=published_at,
    )
