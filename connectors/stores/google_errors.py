"""What an error code of Google calls for: a reason and a remedy for people, by BigQuery's and Cloud Storage's documented codes.

A code is known by Google's own word for it, never by the status: a query above its byte cap is answered as 500, and a denied
one as 403, as is a quota. Codes: https://docs.cloud.google.com/bigquery/docs/error-messages (read 2026-11-22), roles:
https://docs.cloud.google.com/bigquery/docs/access-control. Knows no client.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Action = Literal["query", "describe", "stream", "list", "read", "write", "impersonate"]

_OF_TABLE = "bigquery.tables.get and bigquery.tables.getData"
_PAYING = "the project that pays for the query"
# each step in words, and what it needs: the permission, the role that has it, and what it is granted on
STEPS: Mapping[Action, tuple[str, str, str, str]] = {
    "query": ("the query", "bigquery.jobs.create", "roles/bigquery.jobUser", _PAYING),
    "describe": (
        "asking for the table",
        "bigquery.tables.get and bigquery.tables.getData",
        "roles/bigquery.dataViewer",
        "the dataset",
    ),
    "stream": ("reading the rows", "bigquery.readsessions.create", "roles/bigquery.readSessionUser", _PAYING),
    "list": ("listing", "storage.objects.list", "roles/storage.objectViewer", "the bucket"),
    "read": ("reading", "storage.objects.get", "roles/storage.objectViewer", "the bucket"),
    "write": ("writing", "storage.objects.create and storage.objects.delete", "roles/storage.objectUser", "the bucket"),
    "impersonate": (
        "impersonation",
        "iam.serviceAccounts.getAccessToken",
        "roles/iam.serviceAccountTokenCreator",
        "the service account of `impersonate`",
    ),
}
_DENIED = {"accessDenied", "forbidden", "PERMISSION_DENIED"}
_QUOTA = ("quotaExceeded", "rateLimitExceeded", "jobRateLimitExceeded", "RESOURCE_EXHAUSTED", "tooManyRequests")
_NO_CREDENTIALS = ("DefaultCredentialsError", "RefreshError", "authError", "required", "UNAUTHENTICATED", "InvalidOperation")
_BROKEN = ("UNAVAILABLE", "ABORTED", "DATA_LOSS", "DEADLINE_EXCEEDED", "connectionError")
_LOG_IN = "Log in again with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS."
_NO_BILLING = f"Enable the BigQuery API and billing on {_PAYING}."
# reason and remedy of the codes that mean the same of whatever was asked
_MEANINGS = {
    "bytesBilledLimitExceeded": (
        "above_byte_cap",
        "Raise `maximum_bytes_billed`, or look back fewer days; `trainledger doctor` shows how much is read.",
    ),
    "responseTooLarge": ("too_large", "Write this partition to a bucket with EXPORT DATA, and read gs://bucket/prefix."),
    **dict.fromkeys(
        _QUOTA,
        ("quota_exceeded", "Wait until the quota of the project that pays renews, or raise it; what was landed stays."),
    ),
    **dict.fromkeys(("billingNotEnabled", "accessNotConfigured"), ("permission_denied", _NO_BILLING)),
    **dict.fromkeys(_NO_CREDENTIALS, ("no_credentials", _LOG_IN)),
    **dict.fromkeys(_BROKEN, ("broken_stream", "Try again; if it stays, check the network and the endpoint.")),
}
_OTHER = ("source_unreadable", "Check the network, `endpoint_url` and the Google credentials; then try again.")


def meaning_of(code: str, action: Action, where: str, *, is_impersonated: bool = False) -> tuple[str, str]:
    """Return the reason and the remedy for Google's code of an error. `where`: the table or bucket that was asked for."""
    if is_impersonated and code == "RefreshError":
        return "role_denied", grant("impersonate")
    if code in _DENIED:
        return "permission_denied", grant(action)
    if code in {"notFound", "NOT_FOUND"}:
        if action in {"list", "read", "write"}:
            return "missing_bucket", f"Check the name of {where}, and that it was not deleted."
        return "missing_table", f"Check project, dataset and table of {where}; Billing, Billing export names them."
    return _MEANINGS.get(code, _OTHER)


def grant(action: Action) -> str:
    """What to grant for a step: the permission, a role that has it, and on what."""
    _, permission, role, on = STEPS[action]
    return f"Grant {permission}, for example by {role}, on {on}."
