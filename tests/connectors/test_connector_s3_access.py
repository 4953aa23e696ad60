"""Who may read a bucket, and what a refusal names: roles, credentials, permissions, endpoints, and never a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import botocore.client
import pytest
from botocore.exceptions import ClientError

from connectors.errors import SourceUnreadableError
from connectors.stores import StoreOptions
from connectors.stores.opening import open_store
from connectors.stores.s3 import S3Store
from connectors.stores.s3_access import _sts_endpoint
from tests.connectors.buckets import BUCKET, calls_of, denying, put, store_at

pytestmark = pytest.mark.slow


def test_a_missing_bucket_is_named(s3: Any, endpoint: str) -> None:
    with pytest.raises(SourceUnreadableError, match=r"s3://no-such-bucket/x: ListObjectsV2 failed with NoSuchBucket") as caught:
        list(store_at(endpoint, "s3://no-such-bucket/x").list_objects())
    assert caught.value.reason == "missing_bucket"
    assert "no-such-bucket" in caught.value.remedy


def test_no_server_at_the_endpoint_is_unreadable_and_not_a_traceback(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    store = open_store(f"s3://{BUCKET}/x", base=Path(), options=StoreOptions(endpoint_url="http://127.0.0.1:9"))
    with pytest.raises(SourceUnreadableError, match="EndpointConnectionError"):
        list(store.list_objects())


def test_no_credentials_are_named(s3: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for options in ({}, {"role_arn": "arn:aws:iam::123456789012:role/reader"}):
        with pytest.raises(SourceUnreadableError) as caught:
            list(store_at(endpoint, **options).list_objects())
        assert caught.value.reason == "no_credentials"


@pytest.mark.parametrize(
    ("operation", "code", "status", "reason", "remedy"),
    [
        ("ListObjectsV2", "AccessDenied", 403, "permission_denied", "s3:ListBucket"),
        ("GetObject", "AccessDenied", 403, "permission_denied", "s3:GetObject"),
        ("GetObject", "ExpiredToken", 400, "no_credentials", "Log in again"),
        ("GetObject", "InvalidObjectState", 403, "archived_object", "Restore"),
    ],
)
def test_a_refused_call_names_the_missing_permission_and_no_secret(
    s3: Any, endpoint: str, tmp_path: Path, operation: str, code: str, status: int, reason: str, remedy: str
) -> None:
    put(s3, "p/cur/f")
    store = store_at(endpoint)
    assert isinstance(store, S3Store)
    denying(store.client, operation, code, status)
    with pytest.raises(SourceUnreadableError, match=f"{operation} failed with {code}") as caught:
        for info in store.list_objects():
            store.fetch(info, tmp_path / "copy")
    assert (caught.value.reason, remedy in caught.value.remedy) == (reason, True)
    assert "planted" not in f"{caught.value} {caught.value.remedy}"


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("PermanentRedirect", {"ResponseMetadata": {"HTTPHeaders": {"x-amz-bucket-region": "eu-central-1"}}}),
        ("AuthorizationHeaderMalformed", {"Error": {"Code": "AuthorizationHeaderMalformed", "Region": "eu-central-1"}}),
    ],
)
def test_the_region_that_s3_expects_is_named(code: str, answer: dict[str, Any]) -> None:
    error = ClientError({"Error": {"Code": code}} | answer, "ListObjectsV2")
    failure = S3Store("s3://bucket/exports")._failure(error)
    assert failure.reason == "wrong_region"
    assert failure.remedy == "Bucket 'bucket' is in eu-central-1: set AWS_DEFAULT_REGION=eu-central-1."


def test_a_region_that_could_be_anything_is_not_repeated() -> None:
    answer = {"ResponseMetadata": {"HTTPHeaders": {"x-amz-bucket-region": "planted secret"}}}
    failure = S3Store("s3://bucket/x")._failure(ClientError({"Error": {"Code": "PermanentRedirect"}} | answer, "ListObjectsV2"))
    assert failure.reason == "missing_bucket" and "planted" not in failure.remedy


def test_a_policy_that_denies_reading_is_named(s3: Any, endpoint: str, tmp_path: Path) -> None:
    put(s3, "p/cur/f")
    statement = {"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{BUCKET}/*"}
    s3.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
    store = store_at(endpoint)
    (info,) = store.list_objects()
    with pytest.raises(SourceUnreadableError) as caught:
        store.fetch(info, tmp_path / "copy")
    assert caught.value.reason == "permission_denied"
    assert caught.value.source_object == "f"


def test_a_role_is_assumed_with_its_external_id(s3: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(s3, "p/cur/f")
    asked: list[dict[str, Any]] = []
    original = botocore.client.BaseClient._make_api_call

    def record(self: Any, operation: str, arguments: dict[str, Any]) -> Any:
        if operation == "AssumeRole":
            asked.append(arguments)
        return original(self, operation, arguments)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", record)
    role = "arn:aws:iam::210987654321:role/reader"
    store = store_at(endpoint, role_arn=role, external_id="our-external-id")
    sent = calls_of(store)
    assert [info.key for info in store.list_objects()] == ["f"]
    assert [(each["RoleArn"], each["ExternalId"], each["RoleSessionName"]) for each in asked] == [
        (role, "our-external-id", "trainledger")
    ]
    ((_, headers),) = sent
    signature = headers["Authorization"]
    assert "planted-key-id" not in str(signature)  # the call is signed by the role, not by who assumed it
    assert "X-Amz-Security-Token" in headers


def test_a_role_that_may_not_be_assumed_is_named(s3: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = botocore.client.BaseClient._make_api_call

    def deny(self: Any, operation: str, arguments: dict[str, Any]) -> Any:
        if operation == "AssumeRole":
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "planted-secret"}}, operation)
        return original(self, operation, arguments)

    role = "arn:aws:iam::210987654321:role/reader"
    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", deny)
    with pytest.raises(SourceUnreadableError, match="AssumeRole failed with AccessDenied") as caught:
        list(store_at(endpoint, role_arn=role).list_objects())
    assert (caught.value.reason, role in caught.value.remedy) == ("role_denied", True)
    assert "planted-secret" not in f"{caught.value} {caught.value.remedy}"


def test_sts_stays_at_aws_when_the_endpoint_is_one_of_aws() -> None:
    assert _sts_endpoint("https://bucket.vpce-1.s3.us-east-1.vpce.amazonaws.com") is None
    assert _sts_endpoint("http://127.0.0.1:5000") == "http://127.0.0.1:5000"
    assert _sts_endpoint(None) is None


def test_a_bad_endpoint_is_named(s3: Any) -> None:
    store = open_store(f"s3://{BUCKET}/x", base=Path(), options=StoreOptions(endpoint_url="not a url"))
    with pytest.raises(SourceUnreadableError):
        list(store.list_objects())
