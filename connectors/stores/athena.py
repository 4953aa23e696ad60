"""Amazon Athena as an engine over the files of a bucket, through boto3. Tried with fakes of its answers only.

`athena://workgroup/catalog/database/table`: the workgroup decides where results lie and how many bytes a query may read. Asked
are `athena:StartQueryExecution`, `GetQueryExecution`, `GetQueryResults` and `GetTableMetadata`; Athena itself reads the table
with the rights of this login (Glue and S3) and writes its result.
https://docs.aws.amazon.com/athena/latest/APIReference/ (read 2026-11-29).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from connectors.errors import SourceUnreadableError
from connectors.stores import Asked, Opened, StoreOptions
from connectors.stores.grouped import named_by_both, relation_of
from connectors.stores.s3_access import NO_CREDENTIALS, session_of

_LONGEST = 262_144  # bytes of a statement: https://docs.aws.amazon.com/athena/latest/ug/service-limits.html
_WAITS = (1.0, 2.0, 4.0, 8.0)  # seconds between two looks; then every eight
_GIVEN_UP = 60 * 60  # seconds that a query may take
_DENIED = {"AccessDeniedException", "AccessDenied"}
_GRANT = "Grant this login what docs/sources/aws_cur.md lists: on the workgroup, on the table, and on the bucket of its results."


class AthenaEngine:
    """A table of Athena. The constructor asks nothing."""

    name = "athena"

    def __init__(self, options: StoreOptions) -> None:
        self.url, self.options = options.engine_url or "", options
        parts = urlsplit(self.url)
        names = parts.path.strip("/").split("/")
        if parts.scheme != "athena" or not parts.netloc or len(names) != 3 or not all(names) or '"' in parts.path:
            raise self._error("names no table", "bad_location", "Write athena://workgroup/catalog/database/table.")
        self._workgroup, (self._catalog, self._database, self._table) = parts.netloc, names
        self.relation = relation_of(self.url)

    def open(self, files: Sequence[str]) -> Opened:
        """The table, of which a statement reads these files."""
        return Opened(self.relation, self._types, named_by_both(files), table=self.relation)

    @cached_property
    def _types(self) -> Mapping[str, str]:
        with self._named_errors():
            answer = self.client.get_table_metadata(
                CatalogName=self._catalog, DatabaseName=self._database, TableName=self._table, WorkGroup=self._workgroup
            )
        table = answer["TableMetadata"]
        return {one["Name"].lower(): one["Type"] for one in (*table.get("Columns", ()), *table.get("PartitionKeys", ()))}

    def ask(self, sql: str) -> Asked:
        """Run a statement, wait for it, and give its rows as they come."""
        if len(sql.encode()) > _LONGEST:
            remedy = "Leave `engine` out of this source, or have the export written in fewer files."
            raise self._error(f"the statement has more than {_LONGEST} bytes, for the month has many files", "too_large", remedy)
        with self._named_errors():
            started = self.client.start_query_execution(QueryString=sql, WorkGroup=self._workgroup)
            query_id = started["QueryExecutionId"]
            execution = self._awaited(query_id)
            pages = self.client.get_paginator("get_query_results").paginate(QueryExecutionId=query_id)
            answers = iter(pages)
            first = next(answers)
        names = tuple(column["Name"] for column in first["ResultSet"]["ResultSetMetadata"]["ColumnInfo"])
        return Asked(names, self._rows(first, answers), query_id, execution["Status"]["SubmissionDateTime"].astimezone(UTC))

    def _awaited(self, query_id: str) -> Mapping[str, Any]:
        """The execution when it is over; an error where it failed."""
        waited, waits = 0.0, iter(_WAITS)
        while True:
            execution: Mapping[str, Any] = self.client.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]
            status = execution["Status"]
            if status["State"] == "SUCCEEDED":
                return execution
            if status["State"] in ("FAILED", "CANCELLED"):
                why = status.get("StateChangeReason") or status["State"]
                remedy = "See the query in Athena's console, in the workgroup of `engine_url`; then try again."
                raise self._error(f"query {query_id}: {why}", "source_unreadable", remedy)
            if waited > _GIVEN_UP:
                raise self._error(f"query {query_id} runs for an hour", "broken_stream", "Look at the query in Athena's console.")
            pause = next(waits, _WAITS[-1])
            time.sleep(pause)
            waited += pause

    def _rows(self, first: Mapping[str, Any], others: Iterator[Mapping[str, Any]]) -> Iterator[Sequence[Sequence[Any]]]:
        """The rows of all pages; the first row of the first page has the names of the columns."""
        yield _texts(first["ResultSet"]["Rows"][1:])
        while True:
            with self._named_errors():
                page = next(others, None)
            if page is None:
                return
            yield _texts(page["ResultSet"]["Rows"])

    @cached_property
    def client(self) -> Any:
        """The client of boto3, made when it is first needed."""
        session, region = session_of(self.options)
        return boto3.Session(botocore_session=session).client("athena", region_name=region)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (BotoCoreError, ClientError) as error:
            code = error.response["Error"].get("Code", "?") if isinstance(error, ClientError) else type(error).__name__
            made = getattr(error, "operation_name", "the request")
            reason, remedy = "source_unreadable", "Check the region, the workgroup and the AWS credentials; then try again."
            if code in _DENIED:
                reason, remedy = "permission_denied", _GRANT
            elif code in NO_CREDENTIALS.split():
                reason, remedy = "no_credentials", "Log in again: the AWS credential chain gives no valid credentials here."
            elif code == "MetadataException":
                reason, remedy = "missing_table", "Check catalog, database and table of `engine_url`."
            raise self._error(f"{made} failed with {code}", reason, remedy) from error

    def _error(self, what: str, reason: str, remedy: str) -> SourceUnreadableError:
        return SourceUnreadableError(f"{self.url}: {what}.", reason=reason, remedy=remedy)


def _texts(rows: Sequence[Mapping[str, Any]]) -> list[list[str | None]]:
    """Rows as Athena has them: each value a text, or none."""
    return [[one.get("VarCharValue") for one in row["Data"]] for row in rows]
