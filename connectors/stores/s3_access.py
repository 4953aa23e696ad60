"""Access to S3: the client with its retries, roles assumed for it, and what each error code of AWS calls for.

Every client of S3 is made here, so that exports and a landing on S3 share one retry policy and one set of timeouts.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import NoCredentialsError
from botocore.session import get_session

from connectors.stores import StoreOptions

_DENIED = {"403", "AccessDenied", "AllAccessDisabled", "Forbidden"}
_REGION = "x-amz-bucket-region"
_REGION_NAME = re.compile(r"[a-z0-9-]{4,30}")
_OTHER_REGION = """
301 307 400 AuthorizationHeaderMalformed IllegalLocationConstraintException PermanentRedirect TemporaryRedirect
"""
NO_CREDENTIALS = """
ExpiredToken ExpiredTokenException InvalidAccessKeyId InvalidClientTokenId InvalidToken NoCredentialsError
PartialCredentialsError ProfileNotFound RequestExpired SignatureDoesNotMatch UnrecognizedClientException
"""
_PERMISSIONS = {
    "ListObjectsV2": "s3:ListBucket on the bucket",
    "GetObject": "s3:GetObject below the prefix",
    "DeleteObject": "s3:DeleteObject below the prefix",
} | dict.fromkeys(
    ("PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"),
    "s3:PutObject below the prefix",
)
_TAKEN = "key_taken", "Another writer wrote this object first: read it instead of writing it."
_MISSING = "missing_object", "Restore the object, for example an earlier version of it."
_OTHER = {
    "InvalidObjectState": ("archived_object", "Restore the object from its archive storage class."),
    "ConditionalRequestConflict": ("write_conflict", "Try again: two writers wrote this object at the same moment."),
    "PreconditionFailed": _TAKEN,
    "412": _TAKEN,
    "NoSuchKey": _MISSING,
    "404": _MISSING,
}


def s3_client(options: StoreOptions) -> Any:
    """Return an S3 client with the default credential chain, or with a role assumed through it and renewed in time."""
    config = Config(
        retries={"mode": "standard", "max_attempts": 5},
        connect_timeout=10,
        read_timeout=60,
        # a custom endpoint has no DNS name per bucket
        s3={"addressing_style": "path"} if options.endpoint_url else None,
    )
    session, region = session_of(options)
    return boto3.Session(botocore_session=session).client(
        "s3", endpoint_url=options.endpoint_url, region_name=region, config=config
    )


def session_of(options: StoreOptions, region: str | None = None) -> tuple[Any, str]:
    """A session of botocore with the default credential chain or the role assumed through it, and the region it is in."""
    session = get_session()
    region = region or session.get_config_variable("region") or "us-east-1"
    return (_assumed(session, options, region) if options.role_arn else session), region


def _assumed(source: Any, options: StoreOptions, region: str) -> Any:
    """Return a session whose credentials are those of the role."""
    credentials = source.get_credentials()
    if credentials is None:
        raise NoCredentialsError()
    create_client = partial(source.create_client, endpoint_url=_sts_endpoint(options.endpoint_url), region_name=region)
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


def expected_region(error: BaseException) -> str | None:
    """The region of a bucket by S3's answer, where it refused a call because of it."""
    answer = getattr(error, "response", None) or {}
    region = answer.get("Error", {}).get("Region") or answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get(_REGION)
    return region if isinstance(region, str) and _REGION_NAME.fullmatch(region) else None


def meaning_of(code: str, action: str, bucket: str, options: StoreOptions, region: str | None = None) -> tuple[str, str]:
    """Return the reason and the remedy for an error code that AWS answered to an action; `region`: the one S3 expects."""
    if region and code in _OTHER_REGION.split():
        where = ", and `endpoint_url` to the endpoint of that region" if options.endpoint_url else ""
        return "wrong_region", f"Bucket '{bucket}' is in {region}: set AWS_DEFAULT_REGION={region}{where}."
    if code in {"NoSuchBucket", "PermanentRedirect", "InvalidBucketName", "ParamValidationError"}:
        return "missing_bucket", f"Check the name of bucket '{bucket}', its region, and `endpoint_url`."
    if action == "AssumeRole" or (code in _DENIED and action not in _PERMISSIONS):
        return "role_denied", f"Let these credentials assume {options.role_arn}, with the `external_id` of its trust policy."
    if code in _DENIED:
        hint = "; a requester-pays bucket needs `requester_pays: true`" if action in {"ListObjectsV2", "GetObject"} else ""
        return "permission_denied", f"Grant {_PERMISSIONS[action]} '{bucket}'{hint}."
    if code in NO_CREDENTIALS.split():
        return "no_credentials", "Log in again: the AWS credential chain gives no valid credentials here."
    return _OTHER.get(code, ("source_unreadable", "Check the network, `endpoint_url` and the AWS credentials; then try again."))
