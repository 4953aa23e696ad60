"""A manifest is read with suspicion: it names files of its own export, or it is refused by name."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.errors import ExportContentError
from connectors.layouts.manifests import parse_manifest, resolve
from connectors.stores import ObjectInfo

KEY = "metadata/BILLING_PERIOD=2026-04/cur-Manifest.json"
NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
DATA = "data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet"
LEGACY = "20260401-20260501/cur-00001.csv.gz"


def listing(*keys: str) -> dict[str, ObjectInfo]:
    return {key: ObjectInfo(key, 1, "etag", NOON) for key in keys}


def resolved(*names: object, export: str = "cur", keys: tuple[str, ...] = (DATA, LEGACY)) -> list[str]:
    written, _ = parse_manifest(json.dumps({"dataFiles": names}).encode(), KEY, f"cur/{KEY}")
    return [info.key for info in resolve(written, export, listing(*keys), KEY, f"cur/{KEY}")]


@pytest.mark.parametrize(
    "name",
    [
        DATA,
        f"prefix/cur/{DATA}",
        f"s3://another-bucket/deep/prefix/cur/{DATA}",
        f"/cur/{DATA}",  # a report without a prefix
        f"prefix/renamed-export/{DATA}",  # the folder was renamed when it was copied
        {"key": f"prefix/cur/{DATA}", "size": 7},
        {"s3Key": f"s3://bucket/cur/{DATA}"},
    ],
)
def test_every_spelling_of_a_file_list_means_the_same_object(name: object) -> None:
    assert resolved(name) == [DATA]


def test_legacy_keys_resolve_below_the_report() -> None:
    assert resolved(f"/cur/{LEGACY}") == [LEGACY]


def test_a_prefix_named_like_the_export_does_not_confuse() -> None:
    assert resolved(f"cur/cur/{DATA}") == [DATA]


def test_a_file_named_twice_is_one_object() -> None:
    assert resolved(DATA, f"s3://b/cur/{DATA}") == [DATA]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cur/../../etc/passwd.csv", "unsafe_path"),
        (f"cur/{DATA}/../../../x.csv", "unsafe_path"),
        ("/etc/passwd", "unsafe_path"),
        ("file:///etc/passwd.csv", "unsafe_path"),
        ("https://elsewhere/cur/data.csv", "unsafe_path"),
        ("cur\\..\\x.csv", "unsafe_path"),
        ("cur/x\x00.csv", "unsafe_path"),
        ("data/BILLING_PERIOD=2026-04/cur-00002.snappy.parquet", "absent_object"),
        ("", "no_file_list"),
        ({"size": 3}, "no_file_list"),
        (7, "no_file_list"),
        (None, "no_file_list"),
    ],
)
def test_what_a_manifest_may_not_name_is_refused_with_its_reason(name: object, reason: str) -> None:
    with pytest.raises(ExportContentError) as caught:
        resolved(name)
    assert caught.value.reason == reason


def test_an_absent_object_is_named_itself() -> None:
    with pytest.raises(ExportContentError) as caught:
        resolved("prefix/cur/data/BILLING_PERIOD=2026-04/cur-00009.csv.gz")
    assert caught.value.source_object == "data/BILLING_PERIOD=2026-04/cur-00009.csv.gz"


def test_a_manifest_may_not_name_metadata_as_data() -> None:
    with pytest.raises(ExportContentError) as caught:
        resolved("metadata/x.json", keys=("metadata/x.json",))
    assert caught.value.reason == "unsupported_format"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "bad_json"),
        (b'{"dataFiles": ["a"', "bad_json"),  # half written
        (b"\xff\xfe", "bad_json"),
        (b"[]", "no_file_list"),
        (b"{}", "no_file_list"),
        (b'{"dataFiles": []}', "no_file_list"),
        (b'{"dataFiles": "cur.csv"}', "no_file_list"),
        (b"[" * 100_000, "too_deep"),
        (json.dumps({"dataFiles": ["x.csv"] * 100_001}).encode(), "too_large"),
    ],
)
def test_a_manifest_that_is_none_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(ExportContentError) as caught:
        parse_manifest(content, KEY, "cur/manifest")
    assert caught.value.reason == reason
    assert caught.value.source_object == KEY


_SEGMENT = st.sampled_from(["..", ".", "", "cur", "data", "BILLING_PERIOD=2026-04", "%2e%2e", "~", "etc", "x.csv", "\\", "\x00"])


@settings(deadline=None)
@given(
    st.lists(_SEGMENT, min_size=1, max_size=8), st.sampled_from(["", "/", "s3://b/", "file://", "s3://"]), st.text(max_size=20)
)
def test_no_manifest_leaves_the_location(segments: list[str], start: str, tail: str) -> None:
    """Whatever is named, an object of the listing comes back, or an error that names the manifest or the object."""
    name = start + "/".join(segments) + tail
    try:
        keys = resolved(name)
    except ExportContentError as error:
        assert error.source_object and error.reason in {"unsafe_path", "absent_object", "no_file_list", "unsupported_format"}
    else:
        assert set(keys) <= {DATA, LEGACY} and ".." not in name.split("/")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_refused_by_name(content: bytes) -> None:
    with pytest.raises(ExportContentError):
        parse_manifest(content, KEY, "cur/manifest")
