"""What a landing asks of S3: lists, conditional writes, uploads and deletes, with the same named errors as reading an export."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import ConnectorError, ExportChangedError, SourceUnreadableError
from connectors.stores import StoreOptions
from connectors.stores.s3 import S3Bucket
from tests.connectors.buckets import BUCKET, denying, put

pytestmark = pytest.mark.slow


@pytest.fixture
def bucket(s3: Any, endpoint: str) -> S3Bucket:
    return S3Bucket(f"s3://{BUCKET}/home/landing/", StoreOptions(endpoint_url=endpoint))


def test_keys_are_relative_to_the_prefix_for_every_call(s3: Any, bucket: S3Bucket, tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(b"part")
    bucket.put("cur/a", b"a")
    bucket.upload(tmp_path / "part", "cur/b")
    put(s3, "home/landing2/not-ours")
    listed = list(bucket.list_objects("cur/"))
    assert [(info.key, info.size) for info in listed] == [("cur/a", 1), ("cur/b", 4)]
    assert s3.get_object(Bucket=BUCKET, Key="home/landing/cur/b")["Body"].read() == b"part"
    assert listed[0].etag == s3.head_object(Bucket=BUCKET, Key="home/landing/cur/a")["ETag"].strip('"')
    assert (bucket.get("cur/a"), bucket.uri_of("cur/a")) == (b"a", f"s3://{BUCKET}/home/landing/cur/a")
    bucket.delete("cur/a")
    bucket.delete("cur/never-there")
    assert [info.key for info in bucket.list_objects()] == ["cur/b"]


def test_a_large_file_arrives_in_parts_and_is_downloaded_with_its_hash(bucket: S3Bucket, tmp_path: Path) -> None:
    content = bytes(range(256)) * 40_960  # 10 MiB: above the size from which boto3 uploads in parts
    (tmp_path / "large").write_bytes(content)
    bucket.upload(tmp_path / "large", "large")
    (info,) = bucket.list_objects()
    assert (info.size, "-" in info.etag) == (len(content), True)
    for listed in (None, info):
        assert bucket.download_hashed("large", tmp_path / "copy", listed) == hashlib.sha256(content).hexdigest()
        assert (tmp_path / "copy").read_bytes() == content


def test_of_many_writers_of_a_new_object_exactly_one_wins(bucket: S3Bucket) -> None:
    texts = [str(number).encode() for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda text: bucket.put_new("record.json", text), texts))
    assert won.count(True) == 1
    assert bucket.get("record.json") == texts[won.index(True)]


def test_put_replaces_and_put_new_does_not(bucket: S3Bucket) -> None:
    bucket.put("record.json", b"first")
    bucket.put("record.json", b"second")
    assert not bucket.put_new("record.json", b"third")
    assert bucket.get("record.json") == b"second"


def test_two_writers_at_the_same_moment_are_no_answer_yet_so_the_write_is_tried_again(s3: Any, bucket: S3Bucket) -> None:
    """S3 answers ConditionalRequestConflict when it has not decided; the other writer may have failed."""
    denying(bucket.client, "PutObject", "ConditionalRequestConflict", 409, times=2)
    assert bucket.put_new("record.json", b"ours")
    assert bucket.get("record.json") == b"ours"
    denying(bucket.client, "PutObject", "ConditionalRequestConflict", 409)
    with pytest.raises(SourceUnreadableError, match=r"landing/other\.json: PutObject failed with") as caught:
        bucket.put_new("other.json", b"ours")
    assert caught.value.reason == "write_conflict"


def test_an_object_that_is_gone_is_named_and_one_that_was_listed_has_changed(s3: Any, bucket: S3Bucket, tmp_path: Path) -> None:
    bucket.put("part", b"old")
    (info,) = bucket.list_objects()
    bucket.put("part", b"new")
    with pytest.raises(ExportChangedError, match=r"s3://exports/home/landing/part changed or vanished"):
        bucket.get("part", info)
    bucket.delete("part")
    with pytest.raises(SourceUnreadableError, match="GetObject failed with NoSuchKey") as caught:
        bucket.download_hashed("part", tmp_path / "copy")
    assert (caught.value.reason, caught.value.source_object) == ("missing_object", "part")


@pytest.mark.parametrize(
    ("operation", "permission"),
    [("PutObject", "s3:PutObject"), ("CreateMultipartUpload", "s3:PutObject"), ("DeleteObject", "s3:DeleteObject")],
)
def test_a_write_that_is_refused_names_its_permission_and_no_secret(
    bucket: S3Bucket, tmp_path: Path, operation: str, permission: str
) -> None:
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "large").write_bytes(b"x" * (9 << 20))
    calls = {
        "PutObject": [
            lambda: bucket.put("f", b""),
            lambda: bucket.put_new("f", b""),
            lambda: bucket.upload(tmp_path / "small", "f"),
        ],
        "CreateMultipartUpload": [lambda: bucket.upload(tmp_path / "large", "f")],
        "DeleteObject": [lambda: bucket.delete("f")],
    }[operation]
    denying(bucket.client, operation, "AccessDenied", 403)
    for call in calls:
        with pytest.raises(ConnectorError, match=rf"s3://exports/home/landing/f: {operation} failed with AccessDenied") as caught:
            call()
        assert caught.value.reason == "permission_denied"
        assert f"Grant {permission} below the prefix 'exports'." == caught.value.remedy
        assert "planted" not in f"{caught.value} {caught.value.remedy}"


def test_exports_and_a_landing_share_retries_and_timeouts(bucket: S3Bucket) -> None:
    config = bucket.client.meta.config
    assert (config.retries["mode"], config.retries["total_max_attempts"]) == ("standard", 6)
    assert (config.connect_timeout, config.read_timeout) == (10, 60)
