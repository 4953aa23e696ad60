"""What an object store must offer to a connector.

A store lists and reads; it never writes to its location. Local folders, buckets and tables of BigQuery look alike from here,
so that a copied export works without a cloud. A `Bucket` is written as well: what we land may be kept in one. The clients are
modules of this folder; `connectors.stores.opening` chooses between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Protocol

from connectors.errors import SourceUnreadableError

READ_LIMIT = 64 << 20  # manifests and run records; data objects are fetched to disk
# BigQuery bills 10 MB at least for each table that a query reads: https://cloud.google.com/bigquery/pricing (read 2026-11-28)
LEAST_BILLED = 10 << 20

# what makes groups of a provider's rows where they lie, by `engine` of a source
ENGINES = {"bigquery": "BigQuery", "trino": "Trino", "athena": "Athena", "spark": "Apache Spark"}


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object as listed. `key` is relative to the location and '/'-separated."""

    key: str
    size: int
    etag: str
    last_modified: datetime
    version_id: str | None = None


class TableReading(Protocol):
    """How the tables of a kind are read, which a store cannot know. `description`: of a table, as the REST API gives it."""

    @property
    def grouped(self) -> str:
        """Where BigQuery makes groups of the rows the version of what is asked, else ''."""
        ...

    def of_rows(self) -> TableReading:
        """How the same tables are read without groups."""
        ...

    def columns_of(self, description: Mapping[str, Any], uri: str) -> Any:
        """The columns to read; ExportSchemaError for a table that lacks what every row of the kind has."""
        ...

    def changes_by(self, description: Mapping[str, Any]) -> str | None:
        """The column of the rows' export time, where the table has it."""
        ...

    def other_days(self, description: Mapping[str, Any]) -> str | None:
        """The column whose days divide the table, where they are not those of the folders that Google's export is copied to."""
        ...

    def is_divided(self, description: Mapping[str, Any]) -> bool:
        """Whether a query for some partitions is billed for these alone."""
        ...

    def look_sql(
        self,
        table: str,
        description: Mapping[str, Any],
        first: date | None,
        end: date | None,
        earlier: Iterable[date] = (),
    ) -> str:
        """Ask for `day`, `row_count`, `newest_export` and `fingerprint` of each partition of these days."""
        ...

    def rows_sql(self, table: str, description: Mapping[str, Any], days: Iterable[date]) -> str:
        """Ask for every row of the partitions that begin with these days."""
        ...

    def day_of_rows(self, description: Mapping[str, Any], rows: Any) -> Any:
        """The first day of the partition that each row of an Arrow batch is of."""
        ...

    def written_sql(self, dataset: str, table: str, description: Mapping[str, Any]) -> str | None:
        """Ask when each partition was written; None where nothing can be asked."""
        ...


class GroupReading(Protocol):
    """How deliveries of a kind are asked for in groups of an engine over their files, which a store cannot know."""

    @property
    def version(self) -> str:
        """Of what is asked: with another one it is asked again."""
        ...

    @property
    def period(self) -> str:
        """The column whose month a file is of."""
        ...

    @property
    def reads(self) -> int:
        """How often the statement reads the bytes of a delivery, at most."""
        ...

    def find(self, store: ObjectStore) -> Iterator[Any]:
        """Yield the deliveries and refusals of a store of files."""
        ...

    def as_answer(self, delivery: Any, uri: str) -> Any:
        """The delivery whose one object is the answer about the files of another, or the refusal of one that cannot be asked."""
        ...

    def statement(self, relation: str, types: Mapping[str, str], files: Sequence[str], uri: str) -> str:
        """Ask for the groups of some files and the sums of their rows; ExportSchemaError for a table that lacks a column."""
        ...

    def arrow_schema(self, names: Iterable[str]) -> Any:
        """What the columns of an answer are."""
        ...

    def sums(self, total: Mapping[str, Any]) -> dict[str, str]:
        """The exact sums among the columns of the row that states them."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement that runs: its rows as they come, or batches of Arrow, and what is known of it when the last one came."""

    names: tuple[str, ...]
    rows: Iterator[Any]
    query_id: str
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Opened:
    """What a statement about some files reads: a relation as a FROM has it, its columns and types."""

    relation: str
    types: Mapping[str, str]
    among: tuple[str, ...] = ()  # the files by the names that the relation has of them, where it has others too
    table: str = ""  # which table that is; '' where it is the files alone
    version: str = ""  # of the table, where it has versions
    untried: str = ""  # what of it no test runs


class Engine(Protocol):
    """What answers SQL over the files of a bucket."""

    name: str

    def open(self, files: Sequence[str]) -> Opened:
        """Return what a statement about these files reads, by their full names."""
        ...

    def ask(self, sql: str) -> Asked:
        """Run a statement; every failure is a ConnectorError."""
        ...


