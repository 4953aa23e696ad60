"""Tables and views of BigQuery as a store whose objects are their partitions. The only client of BigQuery.

A listing is one capped query, which reads a column or two; a partition is fetched as one capped query whose rows stream into a
Parquet file with BigQuery's own types. The table itself is asked about first, which costs nothing. What the columns mean and
every SQL text come with the options (`TableReading`).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from google.api_core.exceptions import BadRequest
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY, DEFAULT_RETRY

from connectors.errors import ConnectorError, ExportChangedError, ExportSchemaError, SourceUnreadableError
from connectors.stores import LEAST_BILLED, READ_LIMIT, ObjectInfo, Read, StoreOptions, TableReading
from connectors.stores.google_access import CALL, client_of, credentials_of, named_errors
from connectors.stores.google_locations import bad_location, rows_file, table_location
from connectors.stores.transfer import Remote, broken, changed, hash_of, retried

GRPC = "TRAINLEDGER_BIGQUERY_GRPC"  # host:port of a Storage API without TLS: for tests only
_LOOK, _READ = 10 * 60, 60 * 60  # seconds that a job may run
RETRY = DEFAULT_RETRY.with_timeout(CALL)
_RETRIES: dict[str, Any] = {"retry": RETRY, "job_retry": DEFAULT_JOB_RETRY.with_timeout(5 * CALL)}  # of a job and its calls
_NO_CAP = 1 << 62
_ROW_GROUP = 64 << 20  # bytes in memory: some 50,000 wide rows of a bill
# of what no time divides: a query for one day is billed for all, so one query reads many. Its answer may have 10 GB compressed
# (https://cloud.google.com/bigquery/quotas#query_jobs, read 2026-11-28), some 200 bytes a row of a bill; each day is an open file
_SPAN_ROWS, _SPAN_DAYS = 20_000_000, 200
_CLOCKS = timedelta(days=1)  # how far our clock and Google's may be apart, with room
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# columns of an answer in groups, beside those of the table: how many rows a row stands for, its day, and the sums of a day's rows
LINES, OF_DAY, SUMS = "line_count", "partition_day", "totals"
_READABLE = {"TABLE", "VIEW", "MATERIALIZED_VIEW"}


class TableStore(Remote):
    """The partitions of bq://project.dataset.table, as `_PARTITIONTIME=2026-04-12/rows.parquet`. The constructor asks nothing.

    Where the days are not those of loading, the name has the column: `_PARTITIONTIME=2026-04-12/by-usage_start_time.parquet`.

    The etag of a partition is its number of rows and its newest export time, or the sum of its rows' fingerprints; both are
    checked against the rows that come. Its size is 0: it is known when the file is written. Where BigQuery makes groups of the
    rows, what is asked is part of the etag, and whether the rows come too: the same rows asked for otherwise are another object.
    """

    def __init__(self, location: str, options: StoreOptions | None = None) -> None:
        self.table = table_location(location)
        self.uri = self.table.uri
        self.options = options or StoreOptions()
        self.is_complete = self.options.first_day is None  # whether the last look found what changed on whatever day
        self._described: Mapping[str, Any] | None = None
        self._spans: dict[str, Read] = {}  # by key: what is read together
        self._cut: dict[str, _File] = {}  # by key: what came of a span and was not fetched yet
        self._asked_for: dict[date, dict[str, Any]] = {}  # by day: the query that made its groups, and the sums of its rows
        self._queries: dict[str, bytes] = {}  # by key: its record

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Ask which partitions there are between `first_day` and `end_day`, and what identifies their rows.

        Of a table that time divides also those before `first_day` that were written since `changed_since`.
        """
        description = self._readable()
        reading = self._reading
        reading.columns_of(description, self.uri)  # refuses a table of another kind before a byte is billed
        found = self._partitions(description)
        written, name = self._written(description, found), rows_file(reading.other_days(description))
        options = self.options
        sql = reading.look_sql(self.table.name, description, options.first_day, options.end_day, self._earlier(found))
        for row in self._asked(sql, description):
            key = f"_PARTITIONTIME={row['day']}/{name}"
            newest: datetime | None = row["newest_export"]
            token = row["fingerprint"] if newest is None else _microseconds(newest)
            if key.startswith(prefix):
                yield ObjectInfo(key, 0, f"{row['row_count']}-{token}{self._asked_as}", newest or written(row["day"]))

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """A partition is no small object: what is read whole are manifests, which no table has."""
        raise NotImplementedError(info.key)

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Stream the rows of a partition into a Parquet file; ExportChangedError where they are no longer those listed.

        The client resumes a stream by itself; where it gives up, the query is asked again.
        """
        return retried("broken_stream", lambda: self._fetch(info, path))

    def query_of(self, info: ObjectInfo) -> bytes | None:
        """Return the record of the query whose groups were fetched, for people and for `landing.answers`."""
        return self._queries.pop(info.key, None)

    def raw_of(self, info: ObjectInfo) -> tuple[TableStore, Sequence[ObjectInfo]]:
        """The rows of a partition that came in groups, as they are read where none are made."""
        return self._without_groups, [replace(info, etag=info.etag.removesuffix(self._asked_as))]

    def price(self, infos: Sequence[ObjectInfo]) -> list[Read]:
        """How listed partitions will be read, and for how many bytes: dry runs, which are free. The next `fetch` keeps to it.

        Where no time divides the table or view, a query reads as many partitions as fit its answer, and they are cut here.
        """
        description, reading = self._readable(), self._reading
        is_divided, reads = reading.is_divided(description), []
        for part in _months(infos) if is_divided else _spans(infos):
            sql = reading.rows_sql(self.table.name, description, [_day(info.key) for info in part])
            queries = len(part) if is_divided else 1
            reads.append(Read(tuple(part), max(self.dry_run(sql), queries * LEAST_BILLED)))
        self._spans = {} if is_divided else {info.key: read for read in reads for info in read.infos}
        if self.options.keep and reading.grouped:
            reads += self._without_groups.price([one for info in infos for one in self.raw_of(info)[1]])
        return reads

    def describe(self) -> dict[str, Any]:
        """Return the table as `tables.get` of the REST API has it: schema, type, timePartitioning, clustering, location, numRows.

        It costs nothing and reads no row. Also of what is not read: an external table, a snapshot.
        """
        with named_errors(self.uri, "describe", self.options):
            table = self.client.get_table(self.table.name, retry=RETRY, timeout=CALL)
        found: dict[str, Any] = table.to_api_repr()
        return found

    def dry_run(self, sql: str) -> int:
        """Return the bytes that a query would read; nothing is read or billed."""
        # no cap: nothing is billed, and of a query above the cap too the bytes are asked for
        job = self._job("doctor", _LOOK, self._readable(), maximum_bytes_billed=_NO_CAP, dry_run=True, use_query_cache=False)
        with named_errors(self.uri, "query", self.options):
            tried = self.client.query(sql, timeout=CALL, **job)
        return int(tried.total_bytes_processed or 0)

    @cached_property
    def client(self) -> bigquery.Client:
        """The client over REST, made when it is first needed."""
        project = self.options.billing_project or self.table.project
        return client_of(bigquery.Client, project, self.uri, "describe", self.options)

    @cached_property
    def reader(self) -> Any:
        """The client of the Storage API, over gRPC; none beside an emulator's REST, which does not stream a query's rows."""
        endpoint = os.environ.get(GRPC)
        if self.options.endpoint_url and not endpoint:
            return None
        from google.cloud.bigquery_storage_v1 import BigQueryReadClient
        from google.cloud.bigquery_storage_v1.services.big_query_read.transports import BigQueryReadGrpcTransport

        if self.options.endpoint_url:
            import grpc

            # a batch of wide rows is larger than the 4 MB that gRPC allows by itself
            channel = grpc.insecure_channel(endpoint, [("grpc.max_receive_message_length", -1)])
            return BigQueryReadClient(transport=BigQueryReadGrpcTransport(channel=channel))
        return BigQueryReadClient(credentials=credentials_of(self.options))

    @cached_property
    def _without_groups(self) -> TableStore:
        """The same table, read without groups."""
        return TableStore(self.uri, replace(self.options, table=self._reading.of_rows(), keep=None))

    @property
    def _asked_as(self) -> str:
        """The end of each etag where BigQuery makes groups: what is asked, and whether the rows come too."""
        grouped = self._reading.grouped
        return f"-{grouped}{'-raw' if self.options.keep else ''}" if grouped else ""

    @property
    def _reading(self) -> TableReading:
        if self.options.table is None:
            remedy = "Use a folder, s3:// or gs://; docs/sources names what each kind is read from."
            raise bad_location(f"{self.uri}:", "a source of this kind is not read from a table", remedy)
        return self.options.table

    def _readable(self, *, again: bool = False) -> Mapping[str, Any]:
        """The description of a table that can be read, asked for once."""
        if self._described is None or again:
            description = self.describe()
            kind = description.get("type", "TABLE")
            if kind not in _READABLE:
                raise bad_location(self.uri, f"is of type {kind}", "Name the table that Google exports to, or a view of it.")
            wanted, found = self.options.dataset_location, description.get("location")
            if wanted and found and wanted.lower() != found.lower():
                raise SourceUnreadableError(
                    f"{self.uri} lies in {found}, not in {wanted}.",
                    reason="wrong_region",
                    remedy=f"Set `dataset_location: {found}`, or leave the key out: then BigQuery is asked.",
                )
            self._described = description
        return self._described

    def _job(self, step: str, seconds: int, description: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """How a query runs: capped, labelled, where the table lies.

        It has no job id of our own: with one the client would not ask a failed job again.
        """
        labels = {"product": "trainledger", "source": self.options.source, "step": step}
        settings: dict[str, Any] = {
            "maximum_bytes_billed": self.options.maximum_bytes_billed,
            "labels": {key: value for key, value in labels.items() if value},
            "job_timeout_ms": seconds * 1000,
        }
        location = self.options.dataset_location or description.get("location")
        return {"job_config": bigquery.QueryJobConfig(**settings | more), "location": location, **_RETRIES}

    def _asked(self, sql: str, description: Mapping[str, Any]) -> Iterable[Any]:
        """The few rows of a look, over REST."""
        if self.options.budget:
            self.options.budget.take(self.dry_run(sql), self.uri)
        job = self._job("look", _LOOK, description)
        with self._capped(sql), named_errors(self.uri, "query", self.options):
            return list(self.client.query_and_wait(sql, api_timeout=CALL, wait_timeout=_LOOK, **job))

    @contextmanager
    def _capped(self, sql: str) -> Iterator[None]:
        """Say of a query above its cap how much it would read."""
        try:
            yield
        except SourceUnreadableError as error:
            if error.reason == "above_byte_cap":
                needed = self.dry_run(sql)
                error.message += f" It would read {needed} bytes, and may read {self.options.maximum_bytes_billed}."
            raise

    def _partitions(self, description: Mapping[str, Any]) -> Mapping[date, datetime]:
        """When each partition was last written, by its first day, where that is wanted and can be asked."""
        options, is_dated = self.options, bool(self._reading.changes_by(description))
        sql = self._reading.written_sql(self.table.full_dataset, self.table.table, description)
        if not sql or (is_dated and not (options.first_day and options.changed_since)):
            return {}
        found: dict[date, datetime] = {}
        try:
            rows = self._asked(sql, description)
        except SourceUnreadableError as error:
            if is_dated and error.reason == "permission_denied":  # then all days are asked for from time to time
                return {}
            raise
        for row in rows:
            if day := day_of(row["partition_id"]):
                found[day] = max(found.get(day, EPOCH), row["last_modified_time"])
        self.is_complete = True
        return found

    def _earlier(self, written: Mapping[date, datetime]) -> list[date]:
        """Partitions before the days of a look that were written since."""
        options = self.options
        if not options.first_day or not options.changed_since:
            return []
        since, oldest = options.changed_since - _CLOCKS, options.oldest_day or date.min
        return [day for day, at in written.items() if at >= since and oldest <= day < options.first_day]

    def _written(self, description: Mapping[str, Any], found: Mapping[date, datetime]) -> Any:
        """A function of a partition's first day: when it was last written, as far as no column of its rows has it."""
        if description.get("type") in {"VIEW", "MATERIALIZED_VIEW"} and not self._reading.changes_by(description):
            remedy = "Name the table behind the view; of a bill, keep `export_time` in the view."
            raise bad_location(self.uri, "is a view, and when its rows were written is unknown", remedy)
        whole = EPOCH + timedelta(milliseconds=int(description.get("lastModifiedTime") or 0))
        return lambda day: found.get(day, whole)

    def _fetch(self, info: ObjectInfo, path: Path) -> str:
        where = self.uri_of(info.key)
        try:
            try:
                file = self._file(info, self._readable(), path)
            except ExportChangedError:  # a column is gone that was there when the table was described
                file = self._file(info, self._readable(again=True), path)
            count, _, token = info.etag.removesuffix(self._asked_as).partition("-")
            if file.lines != int(count) or (file.newest and str(_microseconds(file.newest)) != token):
                raise changed(where, info.key)
            if self._reading.grouped:
                self._queries[info.key] = self._record(info, file)
            return hash_of(path)
        except ConnectorError as error:
            path.unlink(missing_ok=True)
            if isinstance(error, ExportSchemaError):  # the next look finds what the table lacks
                raise changed(where, info.key) from error
            raise

    def _record(self, info: ObjectInfo, file: _File) -> bytes:
        """What was asked and when, of what table, how many rows it had and gave, and what its own rows add up to."""
        if (asked := self._asked_for.pop(_day(info.key), None)) is None:
            raise broken(self.uri_of(info.key), info.key, "the answer has no sums of the rows of its partition")
        table = self._readable()
        record = {
            "engine": "bigquery",
            "table": self.table.name,
            "partition": f"{_day(info.key)}",
            "asked": self._reading.grouped,
            "job_id": asked["job_id"],
            "asked_at": asked["asked_at"],
            "table_etag": table.get("etag"),
            "table_last_modified_ms": table.get("lastModifiedTime"),
            "newest_export": file.newest.isoformat() if file.newest else None,
            "row_count": file.lines,
            "answer_row_count": file.rows,
            "sums": json.loads(asked["sums"]),
            "statement": asked["statement"],
        }
        return json.dumps(record, indent=1).encode() + b"\n"

    def _file(self, info: ObjectInfo, description: Mapping[str, Any], path: Path) -> _File:
        """The rows of a partition in a file: read by themselves, or cut from what was read with others."""
        newest = self._reading.changes_by(description)
        if not (span := self._spans.get(info.key)):
            with _File(path, newest) as file:
                for batch in self._stream(info.key, [info], description):
                    file.add(batch)
            return file
        if info.key not in self._cut:
            # where landing stages, and empties what a killed process left: a rename costs nothing on one disk
            folder = Path(tempfile.mkdtemp(prefix="span-", dir=path.parent.parent))
            self._cut |= self._read_span(info.key, span, description, folder)
        file = self._cut.pop(info.key)
        if file.rows:
            file.path.rename(path)
        if not self._cut:
            shutil.rmtree(file.path.parent)
        return file

    def _read_span(self, key: str, span: Read, description: Mapping[str, Any], folder: Path) -> dict[str, _File]:
        """A file for each partition of a span, empty ones among them."""
        newest, waiting = self._reading.changes_by(description), 0
        with ExitStack() as stack:
            opened = {one.key: _File(folder / f"{place}.parquet", newest) for place, one in enumerate(span.infos)}
            files = {_day(key): stack.enter_context(file) for key, file in opened.items()}
            for batch in self._stream(key, span.infos, description):
                days = self._reading.day_of_rows(description, batch)
                for day in pc.unique(days):
                    files[day.as_py()].add(batch.filter(pc.equal(days, day)))
                waiting += batch.nbytes
                if waiting >= 4 * _ROW_GROUP:
                    for file in files.values():
                        file.flush()
                    waiting = 0
        return opened

    def _stream(self, key: str, infos: Sequence[ObjectInfo], description: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """The rows of partitions, batch by batch."""
        where = self.uri_of(key)
        sql = self._reading.rows_sql(self.table.name, description, [_day(info.key) for info in infos])
        job = self._job("read", _READ, description)
        with self._capped(sql), named_errors(where, "query", self.options, key):
            try:
                asked = self.client.query(sql, timeout=CALL, **job)
                result = asked.result(timeout=_READ, **_RETRIES)
            except BadRequest as error:
                if "Unrecognized name" in str(error):
                    raise changed(where, key) from error
                raise
        rows = 0
        with named_errors(where, "stream", self.options, key):
            for batch in result.to_arrow_iterable(
                bqstorage_client=self.reader, max_queue_size=1, max_stream_count=1, timeout=_READ
            ):
                rows += batch.num_rows
                if self._reading.grouped:
                    facts = {"job_id": result.job_id, "asked_at": asked.started and asked.started.isoformat(), "statement": sql}
                    batch = self._without_sums(batch, facts)
                yield batch
        if rows != result.total_rows:
            raise broken(where, key, f"the stream ended after {rows} of {result.total_rows} rows")

    def _without_sums(self, batch: pa.RecordBatch, facts: dict[str, Any]) -> pa.RecordBatch:
        """The rows and groups of a batch; what states the sums of a day is kept aside."""
        is_sums = pc.is_valid(batch.column(SUMS))
        for row in batch.filter(is_sums).select([SUMS, OF_DAY]).to_pylist():
            self._asked_for[row[OF_DAY]] = {**facts, "sums": row[SUMS]}
        rows = batch.filter(pc.invert(is_sums))
        return rows.select([name for name in rows.schema.names if name != SUMS])


def day_of(partition_id: str | None) -> date | None:
    """The first day of a partition such as 20260412, 202604 or 2026041205; None for what lies in no time."""
    text = (partition_id or "")[:8]
    if not text.isdecimal():
        return None
    return date(int(text[:4]), int(text[4:6] or 1), int(text[6:] or 1))


@dataclass
class _File:
    """Rows written with their own types as they come, some batches as a row group: a message has some hundred rows."""

    path: Path
    time_column: str | None
    rows: int = 0
    lines: int = 0  # the rows of the table that they stand for
    newest: datetime | None = None  # time in that column
    _size: int = 0
    _waiting: list[pa.RecordBatch] = field(default_factory=list)
    _writer: pq.ParquetWriter | None = None

    def __enter__(self) -> _File:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.flush()
        if self._writer:
            self._writer.close()

    def add(self, rows: pa.RecordBatch) -> None:
        """Write rows, at once or with others."""
        rows = rows.select([name for name in rows.schema.names if name != OF_DAY]).replace_schema_metadata()
        self._writer = self._writer or pq.ParquetWriter(self.path, rows.schema, compression="zstd")
        if self.time_column and rows.num_rows:
            times = (self.newest, pc.max(rows.column(self.time_column)).as_py())
            self.newest = max((one for one in times if one), default=None)
        self._waiting.append(rows)
        self.rows, self._size = self.rows + rows.num_rows, self._size + rows.nbytes
        is_grouped = LINES in rows.schema.names
        self.lines += (pc.sum(rows.column(LINES)).as_py() or 0) if is_grouped else rows.num_rows
        if self._size >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._writer and self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._writer.schema))
        self._waiting, self._size = [], 0


def _day(key: str) -> date:
    """The first day of a partition, from its key."""
    return date.fromisoformat(key.removeprefix("_PARTITIONTIME=")[:10])


def _months(infos: Iterable[ObjectInfo]) -> Iterator[list[ObjectInfo]]:
    """Partitions by the month they begin in: one dry run asks for what a month's queries read."""
    for _, part in groupby(sorted(infos, key=lambda info: _day(info.key)), lambda info: _day(info.key).replace(day=1)):
        yield list(part)


def _spans(infos: Iterable[ObjectInfo]) -> Iterator[list[ObjectInfo]]:
    """Partitions whose rows one query may answer, in their order."""
    span, rows = list[ObjectInfo](), 0
    for info in sorted(infos, key=lambda info: _day(info.key)):
        count = int(info.etag.partition("-")[0])
        if span and (rows + count > _SPAN_ROWS or len(span) == _SPAN_DAYS):
            yield span
            span, rows = [], 0
        span.append(info)
        rows += count
    if span:
        yield span


def _microseconds(instant: datetime) -> int:
    """An instant as whole microseconds since 1970: exact, where a float of seconds would move the last digits."""
    return (instant - EPOCH) // timedelta(microseconds=1)
