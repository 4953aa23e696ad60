"""bq:// and gs:// in their parts; what could be anything but a name is refused before it gets into a statement."""

from __future__ import annotations

import pytest

from connectors.errors import SourceUnreadableError
from connectors.stores.google_locations import TableLocation, bucket_location, table_location


@pytest.mark.parametrize(
    ("location", "parts"),
    [
        (
            "bq://acme-billing.exports.gcp_billing_export_resource_v1_012345_6789AB_CDEF01",
            ("acme-billing", "exports", "gcp_billing_export_resource_v1_012345_6789AB_CDEF01"),
        ),
        ("bq://example.com:billing.exports.carbon_footprint", ("example.com:billing", "exports", "carbon_footprint")),
        ("bq://acme-billing.exports.bill - 2026", ("acme-billing", "exports", "bill - 2026")),
    ],
)
def test_a_table_is_a_project_a_dataset_and_a_name(location: str, parts: tuple[str, str, str]) -> None:
    found = table_location(location)
    assert (found.project, found.dataset, found.table) == parts
    assert (found.uri, found.name) == (location, ".".join(parts))
    assert found == TableLocation(*parts)


@pytest.mark.parametrize(
    ("location", "word"),
    [
        ("bq://", "names no project"),
        ("bq://dataset.table", "names no project"),
        ("bq://acme-billing:exports.bill", "behind a project's domain"),
        ("bq://acme-billing.exports.gcp_billing_*", "pattern"),
        ("bq://acme-billing.exports.bill$20260401", "partition"),
        ("bq://acme-billing.exports.", "table"),
        ("bq://Acme.exports.bill", "project"),
        ("bq://acme-billing.ex-ports.bill", "dataset"),
        ("bq://acme-billing.exports.bill` where true -- ", "table"),
        ("bq://acme-billing.exports.bill\\", "table"),
        ("bq://acme-billing.exports.bill\n", "table"),
    ],
)
def test_what_is_no_table_is_refused_with_what_to_write(location: str, word: str) -> None:
    with pytest.raises(SourceUnreadableError, match=word) as caught:
        table_location(location)
    assert caught.value.reason == "bad_location"
    assert caught.value.remedy.startswith(("Write bq://", "Name the"))


@pytest.mark.parametrize(
    ("location", "bucket", "prefix", "uri"),
    [
        ("gs://acme-exports", "acme-exports", "", "gs://acme-exports"),
        ("gs://acme-exports/", "acme-exports", "", "gs://acme-exports"),
        ("gs://acme.example.org/gcp/bill/", "acme.example.org", "gcp/bill/", "gs://acme.example.org/gcp/bill"),
        ("gs://acme-exports/Rechnungen März", "acme-exports", "Rechnungen März/", "gs://acme-exports/Rechnungen März"),
    ],
)
def test_a_bucket_has_a_name_and_a_prefix(location: str, bucket: str, prefix: str, uri: str) -> None:
    assert bucket_location(location) == (bucket, prefix)
    assert pytest.importorskip("connectors.stores.gcs").BucketStore(location).uri == uri


@pytest.mark.parametrize("location", ["gs://", "gs:///bill", "gs://Acme/bill", "gs://acme/bill/*.parquet", "gs://acme/a\nb"])
def test_what_is_no_bucket_is_refused_with_what_to_write(location: str) -> None:
    with pytest.raises(SourceUnreadableError) as caught:
        bucket_location(location)
    assert (caught.value.reason, caught.value.remedy.startswith("Write gs://bucket/prefix")) == ("bad_location", True)
