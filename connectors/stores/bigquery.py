"""Tables and views of BigQuery as a store whose objects are their partitions. The only client of BigQuery.

A listing is one capped query, which reads a column or two; a partition is fetched as one capped query whose rows stream into a
Parquet file with BigQuery's own types. The table itself is asked about first, which costs nothing. What the columns mean and
every SQL text come with the options (`TableReading`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import BadRequest
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY, DEFAULT_RETRY

from connectors.errors import ConnectorError, ExportSchemaError, SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo, StoreOptions, TableReading
from connectors.stores.google_access import CALL, credentials_of, named_errors
from connectors.stores.google_locations import bad_location, rows_file, table_location
from connectors.stores.row_streams import EPOCH, Written, microseconds, write_rows
from connectors.stores.transfer import Remote, broken, changed, hash_of

GRPC = "TRAINLEDGER_BIGQUERY_GRPC"  # host:port of a Storage API without TLS: for tests only
Step = Literal["look", "read", "doctor"]
_ATTEMPTS = 3  # the client resumes a stream by itself; where it gives up, the query is asked again
_LOOK, _READ = 10 * 60, 60 * 60  # seconds that a job may run
RETRY = DEFAULT_RETRY.with_timeout(CALL)
_RETRIES: dict[str, Any] = {"retry": RETRY, "job_retry": DEFAULT_JOB_RETRY.with_timeout(5 * CALL)}  # of a job and its calls
_NO_CAP = 1 << 62
_READABLE = {"TABLE", "VIEW", "MATERIALIZED_VIEW"}


class TableStore(Remote):
    """The partitions of bq://project.dataset.table, as `_PARTITIONTIME=2026-04-12/rows.parquet`. The constructor asks nothing.

    Where the days are not those of loading, the name has the column: `_PARTITIONTIME=2026-04-12/by-usage_start_time.parquet`.

    The etag of a partition is its number of rows and its newest export time, or the sum of its rows' fingerprints; both are
    checked against the rows that come. Its size is 0: it is known when the file is written.
    """

    def __init__(self, location: str, options: StoreOptions | None = None) -> None:
        self._table = table_location(location)
        self.uri = self._table.uri
        self.options = options or StoreOptions()
        self._described: Mapping[str, Any] | None = None

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Ask which partitions there are between `first_day` and `end_day`, and what identifies their rows."""
        description = self._readable()
        reading = self._reading
        reading.check(description, self.uri)
        sql = reading.look_sql(self._table.name, description, self.options.first_day, self.options.end_day)
        written, name = self._written(description), rows_file(reading.other_days(description))
        for row in self._asked(sql, description):
            key = f"_PARTITIONTIME={row['day']}/{name}"
            newest: datetime | None = row["newest_export"]
            token = row["fingerprint"] if newest is None else microseconds(newest)
            if key.startswith(prefix):
                yield ObjectInfo(key, 0, f"{row['row_count']}-{token}", newest or written(row["day"]))

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """A partition is no small object: what is read whole are manifests, which no table has."""
        raise NotImplementedError(info.key)

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Stream the rows of a partition into a Parquet file; ExportChangedError where they are no longer those listed."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._fetch(info, path)
                return hash_of(path)
            except ConnectorError as error:
                path.unlink(missing_ok=True)
                if attempt == _ATTEMPTS or error.reason != "broken_stream":
                    raise
        raise AssertionError("the last attempt returns or raises")

    def describe(self) -> dict[str, Any]:
        """Return the table as `tables.get` of the REST API has it: schema, type, timePartitioning, clustering, location, numRows.

        It costs nothing and reads no row. Also of what is not read: an external table, a snapshot.
        """
        with named_errors(self.uri, "describe", self.options):
            table = self.client.get_table(self._table.name, retry=RETRY, timeout=CALL)
        found: dict[str, Any] = table.to_api_repr()
        return found

    def dry_run(self, sql: str) -> int:
        """Return the bytes that a query would read; nothing is read or billed."""
        config = self._config("doctor", _LOOK, dry_run=True, use_query_cache=False)
        config.maximum_bytes_billed = _NO_CAP  # nothing is billed, and of a query above the cap too the bytes are asked for
        location = self._location(self._readable())
        with named_errors(self.uri, "query", self.options):
            job = self.client.query(sql, job_config=config, location=location, timeout=CALL, **_RETRIES)
        return int(job.total_bytes_processed or 0)

    @cached_property
    def client(self) -> bigquery.Client:
        """The client over REST, made when it is first needed."""
        options = ClientOptions(api_endpoint=self.options.endpoint_url) if self.options.endpoint_url else None
        with named_errors(self.uri, "describe", self.options):
            return bigquery.Client(
                self.options.billing_project or self._table.project,
                credentials=credentials_of(self.options),
                client_options=options,
            )

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

    @property
    def _reading(self) -> TableReading:
        if self.options.table is None:
            raise SourceUnreadableError(
                f"{self.uri}: a source of this kind is not read from a table.",
                reason="bad_location",
                remedy="Use a folder, s3:// or gs://; docs/sources names what each kind is read from.",
            )
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

    def _location(self, description: Mapping[str, Any] | None = None) -> str | None:
        """Where queries run: where the table lies."""
        return self.options.dataset_location or (description or {}).get("location")

    def _config(self, step: Step, seconds: int, **more: Any) -> bigquery.QueryJobConfig:
        """No job id of our own: with one the client would not ask a failed job again."""
        labels = {"product": "trainledger", "source": self.options.source, "step": step}
        return bigquery.QueryJobConfig(
            maximum_bytes_billed=self.options.maximum_bytes_billed,
            labels={key: value for key, value in labels.items() if value},
            job_timeout_ms=seconds * 1000,
            **more,
        )

    def _asked(self, sql: str, description: Mapping[str, Any]) -> Iterable[Any]:
        """The few rows of a look, over REST."""
        config, location = self._config("look", _LOOK), self._location(description)
        waits: dict[str, Any] = {"api_timeout": CALL, "wait_timeout": _LOOK}
        with self._capped(sql), named_errors(self.uri, "query", self.options):
            return list(self.client.query_and_wait(sql, job_config=config, location=location, **waits, **_RETRIES))

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

    def _written(self, description: Mapping[str, Any]) -> Any:
        """A function of a partition's first day: when it was last written, as far as no column of its rows has it."""
        sql = self._reading.written_sql(self._table.full_dataset, self._table.table, description)
        found: dict[date, datetime] = {}
        for row in self._asked(sql, description) if sql else ():
            if day := day_of(row["partition_id"]):
                found[day] = max(found.get(day, EPOCH), row["last_modified_time"])
        if description.get("type") in {"VIEW", "MATERIALIZED_VIEW"} and not self._reading.changes_by(description):
            remedy = "Name the table behind the view; of a bill, keep `export_time` in the view."
            raise bad_location(self.uri, "is a view, and when its rows were written is unknown", remedy)
        whole = EPOCH + timedelta(milliseconds=int(description.get("lastModifiedTime") or 0))
        return lambda day: found.get(day, whole)

    def _fetch(self, info: ObjectInfo, path: Path) -> None:
        day = date.fromisoformat(info.key.removeprefix("_PARTITIONTIME=")[:10])
        count, _, token = info.etag.partition("-")
        try:
            try:
                written = self._stream(day, self._readable(), info.key, path)
            except _ColumnGone:  # it was there when the table was described
                written = self._stream(day, self._readable(again=True), info.key, path)
        except (_ColumnGone, ExportSchemaError) as error:  # the next look finds what the table lacks
            raise changed(self.uri_of(info.key), info.key) from error
        if written.rows != int(count) or (written.newest and str(microseconds(written.newest)) != token):
            raise changed(self.uri_of(info.key), info.key)

    def _stream(self, day: date, description: Mapping[str, Any], key: str, path: Path) -> Written:
        """Write the rows of a partition, batch by batch."""
        where, export_time = self.uri_of(key), self._reading.changes_by(description)
        sql = self._reading.rows_sql(self._table.name, description, day)
        config, location = self._config("read", _READ), self._location(description)
        with self._capped(sql), named_errors(where, "query", self.options, key):
            try:
                job = self.client.query(sql, job_config=config, location=location, timeout=CALL, **_RETRIES)
                result = job.result(timeout=_READ, **_RETRIES)
            except BadRequest as error:
                if "Unrecognized name" in str(error):
                    raise _ColumnGone from error
                raise
        with named_errors(where, "stream", self.options, key):
            stream = result.to_arrow_iterable(bqstorage_client=self.reader, max_queue_size=1, max_stream_count=1, timeout=_READ)
            written = write_rows(stream, path, export_time)
        if written.rows != result.total_rows:
            raise broken(where, key, f"the stream ended after {written.rows} of {result.total_rows} rows")
        return written


class _ColumnGone(Exception):
    """A column that the description has, and the table no longer."""


def day_of(partition_id: str | None) -> date | None:
    """The first day of a partition such as 20260412, 202604 or 2026041205; None for what lies in no time."""
    text = (partition_id or "")[:8]
    if not text.isdecimal():
        return None
    return date(int(text[:4]), int(text[4:6] or 1), int(text[6:] or 1))
