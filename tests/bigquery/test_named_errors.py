"""What can go wrong with a table, each by its name and with a remedy, as the unmodified clients tell it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

import google.auth
from google.api_core.exceptions import ServiceUnavailable
from google.auth import iam
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.exceptions import DefaultCredentialsError, RefreshError
from google.auth.transport.requests import Request

from connectors.errors import ConnectorError, ExportChangedError, ExportSchemaError, SourceUnreadableError
from connectors.stores import ObjectInfo, StoreOptions
from connectors.stores.bigquery import TableStore
from connectors.stores.google_access import credentials_of, named_errors
from tests.bigquery.described import described
from tests.bigquery.exported import TABLE, Exported, store_of
from tests.bigquery.rest_fake import Failure
from tests.connectors.gcp import BILLING, line

NOT_THERE = BILLING.remove(BILLING.get_field_index("cost"))
GONE = Failure(400, "invalidQuery", "Unrecognized name: `cost_at_list` at [2:3]")


@pytest.fixture
def bill() -> Exported:
    return Exported({"2026-04-01": [line(cost=float(number)) for number in range(5)]})


@pytest.fixture
def url(bill: Exported, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with bill.serving(monkeypatch) as url:
        yield url


def error_of(store: TableStore, listed: ObjectInfo | None = None, folder: Path | None = None) -> ConnectorError:
    """What a look ends with, or the fetch of what was listed."""
    with pytest.raises(ConnectorError) as caught:
        store.fetch(listed, folder / "rows.parquet") if listed and folder else list(store.list_objects())
    return caught.value


@pytest.mark.parametrize(
    ("table", "reason", "remedy"),
    [
        (Failure(404, "notFound"), "missing_table", "Check project, dataset and table of bq://acme-billing.exports.bill"),
        (Failure(403, "accessNotConfigured"), "permission_denied", "Enable the BigQuery API"),
        (Failure(403, "accessDenied"), "permission_denied", "roles/bigquery.dataViewer, on the dataset"),
        (Failure(401, "authError"), "no_credentials", "gcloud auth application-default login"),
        (described(BILLING, type="EXTERNAL"), "bad_location", "Name the table that Google exports to"),
        (described(BILLING, type="SNAPSHOT"), "bad_location", "Name the table that Google exports to"),
    ],
)
def test_a_table_that_cannot_be_described_or_read_is_reported_before_a_query(
    bill: Exported, url: str, table: Any, reason: str, remedy: str
) -> None:
    bill.rest.tables = {TABLE: table}
    error = error_of(store_of(url))
    assert isinstance(error, SourceUnreadableError)
    assert (error.reason, remedy in error.remedy, bill.rest.asked) == (reason, True, [])


@pytest.mark.parametrize(
    ("refused", "reason", "remedy"),
    [
        (Failure(403, "accessDenied", "User does not have bigquery.jobs.create permission"), "permission_denied", "jobUser"),
        (Failure(403, "accessDenied", "Access Denied: Table acme:exports.bill: no"), "permission_denied", "dataViewer"),
        (Failure(403, "quotaExceeded"), "quota_exceeded", "Wait until the quota"),
        (Failure(403, "billingNotEnabled"), "permission_denied", "billing on the project that pays"),
        (Failure(403, "responseTooLarge"), "too_large", "EXPORT DATA"),
    ],
)
def test_a_refused_query_names_what_to_do_and_leaves_nothing(
    bill: Exported, url: str, tmp_path: Path, refused: Failure, reason: str, remedy: str
) -> None:
    [listed] = store_of(url).list_objects()
    bill.rest.asked.clear()
    for error in (
        (bill.rest.answers.append(refused), error_of(store_of(url)))[1],
        (bill.rest.answers.append(refused), error_of(store_of(url), listed, tmp_path))[1],
    ):
        assert (error.reason, remedy in error.remedy) == (reason, True)
        assert refused.message not in str(error), "Google's text may repeat an account"
    assert len(bill.rest.asked) == 2, "each was asked once"
    assert list(tmp_path.iterdir()) == []


def test_above_the_cap_the_bytes_it_takes_are_named_with_the_key_to_raise(bill: Exported, url: str) -> None:
    needed = bill.rows_of([])
    bill.rest.answers += [Failure(500, "bytesBilledLimitExceeded"), type(needed)(needed.fields, processed=3_000_000_000)]
    error = error_of(store_of(url, maximum_bytes_billed=20_000_000))
    assert error.reason == "above_byte_cap" and "maximum_bytes_billed" in error.remedy
    assert "It would read 3000000000 bytes, and may read 20000000." in error.message
    assert [asked.get("configuration", {}).get("dryRun", False) for asked in bill.rest.asked] == [False, True]


def test_a_dataset_elsewhere_is_named_with_where_it_lies(bill: Exported, url: str) -> None:
    error = error_of(store_of(url, dataset_location="US"))
    assert error.reason == "wrong_region" and "dataset_location: EU" in error.remedy
    assert bill.rest.asked == []
    assert len(list(store_of(url, dataset_location="eu").list_objects())) == 1


def test_queries_run_where_the_table_lies_and_the_payer_pays(bill: Exported, url: str, tmp_path: Path) -> None:
    store = store_of(url, billing_project="acme-pays")
    [listed] = store.list_objects()
    store.fetch(listed, tmp_path / "rows.parquet")
    look, read = bill.rest.asked
    assert look.get("location") == "EU" and read["jobReference"]["location"] == "EU"
    assert bill.storage.sessions[0].table.startswith("projects/acme-pays/")
    assert read["jobReference"]["projectId"] == "acme-pays"


def test_a_required_column_that_lacks_is_reported_before_a_query(bill: Exported, url: str) -> None:
    bill.rest.tables = {TABLE: described(NOT_THERE, **bill.more)}
    error = error_of(store_of(url))
    assert isinstance(error, ExportSchemaError) and error.column_name == "cost"
    assert bill.rest.asked == []


def test_a_column_that_went_is_described_again_and_read_without(bill: Exported, url: str, tmp_path: Path) -> None:
    store = store_of(url)
    [listed] = store.list_objects()
    bill.schema = BILLING.remove(BILLING.get_field_index("cost_at_list"))
    bill.rest.tables = {TABLE: described(bill.schema, **bill.more)}
    bill.rest.answers.append(GONE)
    store.fetch(listed, tmp_path / "rows.parquet")
    assert ["`cost_at_list`" in text for text in bill.statements[-2:]] == [True, False]


@pytest.mark.parametrize("has_cost", [True, False])
def test_a_table_that_goes_on_changing_waits_for_the_next_look(bill: Exported, url: str, tmp_path: Path, has_cost: bool) -> None:
    store = store_of(url)
    [listed] = store.list_objects()
    bill.rest.tables = {TABLE: described(BILLING if has_cost else NOT_THERE, **bill.more)}
    bill.rest.answers += [GONE, GONE][: 1 + has_cost]
    error = error_of(store, listed, tmp_path)
    assert isinstance(error, ExportChangedError) and error.reason == "changed_while_reading"
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_ends_early_is_asked_for_again_twice(bill: Exported, url: str, tmp_path: Path) -> None:
    store = store_of(url)
    [listed] = store.list_objects()
    bill.storage.ends = [1, 1]
    store.fetch(listed, tmp_path / "rows.parquet")
    assert len(bill.storage.sessions) == 3
    bill.storage.ends = [1, 1, 1]
    error = error_of(store, listed, tmp_path / "..")
    assert error.reason == "broken_stream" and "2 of 5 rows" in error.message


def test_rows_that_may_not_be_streamed_name_the_role(bill: Exported, url: str, tmp_path: Path) -> None:
    [listed] = store_of(url).list_objects()
    bill.storage.denied = "no"
    error = error_of(store_of(url), listed, tmp_path)
    assert error.reason == "permission_denied" and "roles/bigquery.readSessionUser" in error.remedy


@pytest.mark.parametrize("more", [{"type": "VIEW"}, {"clustering": {"fields": ["project"]}}, {"type": "MATERIALIZED_VIEW"}])
def test_a_view_or_a_table_that_no_time_divides_is_read_by_the_time_of_use(
    bill: Exported, url: str, tmp_path: Path, more: dict[str, Any]
) -> None:
    bill.rest.tables = {TABLE: described(BILLING, **more)}
    store = store_of(url)
    [listed] = store.list_objects()
    store.fetch(listed, tmp_path / "rows.parquet")
    assert all("WHERE `usage_start_time` >= TIMESTAMP '" in text for text in bill.statements)


def test_a_view_that_does_not_tell_when_it_changed_is_refused(bill: Exported, url: str) -> None:
    without = BILLING.remove(BILLING.get_field_index("export_time"))
    bill.rest.tables = {TABLE: described(without, type="VIEW")}
    error = error_of(store_of(url))
    assert error.reason == "bad_location" and "export_time" in error.remedy


def test_a_kind_that_is_read_from_no_table_is_reported(url: str) -> None:
    error = error_of(TableStore(f"bq://{TABLE}", StoreOptions(endpoint_url=url)))
    assert error.reason == "bad_location" and "docs/sources" in error.remedy


@pytest.mark.parametrize("failure", [Failure(503, "backendError"), Failure(500, "jobBackendError", is_of_job=True)])
def test_a_request_or_job_that_failed_at_google_is_asked_again_by_the_client_itself(
    bill: Exported, url: str, tmp_path: Path, failure: Failure
) -> None:
    """A failed job only where no job id is our own, which would switch the client's `job_retry` off."""
    [listed] = store_of(url).list_objects()
    bill.rest.answers.append(failure)
    store_of(url).fetch(listed, tmp_path / "rows.parquet")
    first, second = (asked["jobReference"]["jobId"] for asked in bill.rest.asked[1:])
    assert (first == second) is (not failure.is_of_job), "a failed job is another job the second time"


