"""Delivering to Cloud Storage through google-cloud-storage. Needs storage.objects.create, and storage.objects.delete where a run
record is replaced."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import google.auth
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import GoogleAPICallError, PreconditionFailed, RetryError
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError
from google.auth.impersonated_credentials import Credentials as ImpersonatedCredentials
from google.cloud import storage
from google.cloud.storage.retry import DEFAULT_RETRY
from requests.exceptions import RequestException

from trainledger_recorder.errors import DeliveryError
from trainledger_recorder.targets import Options

# else the client asks for the bucket itself beside every call, for traces: a writer of objects may not, and it shows in audits
os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
_CALL = 60.0  # seconds for one request and all its repetitions: a client left alone tries a dead port for ten minutes
_RETRY = DEFAULT_RETRY.with_timeout(_CALL)
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
_FAILURES = (GoogleAPICallError, RetryError, GoogleAuthError, RequestException, TimeoutError)


class Bucket:
    """gs://bucket/prefix. Cloud Storage is not asked before the first file."""

    def __init__(self, location: str, options: Options) -> None:
        self._location, self._options = location, options
        self._bucket, _, prefix = location[len("gs://") :].partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._client: storage.Client | None = None

    def deliver(self, path: Path, key: str, *, replaces: bool = False) -> None:
        """Copy a file to an object. Where one whose bytes never change is already there, an earlier try arrived."""
        condition = {} if replaces else {"if_generation_match": 0}
        try:
            self._client = self._client or _client(self._options)
            blob = self._client.bucket(self._bucket).blob(self._prefix + key)
            blob.upload_from_filename(str(path), timeout=_CALL, retry=_RETRY, **condition)
        except PreconditionFailed:
            return
        except _FAILURES as error:
            cause: Any = error.cause if isinstance(error, RetryError) and error.cause else error
            code = str(getattr(cause, "code", None) or type(cause).__name__)
            raise DeliveryError(f"{self._location}/{key}: writing failed with {code}", self._remedy(code, cause)) from error

    def _remedy(self, code: str, error: Exception) -> str:
        if self._options.impersonate and "impersonated" in str(error):
            return f"Grant roles/iam.serviceAccountTokenCreator on {self._options.impersonate} to this login."
        if code == "403":
            return f"Grant storage.objects.create and storage.objects.delete on '{self._bucket}': roles/storage.objectUser."
        if code == "404":
            return f"Check the name of bucket '{self._bucket}', and that it was not deleted."
        if code == "401" or isinstance(error, GoogleAuthError):
            return "Log in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS."
        return "Check the network, --endpoint-url and the Google credentials."


def _client(options: Options) -> storage.Client:
    """A client of the default credentials, or of a service account through them; an endpoint is an emulator, which has none."""
    if options.endpoint_url:
        place = ClientOptions(api_endpoint=options.endpoint_url)
        return storage.Client(project=None, credentials=AnonymousCredentials(), client_options=place)
    credentials, _ = google.auth.default(scopes=_SCOPES)
    if options.impersonate:
        credentials = ImpersonatedCredentials(credentials, target_principal=options.impersonate, target_scopes=_SCOPES)
    return storage.Client(project=None, credentials=credentials)
