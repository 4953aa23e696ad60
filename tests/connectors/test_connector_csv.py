"""CSV values survive as they are written; what is cut off, hostile or no CSV is refused with its row."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import connectors.formats.delimited as delimited
from connectors.errors import ExportContentError
from connectors.formats.delimited import CsvFile
from tests.connectors.kit import write_bytes, write_csv


def rows_of(file: CsvFile) -> list[dict[str, str | None]]:
    header = file.header()
    return [row for batch in file.batches(header, header) for row in batch.to_pylist()]


def csv_file(path: Path) -> CsvFile:
    return CsvFile(path, path.name, f"s3://bucket/{path.name}")


def refused(path: Path) -> ExportContentError:
    with pytest.raises(ExportContentError) as caught:
        rows_of(csv_file(path))
    assert caught.value.source_object == path.name
    return caught.value


# any text a UTF-8 file can hold
_VALUE = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["1.81E-8", "007", 'a"b', "a,b", "\r\n", "NULL", " "]
)
_ROWS = st.lists(st.tuples(_VALUE, _VALUE, st.just("end")), min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(_ROWS, st.sampled_from(["x.csv", "x.csv.gz", "x.csv.zip"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_values_arrive_as_written(rows: list[tuple[str, str, str]], name: str, line_end: str, quote_all: bool) -> None:
    text = io.StringIO(newline="")
    # Python leaves a lone carriage return unquoted, which to every other reader ends the row
    quoting = csv.QUOTE_ALL if quote_all or any("\r" in value for row in rows for value in row) else csv.QUOTE_MINIMAL
    csv.writer(text, lineterminator=line_end, quoting=quoting).writerows([("a", "b", "c"), *rows])
    content = text.getvalue().encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if name.endswith(".zip"):
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("x.csv", content)
        else:
            path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        read = rows_of(csv_file(path))
    assert [tuple(row.values()) for row in read] == [tuple(value or None for value in row) for row in rows]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "x.csv", b"\xef\xbb\xbfa,b\n1,2\n")
    assert rows_of(csv_file(path)) == [{"a": "1", "b": "2"}]


def test_a_gzip_of_several_members_is_read_to_its_end(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "x.csv.gz", gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))
    assert [row["a"] for row in rows_of(csv_file(path))] == ["1", "3"]


def test_a_file_of_nothing_has_no_header_and_no_rows(tmp_path: Path) -> None:
    assert csv_file(write_bytes(tmp_path / "x.csv.gz", gzip.compress(b""))).header() == ()


def test_a_truncated_gzip_is_refused(tmp_path: Path) -> None:
    lines = "a,b\n" + "".join(f"{n},{n * n}\n" for n in range(20_000))
    whole = gzip.compress(lines.encode())
    assert refused(write_bytes(tmp_path / "x.csv.gz", whole[: len(whole) // 2])).reason == "truncated"


def test_a_gzip_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(b"a,b\n1,2\n"))
    whole[-6] ^= 1
    assert refused(write_bytes(tmp_path / "x.csv.gz", bytes(whole))).reason == "truncated"


def test_a_short_row_is_refused_with_its_number(tmp_path: Path) -> None:
    error = refused(write_csv(tmp_path / "x.csv", "a,b\n1,2\n3,4\n5\n"))
    assert (error.reason, error.row_number) == ("bad_csv", 3)


def test_a_quote_that_never_closes_is_refused(tmp_path: Path) -> None:
    assert refused(write_csv(tmp_path / "x.csv", 'a,b\n1,2\n"3,4\n5,6\n')).reason == "bad_csv"
    # in the last column the rest of the file would be one value
    assert refused(write_csv(tmp_path / "x.csv", 'a,b\n1,"2\n3,4\n5,6\n')).reason == "bad_csv"


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    error = refused(write_bytes(tmp_path / "x.csv", b"a,b\n1,2\n3,\xff\n"))
    assert (error.reason, error.row_number) == ("bad_encoding", 2)


@pytest.fixture
def strict_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge the ratio of small files too, so that a small bomb is enough."""
    monkeypatch.setattr(delimited, "_RATIO_FROM", 1 << 16)


def test_a_gzip_bomb_is_refused_with_the_limit(tmp_path: Path, strict_ratio: None) -> None:
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 19))  # 2 MB in about 2 kB
    error = refused(write_bytes(tmp_path / "x.csv.gz", bomb))
    assert error.reason == "too_large"
    assert "limits: 200 times its size" in str(error)


def test_a_zip_bomb_is_refused_with_the_limit(tmp_path: Path, strict_ratio: None) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.csv", b"a,b\n" + b"1,2\n" * (1 << 19))
    assert refused(tmp_path / "x.zip").reason == "too_large"


def test_the_absolute_limit_holds_for_plain_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "MAX_BYTES", 10)
    assert refused(write_csv(tmp_path / "x.csv", "a,b\n1,2\n3,4\n")).reason == "too_large"


def test_a_zip_with_two_files_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("x.csv", b"a,b\n1,2\n")
        archive.writestr("../y.csv", b"a,b\n1,2\n")
    assert refused(tmp_path / "x.zip").reason == "bad_archive"


def test_a_zip_packed_in_an_unknown_way_is_refused_as_such(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("x.csv", b"a,b\n1,2\n")
    packed = bytearray((tmp_path / "x.zip").read_bytes())
    listed = packed.index(b"PK\x01\x02")
    packed[8] = packed[listed + 10] = 97  # the method of packing, in the file's header and in the list at the end
    error = refused(write_bytes(tmp_path / "x.zip", bytes(packed)))
    assert error.reason == "bad_archive"
    assert "packed in an unknown way" in str(error)


@pytest.mark.parametrize("name", ["x.csv.gz", "x.zip"])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, name: str) -> None:
    assert refused(write_bytes(tmp_path / name, b"a,b\n1,2\n")).reason == "truncated"


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=1, max_size=60), st.sampled_from(["x.csv", "x.csv.gz", "x.zip"]))
def test_random_bytes_are_read_or_refused_by_name(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_bytes(Path(folder) / name, content)
        try:
            rows_of(csv_file(path))
        except ExportContentError as error:
            assert error.source_object == name
