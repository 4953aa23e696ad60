"""An export in a table of a fake BigQuery: partitions of rows, which the product's own statements are answered from.

REST and the Storage API are fakes over HTTP and gRPC; what asks them is the product with the unmodified clients.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from connectors.gcp.tables import READINGS
from connectors.stores import StoreOptions
from connectors.stores.bigquery import GRPC, TableStore
from tests.bigquery.described import cells_of, described, fields_like
from tests.bigquery.rest_fake import Failure, RestFake, Rows, is_dry_run, text_of
from tests.bigquery.servers import GoogleSQL
from tests.bigquery.storage_fake import StorageFake
from tests.connectors.gcp import BILLING

TABLE = "acme-billing.exports.bill"
LOOK_COLUMNS = [
    {"name": "day", "type": "DATE"},
    {"name": "row_count", "type": "INTEGER"},
    {"name": "newest_export", "type": "TIMESTAMP"},
    {"name": "fingerprint", "type": "NUMERIC"},
]
WRITTEN_COLUMNS = [
    {"name": "partition_id", "type": "STRING"},
    {"name": "last_modified_time", "type": "TIMESTAMP"},
    {"name": "total_rows", "type": "INTEGER"},
]
MOMENT = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
_DAY = re.compile(r"(>=|<) \w+ '(\d{4}-\d\d-\d\d)")


def microseconds(instant: dt.datetime) -> str:
    """An instant as the REST API writes it."""
    return str((instant - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1))


@dataclass
class Exported:
    """A table divided by the day its rows were loaded, or what `described` states of it."""

    days: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by the first day of a partition
    schema: pa.Schema = BILLING
    more: Mapping[str, Any] = field(default_factory=lambda: {"timePartitioning": {"type": "DAY"}, "location": "EU"})
    written: dict[str, dt.datetime] = field(default_factory=dict)  # by the id of a partition
    denied: Failure | None = None  # where it may not be asked when they were written
    rest: RestFake = field(default_factory=RestFake)
    storage: StorageFake = field(default_factory=lambda: StorageFake([]))
    batch: int = 2  # rows of a message
    engine: GoogleSQL | None = None  # what answers a statement that groups
    of_answer: Callable[[pa.Table], pa.Table] = lambda answer: answer  # what becomes of its answer on the way

    def __post_init__(self) -> None:
        self.rest.answer, self.rest.pages = self.answer, self.pages
        self.rest.tables = {TABLE: described(self.schema, **self.more)}

    def answer(self, text: str) -> Rows | Failure:
        """What the table answers to a statement of the product."""
        if "INFORMATION_SCHEMA" in text:
            return self.denied or Rows(WRITTEN_COLUMNS, [[part, microseconds(at), "1"] for part, at in self.written.items()])
        ends = [day for _, day in _DAY.findall(text)]
        days = [
            day for day in sorted(self.days) if any(first <= day < end for first, end in zip(ends[::2], ends[1::2], strict=True))
        ]
        if "WITH source AS" in text:
            return self._grouped(text, days)
        if "COUNT(*)" in text:
            return Rows(LOOK_COLUMNS, [self._partition(day, "MAX(" in text) for day in days])
        return self.rows_of([row for day in days for row in self.days[day]])

    def pages(self, part: str) -> list[Any]:
        """The rows of a part, or of the list of parts, as tabledata.list has them."""
        unit = self.rest.tables[TABLE]["timePartitioning"]["type"]
        ids = {day.replace("-", "")[: 6 if unit == "MONTH" else 8]: day for day in sorted(self.days)}
        if part.endswith("__PARTITIONS_SUMMARY__"):
            newest = {
                name: max((row.get("export_time", MOMENT) for row in self.days[day]), default=MOMENT) for name, day in ids.items()
            }
            return [[{"v": name}, {"v": str(int(at.timestamp() * 1000))}] for name, at in newest.items()]
        return [cells_of(self.schema, row) for row in self.days[ids[part.partition("$")[2]]]]

    def rows_of(self, rows: Sequence[Mapping[str, Any]]) -> Rows:
        """Rows that the Storage API streams."""
        batches = pa.Table.from_pylist([dict(row) for row in rows], schema=self.schema).to_batches(self.batch)
        self.storage.batches = batches
        described_ = described(self.schema)["schema"]["fields"]
        return Rows(described_, total=len(rows))

    def _grouped(self, text: str, days: Sequence[str]) -> Rows:
        """The answer to a statement that groups, of GoogleSQL's reference implementation."""
        assert self.engine
        loaded = [
            {**row, "_PARTITIONTIME": dt.datetime.fromisoformat(f"{day}T00:00:00+00:00")}
            for day in days
            for row in self.days[day]
        ]
        schema = self.schema.append(pa.field("_PARTITIONTIME", pa.timestamp("us", "UTC")))
        answer = self.engine.answer(TABLE, schema, pa.Table.from_pylist(loaded, schema=schema), text)
        answer = self.of_answer(answer)
        self.storage.batches = answer.to_batches(self.batch)
        return Rows(fields_like(answer.schema), total=len(answer))

    def _partition(self, day: str, is_by_time: bool) -> list[str | None]:
        rows = self.days[day]
        if is_by_time:
            return [day, str(len(rows)), microseconds(max(row["export_time"] for row in rows)), None]
        return [day, str(len(rows)), None, str(sum(hash(repr(row)) for row in rows))]

    @property
    def statements(self) -> list[str]:
        """The texts of the queries that ran."""
        return [text_of(body) for body in self.rest.asked if not is_dry_run(body)]

    @property
    def looks(self) -> list[str]:
        return [text for text in self.statements if "COUNT(*)" in text]

    @property
    def reads(self) -> list[str]:
        """The days whose rows were read."""
        return [_DAY.findall(text)[0][1] for text in self.statements if "COUNT(*)" not in text and "INFORMATION" not in text]

    @contextmanager
    def serving(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        """The address of its REST API; the product finds that of its Storage API in the environment."""
        with self.rest.serving() as url, self.storage.serving() as address:
            monkeypatch.setenv(GRPC, address)
            yield url


def store_of(url: str, kind: str = "gcp_billing", **options: Any) -> TableStore:
    """The store of the table, as landing opens it."""
    return TableStore(f"bq://{TABLE}", StoreOptions(source="bill", endpoint_url=url, table=READINGS[kind], **options))
