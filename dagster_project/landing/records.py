"""The records that describe the landing: `_generation.json`, `_refused/*.json`, `*.tombstone.json`, `*.accepted.json`
and, of the reports that were issued from it, `_issued/*.json`.

A generation is one landed delivery. Its record is written last, so its presence means the generation is whole. It holds the
provider's facts and the hashes of the provider's bytes, nothing that our code made of them: that is kept by landing.shelf and
can be made again. (A record written by 0.2.0 also holds what its code had made; it is read past.) Nothing here touches a disk.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Self

import msgspec

from connectors.deliveries import Delivery, Refusal
from dagster_project.base.failures import SourceError

RECORD = "_generation.json"
REFUSED = "_refused"
TOMBSTONE = ".tombstone.json"
ACCEPTED = ".accepted.json"
ISSUED = "_issued"  # a folder beside those of sources, of which none is called so
MANIFEST = "-Manifest.json"  # behind the name of an export, in the file of its manifest
_UNSAFE = re.compile(r"[^A-Za-z0-9._=@~+,-]|^[._]")
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_PERIOD = re.compile(r"~(\d{4}-\d{2})\.\.(\d{4}-\d{2})$")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class LandedObject(msgspec.Struct, frozen=True, kw_only=True):
    """One object of the delivery, as it was fetched."""

    key: str
    file: str
    # 'data' or 'manifest'; of an answer in groups also 'query', the record of what was asked, and 'raw', the provider's own rows
    role: str
    etag: str
    version_id: str | None
    size: int
    last_modified: datetime
    sha256: str


class RowRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """Something refused, by object, row, column and value."""

    source_object: str
    row_number: int | None = None
    column_name: str | None = None
    value: str | None = None
    reason: str
    remedy: str
    message: str


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """One landed delivery: what the provider handed over, and when."""

    source: str
    kind: str
    partition: str
    delivery_id: str
    identity: str
    published_at: datetime
    landed_at: datetime
    content_hash: str
    objects: list[LandedObject]

    @property
    def name(self) -> str:
        """Its folder below the partition's."""
        return f"{self.published_at:%Y%m%dT%H%M%S.%fZ}-{self.content_hash[:16]}"

    @property
    def path(self) -> str:
        """Its folder below the landing."""
        return f"{self.source}/{safe_name(self.partition)}/{self.name}"

    @property
    def month(self) -> str | None:
        """The month its partition covers, where partitions are months."""
        return partition_month(self.partition)

    @property
    def period(self) -> tuple[str, str] | None:
        """The first and the last month of what it is of, where its rows are of a quarter or a year."""
        return partition_period(self.partition)

    @property
    def export(self) -> str:
        """The export that delivered it, by the file name of its manifest; '' where deliveries have none."""
        return export_of(next((landed.key for landed in self.objects if landed.role == "manifest"), ""))

    @property
    def query(self) -> LandedObject | None:
        """The record of the query whose groups these are; None where they are the provider's own rows."""
        return next((landed for landed in self.objects if landed.role == "query"), None)

    @property
    def raw(self) -> list[LandedObject]:
        """The provider's rows that are kept beside groups that were made of them: evidence, which no model reads."""
        return [landed for landed in self.objects if landed.role == "raw"]

    @property
    def read(self) -> list[LandedObject]:
        """What a build may read of it: all but what is kept as evidence alone."""
        return [landed for landed in self.objects if landed.role != "raw"]

    @property
    def order(self) -> tuple[datetime, str]:
        """Election order inside a partition."""
        return (self.published_at, self.content_hash)


class Likeness(msgspec.Struct, frozen=True, kw_only=True):
    """What the next delivery of an export is compared with, so that one of another kind does not replace this one."""

    rows: int
    payers: list[str]
    accounts: list[str]


class Tombstone(msgspec.Struct, frozen=True, kw_only=True):
    """What stays of a generation that retention removed."""

    generation: Generation
    removed_at: datetime
    likeness: Likeness | None = None  # null in what 0.8 removed

    @property
    def path(self) -> str:
        """Its file below the landing, beside the folder of the generation."""
        return f"{self.generation.path}{TOMBSTONE}"


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """A person's decision that a generation counts, though it is unlike the one before it or of another export."""

    source: str
    partition: str
    generation: str  # its name
    content_hash: str
    export: str
    accepted_at: datetime
    accepted_by: str

    @property
    def path(self) -> str:
        """Its file below the landing, beside the folder of the generation."""
        return f"{self.source}/{safe_name(self.partition)}/{self.generation}{ACCEPTED}"


