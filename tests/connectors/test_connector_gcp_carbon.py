"""Google's carbon export: a month is one delivery, nulls stay what they are, and repeated rows count once."""

from __future__ import annotations

import copy
import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.deliveries import Delivery
from connectors.errors import ExportContentError, ExportSchemaError
from tests.connectors.gcp import CARBON, EMISSION, write_partition
from tests.connectors.kit import converted, found, only_refusal, rows_of

KIND = "gcp_carbon"
DAY = "2026-04-01"


def emission(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(EMISSION), **changes}


def test_masses_arrive_as_published_under_flat_names(tmp_path: Path) -> None:
    write_partition(tmp_path / "carbon", DAY, emission(), schema=CARBON)
    (row,) = rows_of(converted(KIND, tmp_path / "carbon", tmp_path / "landing"))
    assert row == {
        "line_number": 1, "usage_month": dt.date(2026, 4, 1), "billing_account_id": "0123AB-4567CD-89EF01",
        "project_number": "000123456789", "project_id": "research",
        "service_id": "6F81-5844-456A", "service_description": "Compute Engine",
        "location_location": "us-west4-a", "location_region": "us-west4",
        "scope1": 0.125, "scope2_location_based": 40.5, "scope2_market_based": 0.0, "scope3": 7.25,
        "total_location_based": 0.125 + 40.5 + 7.25, "total_market_based": 0.125 + 0.0 + 7.25,
        "carbon_model_version": 14, "model_version": "14",
    }  # fmt: skip


def test_a_deleted_project_has_no_id_and_no_project_has_the_empty_number_and_both_emitted(tmp_path: Path) -> None:
    rows = [emission(project={"number": "1", "id": None}), emission(project={"number": "", "id": None}), emission(project=None)]
    write_partition(tmp_path / "carbon", DAY, *rows, schema=CARBON)
    read = rows_of(converted(KIND, tmp_path / "carbon", tmp_path / "landing"))
    assert [(row["project_number"], row["project_id"]) for row in read] == [("1", None), ("", None), (None, None)]
    assert [row["scope1"] for row in read] == [0.125] * 3


def test_market_based_values_before_2023_are_null_and_not_zero(tmp_path: Path) -> None:
    masses = {"scope1": 0.0, "scope2": {"location_based": 1.0, "market_based": None}, "scope3": 0.0}
    write_partition(tmp_path / "carbon", DAY, emission(carbon_footprint_kgCO2e=masses), schema=CARBON)
    (row,) = rows_of(converted(KIND, tmp_path / "carbon", tmp_path / "landing"))
    assert (row["scope1"], row["scope2_market_based"]) == (0.0, None)


def test_the_columns_google_gave_up_may_be_there_or_not(tmp_path: Path) -> None:
    total = pa.struct([field for field in CARBON.field("carbon_footprint_total_kgCO2e").type if field.name != "after_offsets"])
    new = CARBON.remove(CARBON.get_field_index("carbon_offsets_kgCO2e"))
    new = new.set(new.get_field_index("carbon_footprint_total_kgCO2e"), pa.field("carbon_footprint_total_kgCO2e", total))
    for name, schema in (("old", CARBON), ("new", new)):
        write_partition(tmp_path / name, DAY, emission(), schema=schema)
        result = converted(KIND, tmp_path / name, tmp_path / f"landing-{name}")
        assert (result.rows, result.unknown_columns) == (1, ())


def test_rows_that_a_backfill_repeated_count_once_across_the_files_of_a_month(tmp_path: Path) -> None:
    other = emission(location={"location": "us-west4-b", "region": "us-west4"})
    write_partition(tmp_path / "carbon", DAY, emission(), other, emission(), schema=CARBON, name="a")
    write_partition(tmp_path / "carbon", DAY, other, schema=CARBON, name="b")
    result = converted(KIND, tmp_path / "carbon", tmp_path / "landing")
    assert [(row["line_number"], row["location_location"]) for row in rows_of(result)] == [(1, "us-west4-a"), (2, "us-west4-b")]
    assert [part.source_object.rpartition("/")[2] for part in result.parts] == ["a.parquet"]  # nothing is left of the other
    stated = [
        (remark.source_object.rpartition("/")[2], remark.reason, remark.row_number, remark.value) for remark in result.refusals
    ]
    assert stated == [("a.parquet", "repeated_row", 3, "1 rows"), ("b.parquet", "repeated_row", 1, "1 rows")]


@pytest.mark.parametrize(
    "changes",
    [
        {"carbon_model_version": 13},
        {"project": {"number": "000123456789", "id": None}},
        {"carbon_footprint_kgCO2e": {**EMISSION["carbon_footprint_kgCO2e"], "scope3": 7.250000000000001}},
    ],
)
def test_rows_that_differ_in_anything_are_two(tmp_path: Path, changes: dict[str, Any]) -> None:
    write_partition(tmp_path / "carbon", DAY, emission(), emission(**changes), schema=CARBON)
    result = converted(KIND, tmp_path / "carbon", tmp_path / "landing")
    assert (result.rows, result.refusals) == (2, ())


def test_a_row_of_another_month_is_refused_because_its_own_month_has_it_too(tmp_path: Path) -> None:
    write_partition(tmp_path / "carbon", DAY, emission(), emission(usage_month=dt.date(2026, 5, 1)), schema=CARBON)
    with pytest.raises(ExportContentError) as refused:
        converted(KIND, tmp_path / "carbon", tmp_path / "landing")
    assert (refused.value.reason, refused.value.row_number) == ("contradicts_partition", 2)


def test_the_export_before_july_2022_is_known_by_its_missing_columns(tmp_path: Path) -> None:
    old = CARBON.remove(CARBON.get_field_index("usage_month")).append(pa.field("month", pa.date32()))
    write_partition(tmp_path / "carbon", DAY, emission(), schema=old)
    with pytest.raises(ExportSchemaError, match="missing columns usage_month"):
        converted(KIND, tmp_path / "carbon", tmp_path / "landing")


def test_a_folder_is_a_month_and_named_by_its_first_day(tmp_path: Path) -> None:
    write_partition(tmp_path / "carbon", "2026-04-01", emission(), schema=CARBON)
    write_partition(tmp_path / "carbon", "2026-05-01", schema=CARBON)
    assert [one.partition for one in found(KIND, tmp_path / "carbon") if isinstance(one, Delivery)] == ["2026-04", "2026-05"]
    write_partition(tmp_path / "other", "2026-04-15", emission(), schema=CARBON)
    assert only_refusal(KIND, tmp_path / "other").reason == "bad_partition"


def test_an_empty_month_is_legal(tmp_path: Path) -> None:
    write_partition(tmp_path / "carbon", DAY, schema=CARBON)
    result = converted(KIND, tmp_path / "carbon", tmp_path / "landing")
    assert (result.rows, result.parts, result.refusals) == (0, (), ())
