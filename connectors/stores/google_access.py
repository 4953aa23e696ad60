"""Access to Google: whose credentials a source is read with, how long a call may take, and what each refusal calls for.

Credentials come from the default chain of Google's libraries only, acted through by `impersonate` where a source has it; with
an `endpoint_url`, which is an emulator, there are none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import google.auth
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.exceptions import GoogleAuthError
from google.auth.impersonated_credentials import Credentials as ImpersonatedCredentials
from requests.exceptions import RequestException

from connectors.errors import Place, SourceUnreadableError
from connectors.stores import StoreOptions
from connectors.stores.google_errors import STEPS, Action, meaning_of

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)  # jobs are not offered to a narrower one
CALL = 60.0  # seconds for one request and all its repetitions: a client left alone tries a dead port for ten minutes
_BY_STATUS = {401: "authError", 403: "forbidden", 404: "notFound", 429: "rateLimitExceeded", 503: "UNAVAILABLE"}
_OF_TABLE = re.compile(r"Access Denied: (?:Table|View|Dataset)")
_Client = TypeVar("_Client")
_FAILURES = (GoogleAPICallError, RetryError, GoogleAuthError, RequestException, TimeoutError)


def credentials_of(options: StoreOptions, scopes: tuple[str, ...] = SCOPES) -> Credentials:
    """Return the identity that a source is read with. Nothing is asked of Google yet, but by the chain where it looks for one."""
    if options.endpoint_url:
        return AnonymousCredentials()
    found, _ = google.auth.default(scopes=scopes)
    if not options.impersonate:
        return found
    return ImpersonatedCredentials(found, target_principal=options.impersonate, target_scopes=list(scopes))


def client_of(kind: Callable[..., _Client], project: str | None, where: str, action: Action, options: StoreOptions) -> _Client:
    """A client of Google's, with the identity of a source and at its endpoint. Nothing is asked yet."""
    endpoint = ClientOptions(api_endpoint=options.endpoint_url) if options.endpoint_url else None
    with named_errors(where, action, options):
        return kind(project=project, credentials=credentials_of(options), client_options=endpoint)


def code_of(error: BaseException) -> str:
    """Google's word for an error: the reason of REST, the status of gRPC, else the name of what was raised."""
    if isinstance(error, RetryError) and error.cause is not None:
        error = error.cause
    if isinstance(error, GoogleAPICallError):
        first = next(iter(error.errors or ()), None)
        if isinstance(first, dict) and first.get("reason"):
            return str(first["reason"])
        if error.grpc_status_code is not None:
            return str(error.grpc_status_code.name)
        return _BY_STATUS.get(error.code or 0, type(error).__name__)  # a download has no more than its status
    if isinstance(error, RequestException | TimeoutError):
        return "connectionError"
    return type(error).__name__


@contextmanager
def named_errors(where: str, action: Action, options: StoreOptions, key: str | None = None) -> Iterator[None]:
    """Turn what Google's libraries raise into an error with a reason and a remedy."""
    try:
        yield
    except _FAILURES as error:
        code, text = code_of(error), str(error)  # the text is left out: it may repeat a query or an account
        if action == "query" and "bigquery.jobs.create" not in text and _OF_TABLE.search(text):
            action = "describe"  # the query may be started, and not read its table
        # the text of the library itself; where the login that would impersonate has expired it is another
        is_impersonation = bool(options.impersonate) and "impersonated" in text
        reason, remedy = meaning_of(code, action, where, is_impersonated=is_impersonation)
        what = f"{where}: {STEPS[action][0]} failed with {code}."
        raise SourceUnreadableError(what, place=Place(key), reason=reason, remedy=remedy) from error
