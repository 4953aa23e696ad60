"""Objects in S3 through boto3: listing, conditional reads, assumed roles. The only module that knows boto3.

It asks for s3:ListBucket on the bucket, s3:GetObject below the prefix and, with `role_arn`, sts:AssumeRole; for nothing else.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from botocore.session import get_session

from connectors.errors import ConnectorError, Place, SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo, StoreOptions
from connectors.stores.local import changed, too_large

_CHUNK = 1 << 20
_ATTEMPTS = 3  # of a stream that broke; botocore itself retries requests, never a body
_DENIED = {"403", "AccessDenied", "AllAccessDisabled", "Forbidden"}
_BAD_CREDENTIALS = {
    "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidToken",
    "RequestExpired", "SignatureDoesNotMatch", "UnrecognizedClientException",
}  # fmt: skip
_MISSING = {"404", "NoSuchKey", "NoSuchVersion"}


class S3Store:
    """A bucket and prefix as an object store. Nothing is asked of S3 before the first listing."""

    def __init__(self, location: str, options: StoreOptions) -> None:
        bucket, _, prefix = location.removeprefix("s3://").partition("/")
        if not bucket:
            remedy = "Write s3://bucket/prefix."
            raise SourceUnreadableError(f"{location} names no bucket.", reason="missing_bucket", remedy=remedy)
        # only the end is trimmed: a legacy report without a prefix has keys that begin with '/'
        prefix = prefix.rstrip("/")
        self.uri = f"s3://{bucket}/{prefix}" if prefix else f"s3://{bucket}"
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._options = options
        self._payer = {"RequestPayer": "requester"} if options.requester_pays else {}
        self._lazy_client: Any = None

    def uri_of(self, key: str) -> str:
        """Return the s3:// name of an object."""
        return f"{self.uri}/{key}"

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """List all pages; S3 lists in the order of UTF-8 bytes, which is the order of the keys."""
        pages = self._client().get_paginator("list_objects_v2")
        try:
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix, **self._payer):
                for entry in page.get("Contents", ()):
                    if not entry["Key"].endswith("/"):  # the empty objects that consoles create as folders
                        yield self._info(entry)
        except (BotoCoreError, ClientError) as error:
            raise self._failure(error, None) from error

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a small object whole."""
        if info.size > limit:
            raise too_large(self.uri_of(info.key), info, limit)
        return b"".join(self._stream(info))

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Stream an object to a file and return its sha256; a stream that breaks is started again, a changed object is not."""
        for attempt in range(_ATTEMPTS):
            digest = hashlib.sha256()
            try:
                with path.open("wb") as target:
                    for chunk in self._stream(info):
                        digest.update(chunk)
                        target.write(chunk)
                    target.flush()
                    os.fsync(target.fileno())
                return digest.hexdigest()
            except SourceUnreadableError as error:
                if error.reason != "broken_stream" or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _stream(self, info: ObjectInfo) -> Iterator[bytes]:
        """Yield the bytes of exactly the object that was listed."""
        wanted = {"Bucket": self._bucket, "Key": self._prefix + info.key, "IfMatch": f'"{info.etag}"', **self._payer}
        read = 0
        try:
            body = self._client().get_object(**wanted)["Body"]
            with body:
                for chunk in body.iter_chunks(_CHUNK):
                    read += len(chunk)
                    yield chunk
        except ClientError as error:
            raise self._failure(error, info) from error
        except NoCredentialsError as error:
            raise self._failure(error, info) from error
        except BotoCoreError as error:
            raise self._broken(info, read, type(error).__name__) from error
        if read != info.size:
            raise self._broken(info, read, "short body")

    def _info(self, entry: dict[str, Any]) -> ObjectInfo:
        return ObjectInfo(entry["Key"][len(self._prefix) :], entry["Size"], entry["ETag"].strip('"'), entry["LastModified"])

    def _client(self) -> Any:
        if self._lazy_client is None:
            try:
                self._lazy_client = s3_client(self._options)
            except (BotoCoreError, ClientError, ValueError) as error:  # ValueError: an endpoint that is no URL
                raise self._failure(error, None) from error
        return self._lazy_client

    def _broken(self, info: ObjectInfo, read: int, what: str) -> SourceUnreadableError:
        return SourceUnreadableError(
            f"{self.uri_of(info.key)}: the stream ended after {read} of {info.size} bytes ({what}).",
            place=Place(info.key),
            reason="broken_stream",
            remedy="Try again; if it stays, check the network and the endpoint.",
        )

    def _failure(self, error: Exception, info: ObjectInfo | None) -> ConnectorError:
        """Say what an AWS error means for this location. Only its code is repeated."""
        where = self.uri_of(info.key) if info else self.uri
        place = Place(info.key) if info else Place()
        code = error.response["Error"].get("Code", "?") if isinstance(error, ClientError) else type(error).__name__
        action = getattr(error, "operation_name", "the request")
        if info and code in {"PreconditionFailed", "412", *_MISSING}:
            return changed(where, info)
        reason, remedy = _meaning(code, action, self._bucket, self._options)
        return SourceUnreadableError(f"{where}: {action} failed with {code}.", place=place, reason=reason, remedy=remedy)


