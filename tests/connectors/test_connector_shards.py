"""Files that one EXPORT DATA cannot have written are known by their names and times, and their rows stay."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from connectors.deliveries import Delivery
from connectors.layouts.shards import orphan_shards
from connectors.stores import ObjectInfo
from tests.connectors.gcp import line, write_partition
from tests.connectors.kit import converted, rows_of
from tests.landing.kit import set_time

NOON = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def remarks_on(*files: tuple[str, dt.timedelta]) -> list[tuple[str, str]]:
    infos = tuple(ObjectInfo(f"_PARTITIONTIME=2026-04-01/{name}", 9, name, NOON - before) for name, before in files)
    delivery = Delivery("gcp_billing", "2026-04-01", "id", NOON, infos)
    return [(one.reason, str(one.value)) for one in orphan_shards(delivery, "gs://acme/bill")]


def part(number: int, ending: str = "parquet") -> str:
    return f"part-{number:012}.{ending}"


NOW = dt.timedelta()


def test_the_files_of_one_export_are_no_remark() -> None:
    assert remarks_on((part(0), NOW), (part(1), dt.timedelta(hours=5)), (part(2), NOW)) == []
    assert remarks_on((part(0, "json.gz"), NOW), (part(1, "json.gz"), NOW)) == []
    assert remarks_on((part(0), NOW), ("other-000000000000.parquet", NOW)) == []


def test_files_without_the_numbers_of_an_export_say_nothing() -> None:
    assert remarks_on(("a.parquet", NOW), ("b.parquet", 9 * DAY), ("20260401.parquet", DAY)) == []


def test_files_left_over_from_a_larger_export_are_named() -> None:
    [(reason, value)] = remarks_on((part(0), NOW), (part(1), NOW), (part(2), 3 * DAY), (part(3), 3 * DAY))
    assert reason == "orphan_shards"
    assert value == "part-000000000002.parquet, part-000000000003.parquet of 2026-04-28, beside files of 2026-05-01"


@pytest.mark.parametrize(
    ("numbers", "missing"), [((1,), "no part-000000000000.parquet,"), ((0, 1, 3), "no part-000000000002.parquet,")]
)
def test_a_file_that_lacks_between_the_others_is_named(numbers: tuple[int, ...], missing: str) -> None:
    [(reason, value)] = remarks_on(*((part(number), NOW) for number in numbers))
    assert reason == "orphan_shards" and value.startswith(missing)


def test_a_number_beyond_reason_is_no_work() -> None:
    [(_, value)] = remarks_on((part(999_999_999_999), NOW))
    assert value.startswith("no part-000000000000.parquet")


def test_the_rows_of_an_orphan_are_kept_with_a_remark(tmp_path: Path) -> None:
    for number, day in ((0, "2026-04-20"), (1, "2026-04-02")):
        set_time(write_partition(tmp_path / "bill", "2026-04-01", line(), name=f"part-{number:012}"), day)
    done = converted("gcp_billing", tmp_path / "bill", tmp_path / "landed")
    assert len([row for row in rows_of(done) if row["part"] == "line"]) == 2
    [remark] = done.refusals
    assert (remark.reason, remark.partition) == ("orphan_shards", "2026-04-01")
    assert remark.source_object.endswith("part-000000000001.parquet") and "Empty the folder" in remark.remedy
