"""A local folder behaves like a bucket: ordered, hashed while it is read, and never left."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors.errors import ExportChangedError, ExportContentError, SourceUnreadableError
from connectors.stores.opening import open_store
from tests.connectors.kit import store_of, write_bytes


def test_objects_are_listed_in_the_order_of_their_whole_keys(tmp_path: Path) -> None:
    for name in ("a/b.json", "a.json", "a-c.json", "B.json"):
        write_bytes(tmp_path / name, b"x")
    assert [info.key for info in store_of(tmp_path).list_objects()] == ["B.json", "a-c.json", "a.json", "a/b.json"]


def test_a_prefix_need_not_end_at_a_folder(tmp_path: Path) -> None:
    for name in ("data/x=1/f", "data/x=10/f", "other/f"):
        write_bytes(tmp_path / name, b"x")
    assert [info.key for info in store_of(tmp_path).list_objects("data/x=1")] == ["data/x=1/f", "data/x=10/f"]


def test_a_misspelt_folder_is_named_with_the_one_that_is_meant(tmp_path: Path) -> None:
    (tmp_path / "hourly-cur").mkdir()
    (tmp_path / "runs").mkdir()
    with pytest.raises(SourceUnreadableError) as caught:
        open_store("hourly_cur", base=tmp_path).list_objects()
    assert caught.value.message == f"hourly_cur: there is no such folder; did you mean {tmp_path}/hourly-cur?"


def test_a_missing_folder_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadableError, match=r"exports/cur: there is no such folder") as caught:
        open_store("exports/cur", base=tmp_path).list_objects()
    assert caught.value.reason == "missing_folder"
    assert "configuration file" in caught.value.remedy


def test_the_time_of_an_object_is_exact_to_the_microsecond(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "f", b"x")
    os.utime(path, ns=(0, 1_775_001_600_123_456_789))
    (info,) = store_of(tmp_path).list_objects()
    assert info.last_modified == datetime(2026, 4, 1, 0, 0, 0, 123456, tzinfo=UTC)
    assert info.etag == f"1-{1_775_001_600_123_456_789:x}"


def test_a_fetched_copy_has_the_same_bytes_and_their_sha256(tmp_path: Path) -> None:
    content = bytes(range(256)) * 9000  # more than two chunks
    write_bytes(tmp_path / "source/f", content)
    store = store_of(tmp_path / "source")
    (info,) = store.list_objects()
    assert store.fetch(info, tmp_path / "copy") == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "copy").read_bytes() == content


@pytest.mark.parametrize("act", ["rewrite", "remove"])
def test_an_object_that_changed_after_the_listing_is_not_read(tmp_path: Path, act: str) -> None:
    path = write_bytes(tmp_path / "source/f", b"old")
    store = store_of(tmp_path / "source")
    (info,) = store.list_objects()
    if act == "rewrite":
        path.write_bytes(b"longer than before")
    else:
        path.unlink()
    with pytest.raises(ExportChangedError, match="source/f changed or vanished"):
        store.fetch(info, tmp_path / "copy")
    with pytest.raises(ExportChangedError):
        store.read(info)


def test_an_object_above_the_limit_is_not_read_into_memory(tmp_path: Path) -> None:
    write_bytes(tmp_path / "f", b"12345")
    store = store_of(tmp_path)
    (info,) = store.list_objects()
    assert store.read(info, limit=5) == b"12345"
    with pytest.raises(ExportContentError, match="has 5 bytes; the limit for such a file is 4"):
        store.read(info, limit=4)


def test_a_link_out_of_the_location_is_refused_when_it_is_read(tmp_path: Path) -> None:
    write_bytes(tmp_path / "secret", b"secret")
    (tmp_path / "source").mkdir()
    (tmp_path / "source/f").symlink_to(tmp_path / "secret")
    store = store_of(tmp_path / "source")
    (info,) = store.list_objects()
    with pytest.raises(ExportContentError) as caught:
        store.fetch(info, tmp_path / "copy")
    assert caught.value.reason == "unsafe_path"


def test_a_linked_folder_is_not_followed(tmp_path: Path) -> None:
    write_bytes(tmp_path / "elsewhere/f", b"x")
    write_bytes(tmp_path / "source/g", b"x")
    (tmp_path / "source/link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "source/loop").symlink_to(tmp_path / "source")
    assert [info.key for info in store_of(tmp_path / "source").list_objects()] == ["g"]


def test_a_single_file_is_a_location_too(tmp_path: Path) -> None:
    write_bytes(tmp_path / "fx.csv", b"a")
    store = open_store("./fx.csv", base=tmp_path)
    (info,) = store.list_objects()
    assert (info.key, store.read(info), store.uri_of(info.key)) == ("fx.csv", b"a", "./fx.csv")


def test_names_are_given_as_configured_and_not_as_paths_of_this_machine(tmp_path: Path) -> None:
    assert open_store("./exports/cur/", base=tmp_path).uri_of("a/b") == "./exports/cur/a/b"
    assert open_store(".", base=tmp_path / "cur").uri.endswith("/cur")


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(SourceUnreadableError, match="ftp://"):
        open_store("ftp://host/x", base=Path())
