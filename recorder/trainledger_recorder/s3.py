"""Delivering to S3 through boto3. Needs s3:PutObject and s3:AbortMultipartUpload below the prefix; nothing is listed or read."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from boto3.exceptions import S3UploadFailedError
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from trainledger_recorder.errors import DeliveryError
from trainledger_recorder.targets import Options

_RENEWED = 2700.0  # seconds: the credentials of a role are valid for an hour
_DENIED = {"403", "AccessDenied", "AllAccessDisabled", "Forbidden"}
_NO_BUCKET = {"NoSuchBucket", "InvalidBucketName", "ParamValidationError"}
_OTHER_REGION = {"301", "307", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
_OTHER_REGION |= {"PermanentRedirect", "TemporaryRedirect"}
_NO_CREDENTIALS = {"ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidToken"}
_NO_CREDENTIALS |= {"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "RequestExpired"}
_NO_CREDENTIALS |= {"SignatureDoesNotMatch", "UnrecognizedClientException"}


class Bucket:
    """s3://bucket/prefix. S3 is not asked before the first file."""

    def __init__(self, location: str, options: Options) -> None:
        self._location, self._options = location, options
        self._bucket, _, prefix = location[len("s3://") :].partition("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._client: Any = None
        self._made = 0.0

    def deliver(self, path: Path, key: str, *, replaces: bool = False) -> None:
        """Copy a file of any size to an object."""
        try:
            if self._client is None or time.monotonic() > self._made + _RENEWED:
                self._client, self._made = _client(self._options), time.monotonic()
            self._client.upload_file(str(path), self._bucket, self._prefix + key)
        except S3UploadFailedError as error:  # boto3 wraps the error of an upload in a text
            raise self._failure(error.__context__ or error, key) from error
        except (BotoCoreError, ClientError, ValueError) as error:  # ValueError: an endpoint that is no URL
            raise self._failure(error, key) from error

    def _failure(self, error: BaseException, key: str) -> DeliveryError:
        code = error.response["Error"].get("Code", "?") if isinstance(error, ClientError) else type(error).__name__
        action = getattr(error, "operation_name", "the request")
        return DeliveryError(f"{self._location}/{key}: {action} failed with {code}", self._remedy(code, action))

    def _remedy(self, code: str, action: str) -> str:
        if action == "AssumeRole":
            return f"Let these credentials assume {self._options.role_arn}, with the --external-id of its trust policy."
        if code in _DENIED:
            return f"Grant s3:PutObject and s3:AbortMultipartUpload below the prefix of '{self._bucket}'."
        if code in _OTHER_REGION:
            return f"Set AWS_DEFAULT_REGION to the region of bucket '{self._bucket}', and --endpoint-url to one there."
        if code in _NO_BUCKET:
            return f"Check the name of bucket '{self._bucket}', its region, and --endpoint-url."
        if code in _NO_CREDENTIALS:
            return "Log in again: the AWS credential chain gives no valid credentials here."
        return "Check the network, --endpoint-url and the AWS credentials."


def _client(options: Options) -> Any:
    """A client with the default credential chain, or with a role assumed through it."""
    session = boto3.Session()
    region = session.region_name or "us-east-1"
    keys = {}
    if options.role_arn:
        asked = {"RoleArn": options.role_arn, "RoleSessionName": "trainledger"}
        asked.update({"ExternalId": options.external_id} if options.external_id else {})
        tokens = session.client("sts", endpoint_url=_sts_endpoint(options.endpoint_url), region_name=region)
        given = tokens.assume_role(**asked)["Credentials"]
        names = {"access_key_id": "AccessKeyId", "secret_access_key": "SecretAccessKey", "session_token": "SessionToken"}
        keys = {f"aws_{name}": given[theirs] for name, theirs in names.items()}
    config = Config(
        retries={"mode": "standard", "max_attempts": 5},
        connect_timeout=10,
        read_timeout=60,
        # an endpoint of another store has no DNS name per bucket
        s3={"addressing_style": "path"} if options.endpoint_url else None,
    )
    return session.client("s3", endpoint_url=options.endpoint_url, region_name=region, config=config, **keys)


def _sts_endpoint(endpoint_url: str | None) -> str | None:
    """An S3-compatible store answers sts at its own endpoint; an S3 endpoint of AWS (a VPC's) does not."""
    host = urlsplit(endpoint_url or "").hostname or ""
    named = any(os.environ.get(name) for name in ("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"))
    return None if named or not host or host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else endpoint_url
