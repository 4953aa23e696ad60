"""Objects in S3 over HTTP, from a real server: paging, conditional reads in one stream, broken streams."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.deliveries import Delivery
from connectors.errors import ExportChangedError, ExportContentError, SourceUnreadableError
from connectors.registry import connector_for
from connectors.stores import StoreOptions
from connectors.stores.s3 import S3Store
from connectors.stores.s3_access import s3_client
from tests.connectors.buckets import BUCKET, calls_of, put, store_at
from tests.connectors.kit import LINE, rows_of, table, write_parquet

pytestmark = pytest.mark.slow


def test_more_than_one_page_of_keys_is_listed_in_order(s3: Any, endpoint: str) -> None:
    from moto.backends import get_backend  # slow to import, as the server is
    from moto.core import DEFAULT_ACCOUNT_ID

    bucket = get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"]  # the server's own, for a request each takes ten seconds
    for number in range(1001):
        bucket.put_object(BUCKET, f"p/cur/{number:04}", b"x")
    put(s3, "p/cur2/not-ours")
    put(s3, "p/cur/folder/")
    keys = [info.key for info in store_at(endpoint).list_objects()]
    assert keys == [f"{number:04}" for number in range(1001)]
    assert [info.key for info in store_at(endpoint).list_objects("000")] == [f"000{digit}" for digit in range(10)]


def test_keys_that_begin_with_a_slash_are_reached(s3: Any, endpoint: str) -> None:
    """A legacy report without a prefix is written to /report/..."""
    put(s3, "/report/20260401-20260501/report-Manifest.json", b"{}")
    store = store_at(endpoint, f"s3://{BUCKET}//report/")
    (info,) = store.list_objects()
    assert (info.key, store.read(info)) == ("20260401-20260501/report-Manifest.json", b"{}")


def test_a_fetched_object_has_its_bytes_and_sha256_also_when_it_has_several_parts(s3: Any, endpoint: str, tmp_path: Path) -> None:
    chunk = bytes(range(256)) * 20_480  # 5 MiB, the least a part may have
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="p/cur/big")["UploadId"]
    parts = []
    for number, body in enumerate((chunk, b"tail"), start=1):
        answer = s3.upload_part(Bucket=BUCKET, Key="p/cur/big", UploadId=upload, PartNumber=number, Body=body)
        parts.append({"PartNumber": number, "ETag": answer["ETag"]})
    s3.complete_multipart_upload(Bucket=BUCKET, Key="p/cur/big", UploadId=upload, MultipartUpload={"Parts": parts})
    store = store_at(endpoint)
    (info,) = store.list_objects()
    assert info.etag.endswith("-2") and info.size == len(chunk) + 4
    assert store.fetch(info, tmp_path / "copy") == hashlib.sha256(chunk + b"tail").hexdigest()
    assert (tmp_path / "copy").read_bytes() == chunk + b"tail"
    assert store.uri_of(info.key) == f"s3://{BUCKET}/p/cur/big"


@pytest.mark.parametrize("act", ["rewrite", "remove"])
def test_an_object_that_changed_after_the_listing_is_not_read(s3: Any, endpoint: str, tmp_path: Path, act: str) -> None:
    put(s3, "p/cur/f", b"old")
    store = store_at(endpoint)
    (info,) = store.list_objects()
    if act == "rewrite":
        put(s3, "p/cur/f", b"new")  # the same size
    else:
        s3.delete_object(Bucket=BUCKET, Key="p/cur/f")
    with pytest.raises(ExportChangedError, match=r"s3://exports/p/cur/f changed or vanished"):
        store.fetch(info, tmp_path / "copy")
    with pytest.raises(ExportChangedError):
        store.read(info)


def test_a_large_object_is_not_read_into_memory(s3: Any, endpoint: str) -> None:
    put(s3, "p/cur/f", b"12345")
    store = store_at(endpoint)
    (info,) = store.list_objects()
    with pytest.raises(ExportContentError, match="the limit for such a file is 4"):
        store.read(info, limit=4)


def test_requester_pays_is_sent_with_every_call_and_only_when_set(s3: Any, endpoint: str, tmp_path: Path) -> None:
    put(s3, "p/cur/f")
    for pays in (True, False):
        store = store_at(endpoint, requester_pays=pays)
        sent = calls_of(store)
        (info,) = store.list_objects()
        store.fetch(info, tmp_path / "copy")
        headers = [{name.lower(): value for name, value in each.items()} for _, each in sent]
        assert len(headers) == 2
        assert all((each.get("x-amz-request-payer") in {"requester", b"requester"}) == pays for each in headers)


def test_reading_is_conditional_on_the_listed_etag_and_is_one_request(s3: Any, endpoint: str, tmp_path: Path) -> None:
    put(s3, "p/cur/f", b"x" * (3 << 20))
    store = store_at(endpoint)
    sent = calls_of(store)
    (info,) = store.list_objects()
    store.fetch(info, tmp_path / "copy")
    (_, headers) = sent[1]
    assert len(sent) == 2
    values = {name.lower(): value if isinstance(value, str) else value.decode() for name, value in headers.items()}
    assert values["if-match"] == f'"{info.etag}"'


def test_a_stream_that_breaks_is_started_again_and_then_named(
    s3: Any, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(s3, "p/cur/f", b"whole")
    store = store_at(endpoint)
    (info,) = store.list_objects()
    original, breaks = S3Store._stream, [2]

    def flaky(self: S3Store, key: str, listed: Any) -> Iterator[bytes]:
        if breaks[0]:
            breaks[0] -= 1
            yield b"wh"
            raise self._broken(key, 2, listed.size, "cut")
        yield from original(self, key, listed)

    monkeypatch.setattr(S3Store, "_stream", flaky)
    assert store.fetch(info, tmp_path / "copy") == hashlib.sha256(b"whole").hexdigest()
    assert (tmp_path / "copy").read_bytes() == b"whole"
    breaks[0] = 3
    with pytest.raises(SourceUnreadableError, match="ended after 2 of 5 bytes"):
        store.fetch(info, tmp_path / "copy")


def test_a_bill_in_a_bucket_is_found_fetched_and_converted(s3: Any, endpoint: str, tmp_path: Path) -> None:
    key = "data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet"
    put(s3, f"p/cur/{key}", write_parquet(tmp_path / "x.parquet", table(LINE)).read_bytes())
    manifest = json.dumps({"dataFiles": [f"s3://{BUCKET}/p/cur/{key}"]}).encode()
    put(s3, "p/cur/metadata/BILLING_PERIOD=2026-04/cur-Manifest.json", manifest)
    store = store_at(endpoint)
    connector = connector_for("aws_cur")
    (delivery,) = connector.find_deliveries(store)
    assert isinstance(delivery, Delivery)
    path = tmp_path / "landed.parquet"
    store.fetch(delivery.objects[0], path)
    result = connector.convert(delivery, {delivery.objects[0].key: path}, tmp_path, store.uri)
    assert rows_of(result)[0]["line_item_resource_id"] == LINE["line_item_resource_id"]


def test_a_client_outside_the_store_uses_the_same_options(s3: Any, endpoint: str) -> None:
    client = s3_client(StoreOptions(endpoint_url=endpoint))
    # other tests of this worker may have made buckets on the server that they share
    there = [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
    assert BUCKET in there
    assert [bucket["Name"] for bucket in client.list_buckets()["Buckets"]] == there
