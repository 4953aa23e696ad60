"""`trainledger doctor` on a table of BigQuery: each fault that would stop a refresh is named before it, with what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError, RefreshError

from connectors.stores import StoreOptions, google_access
from connectors.stores.bigquery_preview import logged_in_as
from tests.bigquery.doctor_of_tables import TABLE_PERMISSIONS, Asked
from tests.bigquery.exported import TABLE
from tests.bigquery.rest_fake import Failure
from tests.connectors.gcp import BILLING


def other_table(name: str) -> Callable[[Asked], None]:
    return lambda asked: asked.source.update(location=f"bq://{name}")


def untold(name: str) -> Callable[[Asked], None]:
    def arrange(asked: Asked) -> None:
        other_table(name)(asked)
        asked.rest.unlisted = ["exports"]

    return arrange


def refused(*failures: Failure, permissions: tuple[str, ...] | None = TABLE_PERMISSIONS) -> Callable[[Asked], None]:
    def arrange(asked: Asked) -> None:
        asked.rest.answers = list(failures)
        asked.rest.permissions = permissions

    return arrange


def not_described(status: int, reason: str) -> Callable[[Asked], None]:
    return lambda asked: setattr(asked.rest, "tables", {TABLE: Failure(status, reason)})


def lacks_cost(asked: Asked) -> None:
    asked.bill.schema = pa.schema([field for field in BILLING if field.name != "cost"])
    asked.described_as()


class Expired(AnonymousCredentials):
    said = "Reauthentication is needed."

    def refresh(self, request: object) -> None:
        raise RefreshError(self.said)


class NotImpersonated(Expired):
    said = "Unable to acquire impersonated credentials"

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()


def of_default_chain(found: Callable[[], Any], **source: str) -> Callable[[Asked], None]:
    def arrange(asked: Asked) -> None:
        asked.source |= {"endpoint_url": None, **source}
        asked.patch.setattr(google_access.google.auth, "default", lambda **_: (found(), None))
        asked.patch.setattr(google_access, "ImpersonatedCredentials", NotImpersonated)

    return arrange


def no_login() -> Any:
    raise DefaultCredentialsError("none")


READER = "reader@acme.iam.gserviceaccount.com"
DATA_VIEWER, JOB_USER, READ_SESSION = "roles/bigquery.dataViewer", "roles/bigquery.jobUser", "roles/bigquery.readSessionUser"
LOG_IN = "gcloud auth application-default login"
# what is wrong, the reason, words of the message, words of the remedy
FAULTS: dict[str, tuple[Callable[[Asked], None], str, str, str]] = {
    "wrong project": (other_table("acme-other.exports.bill"), "missing_table", "there is no such project", "Check project"),
    "missing dataset": (
        other_table("acme-billing.export.bill"), "missing_table",
        "there is no dataset acme-billing.export; did you mean 'exports'?", "Billing, Billing export names them",
    ),
    "missing table": (
        other_table("acme-billing.exports.bil"), "missing_table",
        "there is no table bil in acme-billing.exports, which has bill; did you mean 'bill'?", "Billing, Billing export",
    ),
    "missing table of a dataset that tells no names": (
        untold("acme-billing.exports.bil"), "missing_table", "asking for the table failed with notFound",
        "Billing, Billing export",
    ),
    "table denied": (not_described(403, "accessDenied"), "permission_denied", "asking for the table",
        f"{DATA_VIEWER}, on the dataset acme-billing.exports"),
    "queries denied": (refused(Failure(403, "accessDenied")), "permission_denied", "the query failed",
        f"{JOB_USER}, on acme-billing, the project"),
    "rows denied": (
        refused(Failure(403, "accessDenied"), permissions=TABLE_PERMISSIONS[:1]), "permission_denied",
        "lacks bigquery.tables.getData", DATA_VIEWER,
    ),
    "stream denied": (
        lambda asked: setattr(asked.bill.storage, "denied", "no session"), "permission_denied", "reading the rows",
        f"{READ_SESSION}, on acme-billing, the project",
    ),
    "quota": (refused(Failure(403, "quotaExceeded")), "quota_exceeded", "a quota is used up", "Wait until the quota"),
    "no billing": (refused(Failure(403, "billingNotEnabled")), "permission_denied", "billingNotEnabled", "Enable the BigQuery"),
    "expired login": (of_default_chain(Expired), "no_credentials", "Google takes no login of this machine", LOG_IN),
    "no login": (of_default_chain(no_login), "no_credentials", "DefaultCredentialsError", LOG_IN),
    "impersonation denied": (
        of_default_chain(Expired, impersonate=READER), "role_denied", f"may not act as {READER}",
        f"roles/iam.serviceAccountTokenCreator, on the service account {READER}",
    ),
    "dataset elsewhere": (
        lambda asked: asked.source.update(dataset_location="US"), "wrong_region", "lies in EU, not in US", "dataset_location: EU",
    ),
    "column gone": (lacks_cost, "missing_column", "is missing columns cost", "Add cost to the export"),
    "external table": (
        lambda asked: asked.described_as(type="EXTERNAL"), "bad_location", "is of type EXTERNAL", "Name the table",
    ),
    "look above the cap": (
        lambda asked: asked.bytes.update(look=250_000_000_000), "above_byte_cap",
        "the next look would take 250.0 GB, and maximum_bytes_billed is 100.0 GB", "`maximum_bytes_billed: 253000000000`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_before_a_query_runs(asked: Asked, name: str) -> None:
    arrange, reason, message, remedy = FAULTS[name]
    arrange(asked)
    code, checks = asked.checks()
    [problem] = [check for check in checks if check["outcome"] == "problem"]
    assert code == 3 and problem["is_source"]
    assert problem["facts"]["reason"] == reason
    assert message in problem["message"] and remedy in problem["remedy"]
    assert asked.run == []


def test_a_partition_above_the_cap_is_not_read_and_the_number_to_write_is_reported(asked: Asked) -> None:
    asked.bytes["read"] = 120_000_000_000
    code, checks = asked.checks()
    [problem] = [check for check in checks if check["outcome"] == "problem"]
    assert code == 3 and problem["facts"]["reason"] == "above_byte_cap"
    assert "`maximum_bytes_billed: 122000000000`" in problem["remedy"]
    assert asked.run == []


@pytest.mark.parametrize(("name", "told"), [(READER, READER), ("default", ""), (None, "")])
def test_a_login_is_identified_by_its_name_where_it_has_one(name: str | None, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Login(AnonymousCredentials):
        service_account_email = name

        def refresh(self, request: object) -> None:
            """It is valid."""

    monkeypatch.setattr(google_access.google.auth, "default", lambda **_: (Login(), None))
    assert logged_in_as(f"bq://{TABLE}", StoreOptions()) == told
