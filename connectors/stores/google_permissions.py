"""Who a table of BigQuery is read as, and what they may do, found out before a row is asked for: for `doctor`. It costs nothing.

A small answer comes over REST and a large one over the Storage API, so a permission that only the latter needs would be missed
until a large partition is read. Which role has a permission is in `google_errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from google.auth.transport.requests import Request
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY

from connectors.errors import ConnectorError
from connectors.stores import StoreOptions
from connectors.stores.google_access import CALL, credentials_of, named_errors
from connectors.stores.google_locations import TableLocation, table_location

OF_TABLE = ("bigquery.tables.get", "bigquery.tables.getData")
_RETRY = DEFAULT_RETRY.with_timeout(CALL)
_BOUNDED: dict[str, Any] = {
    "max_results": 1000,
    "retry": _RETRY,
    "timeout": CALL,
}  # names among which the meant one is looked for


def logged_in_as(uri: str, options: StoreOptions) -> str:
    """Log in, and return whose login it is: an e-mail, or '' where it does not say. An emulator is asked without any."""
    with named_errors(uri, "describe", options):
        credentials = credentials_of(options)
        if options.endpoint_url:
            return ""
        credentials.refresh(Request())
    named = (getattr(credentials, name, None) for name in ("service_account_email", "account"))
    return next((str(name) for name in named if name and name != "default"), "")


def lacking(client: bigquery.Client, uri: str, options: StoreOptions) -> list[str]:
    """Permissions on the table that this login lacks; none where BigQuery does not say."""
    try:
        with named_errors(uri, "describe", options):
            granted = client.test_iam_permissions(table_location(uri).name, OF_TABLE, retry=_RETRY, timeout=CALL)
    except ConnectorError:
        return []
    return [one for one in OF_TABLE if one not in granted.get("permissions", ())]


def try_stream(reader: Any, uri: str, column: str, options: StoreOptions) -> bool:
    """Open a session of the Storage API and read nothing of it. ConnectorError where it may not be opened.

    False where that cannot be known: of a view there is no session, and an emulator may have no Storage API.
    """
    if reader is None:
        return False
    from google.cloud.bigquery_storage_v1 import types

    table = table_location(uri)
    path = f"projects/{table.project}/datasets/{table.dataset}/tables/{table.table}"
    wanted = types.ReadSession(
        table=path,
        data_format=types.DataFormat.ARROW,
        read_options=types.ReadSession.TableReadOptions(selected_fields=[column]),
    )
    parent = f"projects/{options.billing_project or table.project}"
    try:
        with named_errors(uri, "stream", options):
            reader.create_read_session(parent=parent, read_session=wanted, max_stream_count=1, retry=None, timeout=CALL)
    except ConnectorError as error:
        if error.reason == "permission_denied":
            raise
        return False
    return True


def neighbours(client: bigquery.Client, table: TableLocation, options: StoreOptions) -> tuple[str, Sequence[str]]:
    """Of a table that is not there: whether 'table' or 'dataset' is the word that is wrong, and which of them there are.

    A refusal is the answer too: where tables are hidden the datasets are asked for, and where these are not, it is the project.
    """
    asked: tuple[tuple[str, Callable[[], list[str]]], ...] = (
        ("table", lambda: [one.table_id for one in client.list_tables(table.full_dataset, **_BOUNDED)]),
        ("dataset", lambda: [one.dataset_id for one in client.list_datasets(table.project, **_BOUNDED)]),
    )
    for what, names in asked:
        try:
            with named_errors(table.uri, "describe", options):
                return what, names()
        except ConnectorError:
            continue
    return "project", []
