"""A partition of Google's bill is a delivery: all its files, each time it grows, and no file outside of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.deliveries import Delivery, Refusal
from tests.connectors.gcp import DAY, line, write_partition
from tests.connectors.kit import converted, found, only_delivery, only_refusal, rows_of, write_bytes

KIND = "gcp_billing"


def test_a_partition_is_a_delivery_published_when_its_newest_file_was(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write_partition(tmp_path / "bill", DAY, line(), name=name)
    write_partition(tmp_path / "bill", "2026-03-31", line())
    write_bytes(tmp_path / "bill" / f"_PARTITIONTIME={DAY}" / "_SUCCESS", b"")
    first, second = found(KIND, tmp_path / "bill")
    assert isinstance(first, Delivery) and isinstance(second, Delivery)
    assert (first.partition, second.partition) == ("2026-03-31", DAY)
    assert [info.key.rpartition("/")[2] for info in second.objects] == ["a.parquet", "b.parquet"]
    assert second.published_at == max(info.last_modified for info in second.objects)


def test_all_files_of_a_partition_are_read_each_with_its_own_row_numbers(tmp_path: Path) -> None:
    write_partition(tmp_path / "bill", DAY, line(), line(), name="a")
    write_partition(tmp_path / "bill", DAY, line(), name="b")
    result = converted(KIND, tmp_path / "bill", tmp_path / "landing")
    assert [part.source_object.rpartition("/")[2] for part in result.parts] == ["a.parquet", "b.parquet"]
    assert [row["line_number"] for row in rows_of(result) if row["part"] == "line"] == [1, 2, 1]


def test_a_partition_without_rows_is_legal(tmp_path: Path) -> None:
    write_partition(tmp_path / "bill", DAY)
    assert converted(KIND, tmp_path / "bill", tmp_path / "landing").rows == 0


def test_a_grown_partition_is_another_delivery(tmp_path: Path) -> None:
    write_partition(tmp_path / "bill", DAY, line())
    before = only_delivery(KIND, tmp_path / "bill")
    write_partition(tmp_path / "bill", DAY, line(), line())
    assert only_delivery(KIND, tmp_path / "bill").identity != before.identity


@pytest.mark.parametrize(
    "folder", ["", "_PARTITIONTIME=2026-02-30", "_PARTITIONTIME=__NULL__", f"_PARTITIONTIME={DAY}/more", "other"]
)
def test_a_parquet_file_that_is_in_no_partition_is_refused_by_name(tmp_path: Path, folder: str) -> None:
    write_bytes(tmp_path / "bill" / folder / "a.parquet", b"PAR1")
    refusal = only_refusal(KIND, tmp_path / "bill")
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.source_object) == ("bad_partition", f"{folder}/a.parquet".lstrip("/"))
    assert "/" not in refusal.partition


def test_a_folder_between_the_files_of_a_partition_does_not_divide_it(tmp_path: Path) -> None:
    for name in ("a", "z"):
        write_partition(tmp_path / "bill", DAY, line(), name=name)
    write_bytes(tmp_path / "bill" / f"_PARTITIONTIME={DAY}" / "more" / "a.parquet", b"PAR1")
    delivery, refusal = found(KIND, tmp_path / "bill")
    assert isinstance(delivery, Delivery) and len(delivery.objects) == 2
    assert isinstance(refusal, Refusal) and refusal.reason == "bad_partition"
