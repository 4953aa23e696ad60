"""Each code of Google has its reason, and a denied step names the permission, the role and what it is granted on."""

from __future__ import annotations

import pytest

from connectors.stores.google_errors import Action, meaning_of

TABLE = "bq://acme-billing.exports.bill"


@pytest.mark.parametrize(
    ("action", "role"),
    [
        ("query", "roles/bigquery.jobUser"),
        ("describe", "roles/bigquery.dataViewer"),
        ("stream", "roles/bigquery.readSessionUser"),
        ("list", "roles/storage.objectViewer"),
        ("read", "roles/storage.objectViewer"),
    ],
)
def test_a_missing_permission_names_the_role_of_its_step(action: Action, role: str) -> None:
    reason, remedy = meaning_of("accessDenied", action, TABLE)
    assert reason == "permission_denied" and role in remedy


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        ("notFound", "missing_table", TABLE),
        ("bytesBilledLimitExceeded", "above_byte_cap", "maximum_bytes_billed"),  # its status is 500
        ("quotaExceeded", "quota_exceeded", "quota"),
        ("RESOURCE_EXHAUSTED", "quota_exceeded", "quota"),
        ("billingNotEnabled", "permission_denied", "billing"),
        ("DefaultCredentialsError", "no_credentials", "gcloud auth application-default login"),
        ("RefreshError", "no_credentials", "gcloud auth application-default login"),
        ("UNAVAILABLE", "broken_stream", "again"),
        ("something new", "source_unreadable", "again"),
    ],
)
def test_a_code_is_known_by_googles_word_for_it(code: str, reason: str, words: str) -> None:
    found, remedy = meaning_of(code, "query", TABLE)
    assert found == reason and words in remedy and remedy.endswith(".")


def test_an_account_that_may_not_be_impersonated_is_not_taken_for_an_expired_login() -> None:
    reason, remedy = meaning_of("RefreshError", "query", TABLE, is_impersonated=True)
    assert reason == "role_denied" and "roles/iam.serviceAccountTokenCreator" in remedy


def test_a_bucket_that_is_not_there_is_no_missing_table() -> None:
    assert meaning_of("notFound", "list", "gs://acme")[0] == "missing_bucket"
