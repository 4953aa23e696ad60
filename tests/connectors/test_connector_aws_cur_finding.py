"""Bills are found by their manifests in every layout AWS has, each delivery once."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.aws.cur import LAYOUTS, find_deliveries
from connectors.deliveries import Delivery, Refusal
from connectors.layouts.accounting import look
from connectors.stores import ObjectInfo, ObjectStore
from tests.connectors.bills import DATA, EARLY, LATE, META, execution, overwrite
from tests.connectors.kit import (
    LINE,
    found,
    only_delivery,
    only_refusal,
    store_of,
    table,
    write_bytes,
    write_csv,
    write_manifest,
    write_parquet,
)


def test_an_overwrite_export_is_one_delivery_published_when_its_manifest_was_written(tmp_path: Path) -> None:
    folder = overwrite(tmp_path / "cur")
    written = dt.datetime(2026, 5, 3, 4, 5, 6, tzinfo=dt.UTC)
    os.utime(folder / META / "cur-Manifest.json", (written.timestamp(), written.timestamp()))
    delivery = only_delivery("aws_cur", folder)
    assert (delivery.kind, delivery.partition, delivery.delivery_id) == ("aws_cur", "2026-04", "execution-1")
    assert delivery.published_at == written
    assert [info.key for info in delivery.objects] == [f"{DATA}/cur-00001.snappy.parquet"]
    assert delivery.manifest is not None and delivery.manifest.key == f"{META}/cur-Manifest.json"


def test_data_without_its_manifest_is_no_delivery(tmp_path: Path) -> None:
    folder = overwrite(tmp_path / "cur")
    (folder / META / "cur-Manifest.json").unlink()
    assert found("aws_cur", folder) == []


def test_every_execution_is_a_delivery_and_the_newest_is_not_yielded_twice(tmp_path: Path) -> None:
    folder = tmp_path / "cur"
    execution(folder, EARLY, "cur-00001.snappy.parquet", "cur-00002.snappy.parquet")
    newest = execution(folder, LATE, "cur-00001.snappy.parquet")
    write_manifest(folder / META / "cur-Manifest.json", newest)
    early, late = found("aws_cur", folder)
    assert isinstance(early, Delivery) and isinstance(late, Delivery)
    assert (early.delivery_id, len(early.objects)) == (EARLY, 2)
    assert (late.delivery_id, len(late.objects)) == (LATE, 1)
    assert early.published_at == dt.datetime(2026, 4, 2, 13, 14, 43, 337000, tzinfo=dt.UTC)
    assert late.published_at == dt.datetime(2026, 5, 2, 22, 56, 48, 277000, tzinfo=dt.UTC)


def test_an_execution_known_only_from_the_months_manifest_has_its_folders_time(tmp_path: Path) -> None:
    folder = tmp_path / "cur"
    keys = execution(folder, EARLY, "cur-00001.snappy.parquet")
    (folder / META / EARLY / "cur-Manifest.json").rename(folder / META / "cur-Manifest.json")
    delivery = only_delivery("aws_cur", folder)
    assert len(keys) == 1 and delivery.delivery_id == EARLY
    assert delivery.published_at == dt.datetime(2026, 4, 2, 13, 14, 43, 337000, tzinfo=dt.UTC)


def test_a_half_written_execution_is_refused_and_the_others_stand(tmp_path: Path) -> None:
    folder = tmp_path / "cur"
    execution(folder, EARLY, "cur-00001.snappy.parquet")
    execution(folder, LATE, "cur-00001.snappy.parquet", "cur-00002.snappy.parquet")
    (folder / DATA / LATE / "cur-00002.snappy.parquet").unlink()
    good, refused = found("aws_cur", folder)
    assert isinstance(good, Delivery) and good.delivery_id == EARLY
    assert not isinstance(refused, Delivery)
    assert (refused.partition, refused.reason) == ("2026-04", "absent_object")
    assert refused.source_object == f"{DATA}/{LATE}/cur-00002.snappy.parquet"
    assert refused.published_at == dt.datetime(2026, 5, 2, 22, 56, 48, 277000, tzinfo=dt.UTC)


def test_one_fault_in_two_manifests_is_one_refusal(tmp_path: Path) -> None:
    folder = tmp_path / "cur"
    keys = execution(folder, LATE, "cur-00001.snappy.parquet")
    write_manifest(folder / META / "cur-Manifest.json", keys)
    (folder / DATA / LATE / "cur-00001.snappy.parquet").unlink()
    assert only_refusal("aws_cur", folder).reason == "absent_object"


@pytest.mark.parametrize(
    ("assembly", "published_at"),
    [
        ("20230103T125721Z/", dt.datetime(2023, 1, 3, 12, 57, 21, tzinfo=dt.UTC)),
        ("6b622448-daaa-439c-92f1-afc727f1e0a3/", dt.datetime(2026, 5, 3, tzinfo=dt.UTC)),
        ("", dt.datetime(2026, 5, 3, tzinfo=dt.UTC)),
    ],
)
def test_a_legacy_report_is_found_with_and_without_assembly_folders(
    tmp_path: Path, assembly: str, published_at: dt.datetime
) -> None:
    folder = tmp_path / "report"
    key = f"20221201-20230101/{assembly}report-00001.csv.gz"
    write_csv(folder / key, "identity/LineItemId\n")
    for place in {"", assembly}:
        manifest = folder / f"20221201-20230101/{place}report-Manifest.json"
        write_manifest(manifest, [], dataFiles=None, reportKeys=[f"/report/{key}"], assemblyId="assembly-1", executionId=None)
        os.utime(manifest, (dt.datetime(2026, 5, 3, tzinfo=dt.UTC).timestamp(),) * 2)
    delivery = only_delivery("aws_cur", folder)
    assert (delivery.partition, delivery.published_at) == ("2022-12", published_at)
    assert delivery.delivery_id == (assembly.rstrip("/") or "assembly-1")


@pytest.mark.parametrize(
    "folder_name",
    ["20260401-20260430", "20261301-20270101", "20260402-20260501", "20260501-20260401", "00000101-00000201"],
)
def test_a_folder_that_is_no_billing_period_is_refused(tmp_path: Path, folder_name: str) -> None:
    write_manifest(tmp_path / "cur" / folder_name / "cur-Manifest.json", ["x.csv.gz"])
    assert only_refusal("aws_cur", tmp_path / "cur").reason == "bad_partition"


ATHENA = "cur/year=2026/month=4/cur-00001.snappy.parquet"  # the month is not padded
STATUS = "cost_and_usage_data_status/cost_and_usage_data_status.parquet"


def test_a_legacy_report_in_parquet_is_the_delivery_of_its_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "cur"
    write_parquet(folder / ATHENA, table(LINE))
    write_parquet(folder / ATHENA.replace("00001", "00002"), table(LINE))
    write_manifest(folder / "20260401-20260501/cur-Manifest.json", [], dataFiles=None, reportKeys=[f"billing/cur/{ATHENA}"])
    delivery = only_delivery("aws_cur", folder)
    assert (delivery.partition, [info.key for info in delivery.objects]) == ("2026-04", [ATHENA])
    _, counts = look("aws_cur", find_deliveries, LAYOUTS, store_of(folder))
    assert (counts.delivered, counts.bystanders) == (2, 1), "the second file is left over from a longer delivery"


@pytest.mark.parametrize(("word", "is_delivered"), [("READY", True), ("UPDATING", False), ("WHAT", False)])
def test_months_of_athena_without_a_manifest_are_whole_when_their_status_is_ready(
    tmp_path: Path, word: str, is_delivered: bool
) -> None:
    folder = tmp_path / "cur"
    for key in (ATHENA, ATHENA.replace("00001", "00002"), ATHENA.replace("month=4", "month=12")):
        write_parquet(folder / key, table(LINE))
    write_parquet(folder / STATUS, table({"status": word}))
    results = found("aws_cur", folder)
    assert [one.partition for one in results] == ["2026-04", "2026-12"]
    assert all(isinstance(one, Delivery) == is_delivered for one in results)
    if is_delivered:
        assert isinstance(results[0], Delivery) and len(results[0].objects) == 2
    else:
        assert {one.reason for one in results if isinstance(one, Refusal)} == {"being_rewritten"}


@pytest.mark.parametrize(
    "other", ["second/year=2026/month=4/second-00001.snappy.parquet", "cur/year=2026/month=04/cur-00001.parquet"]
)
def test_two_reports_of_athena_in_one_location_are_never_one_bill(tmp_path: Path, other: str) -> None:
    for key in (ATHENA, other):
        write_parquet(tmp_path / "cur" / key, table(LINE))
    write_parquet(tmp_path / "cur" / STATUS, table({"status": "READY"}))
    refused = only_refusal("aws_cur", tmp_path / "cur")
    assert (refused.reason, refused.partition) == ("bad_partition", "2026-04") and "a source of its own" in refused.remedy


def test_months_of_athena_with_neither_manifest_nor_status_are_no_delivery(tmp_path: Path) -> None:
    write_parquet(tmp_path / "cur" / ATHENA, table(LINE))
    assert found("aws_cur", tmp_path / "cur") == []


def test_other_json_below_the_export_is_left_alone(tmp_path: Path) -> None:
    folder = overwrite(tmp_path / "cur")
    write_bytes(folder / "metadata/crawler-cfn.json", b"{")
    write_bytes(folder / "execution_status/status.json", b"{")
    write_bytes(folder / f"{DATA}/notes.json", b"{")
    assert only_delivery("aws_cur", folder).partition == "2026-04"


def test_months_come_in_order_and_finding_reads_only_manifests(tmp_path: Path) -> None:
    folder = overwrite(tmp_path / "cur", month="2026-05")
    overwrite(folder, month="2026-03")
    for data in folder.rglob("*.parquet"):
        data.write_bytes(b"not even Parquet")
    deliveries = found("aws_cur", folder)
    assert [one.partition for one in deliveries] == ["2026-03", "2026-05"]


def test_the_identity_follows_every_object_and_the_manifest(tmp_path: Path) -> None:
    folder = overwrite(tmp_path / "cur")
    first = only_delivery("aws_cur", folder).identity
    assert only_delivery("aws_cur", folder).identity == first
    os.utime(folder / DATA / "cur-00001.snappy.parquet", (0, 0))
    second = only_delivery("aws_cur", folder).identity
    os.utime(folder / META / "cur-Manifest.json", (0, 0))
    assert len({first, second, only_delivery("aws_cur", folder).identity}) == 3


class _BucketAt:
    """A folder that pretends to be a bucket, with a chosen age of its data: in a bucket times are the provider's."""

    uri = "s3://bucket/cur"

    def __init__(self, folder: Path, data_newer_by: dt.timedelta) -> None:
        self._inner: ObjectStore = store_of(folder)
        self._newer = data_newer_by

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        noon = dt.datetime(2026, 5, 3, 12, tzinfo=dt.UTC)
        for info in self._inner.list_objects(prefix):
            yield replace(info, last_modified=noon + self._newer if info.key.startswith("data/") else noon)

    def read(self, info: ObjectInfo, limit: int = 1 << 20) -> bytes:
        return self._inner.read(info, limit)

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        raise AssertionError("finding fetches nothing")

    def uri_of(self, key: str) -> str:
        return f"{self.uri}/{key}"


def test_files_that_a_provider_is_rewriting_wait_for_their_manifest(tmp_path: Path) -> None:
    folder = overwrite(tmp_path / "cur")
    (rewriting,) = find_deliveries(_BucketAt(folder, dt.timedelta(hours=8)))
    (copied,) = find_deliveries(_BucketAt(folder, dt.timedelta(minutes=5)))
    assert isinstance(rewriting, Refusal) and rewriting.reason == "being_rewritten"
    assert isinstance(copied, Delivery)