def s3_client(options: StoreOptions) -> Any:
    """Return an S3 client with the default credential chain, or with a role assumed through it and renewed in time."""
    session = get_session()
    config = Config(
        retries={"mode": "standard", "max_attempts": 5},
        connect_timeout=10,
        read_timeout=60,
        # a custom endpoint has no DNS name per bucket
        s3={"addressing_style": "path"} if options.endpoint_url else None,
    )
    region = session.get_config_variable("region") or "us-east-1"
    if options.role_arn:
        session = _assumed(session, options, region)
    return boto3.Session(botocore_session=session).client(
        "s3", endpoint_url=options.endpoint_url, region_name=region, config=config
    )


def _assumed(source: Any, options: StoreOptions, region: str) -> Any:
    """Return a session whose credentials are those of the role."""
    credentials = source.get_credentials()
    if credentials is None:
        raise NoCredentialsError()
    endpoint = _sts_endpoint(options.endpoint_url)

    def create_client(service: str, **settings: Any) -> Any:
        return source.create_client(service, endpoint_url=endpoint, **{**settings, "region_name": region})

    extra = {"RoleSessionName": "trainledger"} | ({"ExternalId": options.external_id} if options.external_id else {})
    fetcher = AssumeRoleCredentialFetcher(create_client, credentials, options.role_arn, extra_args=extra)
    session = get_session()
    # botocore has no public way to hand refreshable credentials to a session
    session._credentials = DeferredRefreshableCredentials(method="assume-role", refresh_using=fetcher.fetch_credentials)
    return session


def _sts_endpoint(endpoint_url: str | None) -> str | None:
    """An S3-compatible store answers sts at its own endpoint; an S3 endpoint of AWS (a VPC's) does not."""
    host = urlsplit(endpoint_url or "").hostname or ""
    named = any(os.environ.get(name) for name in ("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"))
    return None if named or not host or host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else endpoint_url


def _meaning(code: str, action: str, bucket: str, options: StoreOptions) -> tuple[str, str]:
    if code in {"NoSuchBucket", "PermanentRedirect", "InvalidBucketName", "ParamValidationError"}:
        return "missing_bucket", f"Check the name of bucket '{bucket}', its region, and `endpoint_url`."
    if action == "AssumeRole" or (code in _DENIED and action not in {"ListObjectsV2", "GetObject"}):
        return "role_denied", f"Let these credentials assume {options.role_arn}, with the `external_id` of its trust policy."
    if code in _DENIED:
        permission = "s3:ListBucket on the bucket" if action == "ListObjectsV2" else "s3:GetObject below the prefix"
        return "permission_denied", f"Grant {permission} '{bucket}'; a requester-pays bucket needs `requester_pays: true`."
    if code in _BAD_CREDENTIALS or code in {"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"}:
        return "no_credentials", "Log in again: the AWS credential chain gives no valid credentials here."
    if code == "InvalidObjectState":
        return "archived_object", "Restore the object from its archive storage class."
    return "source_unreadable", "Check the network, `endpoint_url` and the AWS credentials; then try again."