@dataclass(slots=True)
class Budget:
    """The bytes that all queries of one refresh may read together."""

    maximum: int
    used: int = 0

    def take(self, number: int, where: str) -> None:
        """Set bytes aside before the query that is billed for them; SourceUnreadableError where they are no longer left."""
        number = max(number, LEAST_BILLED)
        if self.used + number > self.maximum:
            raise SourceUnreadableError(
                f"{where}: the next query would read {number} bytes, and of the {self.maximum} that one refresh may read"
                f" {self.maximum - self.used} are left. It was not run and costs nothing.",
                reason="above_refresh_budget",
                remedy="Raise `maximum_bytes_per_refresh`, or let the next refresh go on.",
            )
        self.used += number


@dataclass(frozen=True, slots=True)
class Question:
    """What a server of metrics is asked about each step of a day. Questions of one exporter are landed as one object."""

    exporter: str
    metric: str
    query: str
    is_counter: bool = False  # asked from the first instant of a window on: what counts is what it grew by
    is_of_window: bool = False  # asked once for a window, of which `WINDOW` in the query is the length


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """The settings of a source that a store needs, and of a table how it is read. None of them is a secret."""

    source: str = ""  # its name: jobs of BigQuery are labelled with it
    role_arn: str | None = None
    external_id: str | None = None
    endpoint_url: str | None = None
    requester_pays: bool = False
    impersonate: str | None = None
    maximum_bytes_billed: int = 100_000_000_000
    billing_project: str | None = None
    dataset_location: str | None = None
    table: TableReading | None = None
    engine: str | None = None  # where groups are made of the rows; `engine_url` is its table over the files of the location
    engine_url: str | None = None
    groups: GroupReading | None = None
    questions: tuple[Question, ...] = ()  # of a server of metrics
    first_day: date | None = None  # partitions before it are not asked for
    end_day: date | None = None  # nor those from it on
    oldest_day: date | None = None  # of those before `first_day` that were written since `changed_since` none before this one
    changed_since: datetime | None = None
    budget: Budget | None = None  # without one queries are not priced before they run
    is_free: bool = False  # of a table or an API only what is not billed
    api: str = ""  # of `location: api`: the service of AWS that is asked
    keep: str | None = None  # 'raw': of what is landed in groups the provider's rows are read too, beside them
    asked_at: datetime | None = None  # of an API whose months may be restated: since when they are asked again


class ObjectStore(Protocol):
    """A location that can be listed and read."""

    uri: str

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects below a prefix in the order of their keys."""
        ...

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a small object whole; one above the limit is an ExportContentError."""
        ...

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Copy an object to a local file in one stream and return its sha256; ExportChangedError if it is another one now."""
        ...

    def uri_of(self, key: str) -> str:
        """Return the full name of an object for messages."""
        ...


@dataclass(frozen=True, slots=True)
class Read:
    """Objects that are read by one query, or by a query each, and the bytes that they are billed for."""

    infos: tuple[ObjectInfo, ...]
    bytes: int


class PricedStore(ObjectStore, Protocol):
    """A location whose reads are billed by the byte: a table."""

    is_complete: bool  # whether the last listing found all that had changed, whatever days it asked for

    def price(self, infos: Sequence[ObjectInfo]) -> Sequence[Read]:
        """Return how listed objects will be read, and for how many bytes; nothing is read or billed."""
        ...

    def query_of(self, info: ObjectInfo) -> bytes | None:
        """Return the record of the query that a fetched object is the answer to; None where its rows are the provider's own."""
        ...


class GroupingStore(ObjectStore, Protocol):
    """A location whose objects may be answers: groups that an engine made of the provider's rows."""

    def query_of(self, info: ObjectInfo) -> bytes | None:
        """Return the record of the query that a fetched object is the answer to; None where its rows are the provider's own."""
        ...

    def raw_of(self, info: ObjectInfo) -> tuple[ObjectStore, Sequence[ObjectInfo]]:
        """Return the provider's own rows behind an answer: as which objects, and what reads these. They are billed as any."""
        ...


class Bucket(Protocol):
    """A bucket that is ours to write below a prefix: a landing. Credentials and endpoint are those of the environment."""

    uri: str
    permissions: str  # what must be granted for all of this

    def uri_of(self, key: str) -> str:
        """Return the full name of an object for messages."""
        ...

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects below a prefix in the order of their keys."""
        ...

    def get(self, key: str) -> bytes:
        """Return a small object whole."""
        ...

    def download_hashed(self, key: str, path: Path) -> str:
        """Copy an object to a local file and return its sha256."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write or replace a small object; readers see the old or the new one."""
        ...

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object unless its key is taken, and return whether it was free. Of several writers exactly one wins."""
        ...

    def upload(self, path: Path, key: str) -> None:
        """Copy a local file of any size to an object."""
        ...

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is no error."""
        ...