class IssuedLine(msgspec.Struct, frozen=True, kw_only=True):
    """That a report was issued: its place in the chain, and the digest of its line there."""

    report_id: str
    number: int
    line_sha256: str
    issued_at: datetime

    @property
    def path(self) -> str:
        """Its file below the landing."""
        return f"{ISSUED}/{self.report_id}.json"


class RefusalRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that was not landed, and why. In force until a later delivery of its partition lands or it is withdrawn."""

    source: str
    kind: str
    partition: str
    identity: str
    connector_version: str
    published_at: datetime | None
    refused_at: datetime
    withdrawn_at: datetime | None = None
    refusals: list[RowRefusal]

    @classmethod
    def of(
        cls, item: Delivery | Refusal | Generation, source: str, kind: str, version: str, at: datetime, refusals: list[RowRefusal]
    ) -> Self:
        """What is refused, by what `version` of the connector, and when."""
        return cls(
            source=source,
            kind=kind,
            partition=item.partition,
            identity=item.identity,
            connector_version=version,
            published_at=item.published_at,
            refused_at=at,
            refusals=refusals,
        )

    @property
    def path(self) -> str:
        """Its file below the landing."""
        return f"{self.source}/{safe_name(self.partition)}/{REFUSED}/{self.identity[:16]}.json"


def export_of(manifest_key: str) -> str:
    """The name of an export: 'training' of 'metadata/BILLING_PERIOD=2026-04/training-Manifest.json'."""
    return manifest_key.rpartition("/")[2].removesuffix(MANIFEST)


def encode(record: msgspec.Struct) -> bytes:
    """The bytes of a record: indented JSON in the order of its fields, which people read too."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def decode(data: bytes, kind: type[Any], where: str) -> Any:
    """Read a record; one that does not fit names its file."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise SourceError(
            f"the landing's record is damaged: {error}",
            where=where,
            remedy="Restore the file, or remove its folder to land it again.",
        ) from None


def safe_name(text: str, limit: int = 150) -> str:
    """One path segment for any text: other characters as %XX, never hidden or private, long names cut with their hash."""
    name = _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()), text)
    if len(name) > limit:
        suffix = "".join(re.findall(r"\.[A-Za-z0-9]{1,8}", name)[-2:]) if "." in name[-20:] else ""
        name = f"{name[: limit - 17 - len(suffix)]}~{hashlib.sha256(text.encode()).hexdigest()[:16]}{suffix}"
    return name or "%"


def file_names(keys: Iterable[str]) -> dict[str, str]:
    """A flat, safe, unique file name for each object key."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key in keys:
        name = safe_name(key.replace("/", "~"))
        if name.casefold() in taken:  # a disk may not tell upper from lower case
            name = safe_name(f"{hashlib.sha256(key.encode()).hexdigest()[:16]}~{key.replace('/', '~')}")
        taken.add(name.casefold())
        names[key] = name
    return names


def partition_month(partition: str) -> str | None:
    """'2026-04' of '2026-04' and of '2026-04@v3.0.0'; None where partitions are not months."""
    head = partition.partition("@")[0]
    return head if _MONTH.fullmatch(head) else None


def partition_period(partition: str) -> tuple[str, str] | None:
    """('2026-04', '2026-06') of '2026-05@v3.0.1~000000000017~2026-04..2026-06'; None of a month alone."""
    match = _PERIOD.search(partition)
    return (match[1], match[2]) if match else None


def partition_day(partition: str) -> date | None:
    """The day a partition is named by, where partitions are days."""
    try:
        return date.fromisoformat(partition) if _DAY.fullmatch(partition) else None
    except ValueError:
        return None


def calendar_month(partition: str) -> str | None:
    """The month in whose folder or days a partition lies: '2026-04' of '2026-04@v3.0.0' and of '2026-04-17'."""
    day = partition_day(partition)
    return partition_month(partition) if day is None else f"{day:%Y-%m}"


def content_hash_of(kind: str, partition: str, sha256s: Iterable[str]) -> str:
    """Identity of the bytes of a delivery's data objects, in the order of its manifest, and of the rows kept beside them.

    Names do not count, nor the manifest.
    """
    return hashlib.sha256("\n".join([kind, partition, *sha256s]).encode()).hexdigest()