class Login(Credentials):
    """A login whose renewal ends as it is set."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self._error = error

    def refresh(self, request: Any) -> None:
        if self._error:
            raise self._error
        self.token = "planted-token"


def asked_by(monkeypatch: pytest.MonkeyPatch, login: Credentials | Exception, **options: Any) -> ConnectorError | Credentials:
    """What the default chain's login, or the error it ends with, becomes when its token is asked for."""

    def default(**_: Any) -> tuple[Credentials, None]:
        if isinstance(login, Exception):
            raise login
        return login, None

    monkeypatch.setattr(google.auth, "default", default)
    of = StoreOptions(**options)
    try:
        with named_errors(f"bq://{TABLE}", "describe", of):
            found = credentials_of(of)
            found.refresh(Request())
    except ConnectorError as error:
        return error
    return found


@pytest.mark.parametrize(
    ("login", "options", "reason", "remedy"),
    [
        (DefaultCredentialsError("none"), {}, "no_credentials", "GOOGLE_APPLICATION_CREDENTIALS"),
        (Login(RefreshError("invalid_grant")), {}, "no_credentials", "gcloud auth application-default login"),
        (Login(RefreshError("invalid_grant")), {"impersonate": "reader@acme"}, "no_credentials", "gcloud auth"),
    ],
)
def test_a_login_that_is_missing_or_expired_is_reported(
    monkeypatch: pytest.MonkeyPatch, login: Any, options: dict[str, Any], reason: str, remedy: str
) -> None:
    error = asked_by(monkeypatch, login, **options)
    assert isinstance(error, ConnectorError)
    assert (error.reason, remedy in error.remedy) == (reason, True)


