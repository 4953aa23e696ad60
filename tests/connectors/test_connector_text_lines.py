"""Lines come out of any packing whole and in order, and a hostile file ends at a limit with a name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.errors import ExportContentError
from connectors.formats import text_lines
from connectors.formats.text_lines import TextFile


def file_of(folder: Path, content: bytes, key: str = "a.jsonl") -> TextFile:
    path = folder / "landed"
    path.write_bytes(content)
    return TextFile(path, key, f"s3://bucket/{key}")


@given(st.lists(st.binary(max_size=40).map(lambda line: b"x" + line.replace(b"\n", b"")), max_size=30), st.integers(1, 64))
def test_lines_are_the_same_however_the_file_is_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], chunk: int
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_lines, "_CHUNK", chunk)
        assert [line.removesuffix(b"\n") for _, line in file_of(folder, b"\n".join(lines)).lines()] == lines


def test_blank_lines_are_counted_and_not_yielded(tmp_path: Path) -> None:
    assert list(file_of(tmp_path, b"\n a\n\t\n\nb").lines()) == [(2, b" a\n"), (5, b"b")]


def test_the_packing_is_read_from_the_bytes_and_not_from_the_name(tmp_path: Path) -> None:
    """Some clients unpack on the way and keep the name."""
    assert list(file_of(tmp_path, b"a\n", "a.jsonl.gz").lines()) == [(1, b"a\n")]
    assert list(file_of(tmp_path, gzip.compress(b"a\n"), "a.jsonl").lines()) == [(1, b"a\n")]


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_bomb_ends_at_the_limit(tmp_path: Path, packing: str) -> None:
    block = b"0123456789abcdef\n" * 4096
    bomb = pa.Codec(packing).compress(block * (96 << 20 >> 16), asbytes=True)  # beyond the 64 MiB any file may hold
    with pytest.raises(ExportContentError, match="more than 67108864 bytes when decompressed") as refused:
        sum(1 for _ in file_of(tmp_path, bomb).lines())
    assert refused.value.reason == "too_large"


def test_a_line_without_an_end_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_lines, "MAX_LINE", 1 << 20)
    with pytest.raises(ExportContentError, match="line 2 is longer than 1048576 bytes") as refused:
        list(file_of(tmp_path, b"a\n" + b"x" * (3 << 20)).lines())
    assert refused.value.row_number == 2


def test_a_document_that_is_no_document_any_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_lines, "READ_LIMIT", 100)
    assert file_of(tmp_path, b"x" * 100).content() == b"x" * 100
    with pytest.raises(ExportContentError, match="write it as JSON lines"):
        file_of(tmp_path, b"x" * 101).content()
