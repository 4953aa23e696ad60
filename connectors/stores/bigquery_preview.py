"""What of a table of BigQuery costs nothing: whose login asks and what it may do, the partitions, and the first rows of one.

For `doctor`. A small answer comes over REST and a large one over the Storage API, so a permission that only the latter needs
would be missed until a large partition is read; which role has a permission is in `google_errors`. Partitions and rows are pages
of `tabledata.list`, which is not billed (https://docs.cloud.google.com/bigquery/pricing, free operations): no query is run. A
view has neither, nor has a table whose partitions are others than those it is read by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from google.auth.transport.requests import Request
from google.cloud.bigquery import SchemaField
from google.cloud.bigquery.table import RowIterator

from connectors.errors import ConnectorError
from connectors.stores import ObjectInfo, StoreOptions
from connectors.stores.bigquery import EPOCH, RETRY, TableStore, day_of
from connectors.stores.google_access import CALL, credentials_of, named_errors
from connectors.stores.google_locations import rows_file
from connectors.stores.transfer import hash_of

OF_TABLE = ("bigquery.tables.get", "bigquery.tables.getData")
ROWS = 5000  # of a partition: some 10 MB of answers, which the client takes two seconds to read
_PARTITIONS = (SchemaField("partition_id", "STRING"), SchemaField("last_modified_time", "INTEGER"))  # milliseconds since 1970


class TablePreview(TableStore):
    """The same objects as those of the table's store, as far as they are free. The etag is the id of a partition."""

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """The partitions between `first_day` and `end_day`; of a table divided by the hour the last one of each day."""
        description = self._readable()
        name = rows_file(self._reading.other_days(description))
        first, end = self.options.first_day or date.min, self.options.end_day or date.max
        found = {}
        with named_errors(self.uri, "describe", self.options):
            for part, written in sorted(tuple(row) for row in self._rows("__PARTITIONS_SUMMARY__", _PARTITIONS)):
                day = day_of(part)
                if day and first <= day < end:
                    key = f"_PARTITIONTIME={day}/{name}"
                    found[key] = ObjectInfo(key, 0, part, EPOCH + timedelta(milliseconds=written))
        return iter([info for key, info in found.items() if key.startswith(prefix)])

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Write the first rows of a partition, with BigQuery's own types, to a Parquet file."""
        columns = [SchemaField.from_api_repr(one) for one in self._readable()["schema"]["fields"]]
        with named_errors(self.uri_of(info.key), "describe", self.options, info.key):
            pq.write_table(self._rows(info.etag, columns).to_arrow(create_bqstorage_client=False), path)
        return hash_of(path)

    def _rows(self, part: str, columns: Sequence[SchemaField]) -> RowIterator:
        most = None if columns is _PARTITIONS else ROWS
        return self.client.list_rows(f"{self.table.name}${part}", columns, max_results=most, retry=RETRY, timeout=CALL)


def logged_in_as(uri: str, options: StoreOptions) -> str:
    """Log in, and return whose login it is: an e-mail, or '' where it does not say. An emulator is asked without any."""
    with named_errors(uri, "describe", options):
        credentials = credentials_of(options)
        if options.endpoint_url:
            return ""
        credentials.refresh(Request())
    named = (getattr(credentials, name, None) for name in ("service_account_email", "account"))
    return next((str(name) for name in named if name and name != "default"), "")


def lacking(store: TableStore) -> list[str]:
    """Permissions on the table that this login lacks; none where BigQuery does not say."""
    try:
        with named_errors(store.uri, "describe", store.options):
            granted = store.client.test_iam_permissions(store.table.name, OF_TABLE, retry=RETRY, timeout=CALL)
    except ConnectorError:
        return []
    return [one for one in OF_TABLE if one not in granted.get("permissions", ())]


def try_stream(store: TableStore, column: str) -> bool:
    """Open a session of the Storage API and read nothing of it. ConnectorError where it may not be opened.

    False where that cannot be known: of a view there is no session, and an emulator may have no Storage API.
    """
    if store.reader is None:
        return False
    from google.cloud.bigquery_storage_v1 import types

    table = store.table
    path = f"projects/{table.project}/datasets/{table.dataset}/tables/{table.table}"
    columns = types.ReadSession.TableReadOptions(selected_fields=[column])
    wanted = types.ReadSession(table=path, data_format=types.DataFormat.ARROW, read_options=columns)
    parent = f"projects/{store.options.billing_project or table.project}"
    try:
        with named_errors(store.uri, "stream", store.options):
            store.reader.create_read_session(parent=parent, read_session=wanted, max_stream_count=1, retry=None, timeout=CALL)
    except ConnectorError as error:
        if error.reason == "permission_denied":
            raise
        return False
    return True


def neighbours(store: TableStore) -> tuple[str, Sequence[str]]:
    """Of a table that is not there: whether 'table' or 'dataset' is the word that is wrong, and which of them there are.

    A refusal is the answer too: where tables are hidden the datasets are asked for, and where these are not, it is the project.
    """
    client, table = store.client, store.table
    bounded: dict[str, Any] = {"max_results": 1000, "retry": RETRY, "timeout": CALL}  # among which the meant one is looked for
    asked: tuple[tuple[str, Callable[[], list[str]]], ...] = (
        ("table", lambda: [one.table_id for one in client.list_tables(table.full_dataset, **bounded)]),
        ("dataset", lambda: [one.dataset_id for one in client.list_datasets(table.project, **bounded)]),
    )
    for what, names in asked:
        try:
            with named_errors(store.uri, "describe", store.options):
                return what, names()
        except ConnectorError:
            continue
    return "project", []