class Accounts(BaseHTTPRequestHandler):
    """The service that gives tokens of service accounts; it knows one that may be acted as."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        is_known = "reader@acme" in self.path
        answer = {"accessToken": "of-the-reader", "expireTime": "2099-01-01T00:00:00Z"} if is_known else {"error": {"code": 403}}
        content = json.dumps(answer).encode()
        self.send_response(200 if is_known else 403)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal of the tests."""


def test_a_service_account_is_acted_as_or_the_role_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    http = ThreadingHTTPServer(("127.0.0.1", 0), Accounts)
    Thread(target=http.serve_forever, args=[0.01], daemon=True).start()
    monkeypatch.setattr(iam, "_IAM_ENDPOINT", f"http://127.0.0.1:{http.server_port}/{{}}:generateAccessToken")
    found = asked_by(monkeypatch, Login(), impersonate="reader@acme")
    assert isinstance(found, Credentials) and found.token == "of-the-reader"
    refused = asked_by(monkeypatch, Login(), impersonate="other@acme")
    assert isinstance(refused, ConnectorError) and refused.reason == "role_denied"
    assert "roles/iam.serviceAccountTokenCreator" in refused.remedy
    http.shutdown()
    http.server_close()


def test_an_emulator_is_asked_without_credentials_and_nothing_else_is() -> None:
    assert isinstance(
        credentials_of(StoreOptions(endpoint_url="http://127.0.0.1:9", impersonate="reader@acme")), AnonymousCredentials
    )


def test_a_service_that_is_away_is_a_broken_stream() -> None:
    with pytest.raises(ConnectorError) as caught, named_errors("bq://a", "stream", StoreOptions()):
        raise ServiceUnavailable("no")
    assert caught.value.reason == "broken_stream"
