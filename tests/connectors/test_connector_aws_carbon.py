"""Carbon exports of every age arrive in one shape: two folder names, old columns, empty months, one unit."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.aws.carbon import SCHEMA
from connectors.deliveries import Delivery
from connectors.errors import ConnectorError, ExportContentError, ExportSchemaError
from connectors.formats import parquet
from tests.connectors.kit import (
    CARBON,
    MONTH,
    converted,
    found,
    only_delivery,
    only_refusal,
    rows_of,
    table,
    write_bytes,
    write_csv,
    write_manifest,
    write_parquet,
)


def export(folder: Path, data: pa.Table | str | bytes, partition: str = "model_version=v3.0.0/usage_period=2026-04") -> Path:
    """One month of an OVERWRITE carbon export: a table as Parquet, text as csv.gz, bytes as they are."""
    name = "carbon-00001.csv.gz" if isinstance(data, str) else "carbon-00001.snappy.parquet"
    path = folder / "data" / partition / name
    if isinstance(data, str):
        write_csv(path, data)
    elif isinstance(data, bytes):
        write_bytes(path, data)
    else:
        write_parquet(path, data)
    write_manifest(folder / "metadata" / partition / "carbon-Manifest.json", [f"s3://b/p/carbon/data/{partition}/{name}"])
    return folder


def without(*names: str, **more: Any) -> dict[str, Any]:
    return {name: value for name, value in CARBON.items() if name not in names} | more


@pytest.mark.parametrize("level", ["model_version", "carbon_model_version"])
def test_both_spellings_of_the_folder_are_the_same_partition(tmp_path: Path, level: str) -> None:
    folder = export(tmp_path / "carbon", table(CARBON), f"{level}=v3.0.0/usage_period=2026-04")
    assert only_delivery("aws_carbon", folder).partition == "2026-04@v3.0.0"


def test_each_month_and_model_version_is_its_own_partition(tmp_path: Path) -> None:
    folder = export(tmp_path / "carbon", table(CARBON))
    export(folder, table(CARBON), "model_version=v3.0.1/usage_period=2026-04")
    export(folder, table(CARBON), "model_version=v3.0.0/usage_period=2026-03")
    partitions = [one.partition for one in found("aws_carbon", folder)]
    assert partitions == ["2026-03@v3.0.0", "2026-04@v3.0.0", "2026-04@v3.0.1"]


def test_executions_of_a_create_new_export_are_deliveries(tmp_path: Path) -> None:
    names = ["2026-05-16T01:02:03.004Z-6b622448-daaa-439c-92f1-afc727f1e0a3", "2026-06-16T01:02:03.004Z-6b622448-daaa"]
    partition = "model_version=v3.0.0/usage_period=2026-04"
    for name in names:
        key = f"data/{partition}/{name}/carbon-00001.snappy.parquet"
        write_parquet(tmp_path / "carbon" / key, table(CARBON))
        write_manifest(tmp_path / "carbon/metadata" / partition / name / "carbon-Manifest.json", [key])
    deliveries = found("aws_carbon", tmp_path / "carbon")
    assert [one.delivery_id for one in deliveries if isinstance(one, Delivery)] == names


@pytest.mark.parametrize("partition", ["model_version=v3.0.0/usage_period=2026-13", "model_version=v 3/usage_period=2026-04"])
def test_a_folder_that_is_no_month_of_a_version_is_refused(tmp_path: Path, partition: str) -> None:
    folder = export(tmp_path / "carbon", table(CARBON), partition)
    assert only_refusal("aws_carbon", folder).reason == "bad_partition"


def test_a_file_in_the_declared_shape_is_read_as_landed(tmp_path: Path) -> None:
    folder = export(tmp_path / "carbon", table(CARBON))
    result = converted("aws_carbon", folder, tmp_path / "landing")
    (part,) = result.parts
    assert part.path.read_bytes() == (folder / part.source_object).read_bytes()
    assert rows_of(result)[0]["total_lbm_emissions_value"] == 1.284


def test_the_folder_gives_the_model_version_that_the_columns_lack(tmp_path: Path) -> None:
    folder = export(tmp_path / "carbon", table(without("model_version", "region_code")))
    result = converted("aws_carbon", folder, tmp_path / "landing")
    assert rows_of(result)[0]["model_version"] == "v3.0.0"
    assert result.parts[0].path.name.endswith(".parquet.parquet")  # a copy beside the landed original


def test_the_older_names_of_the_period_get_the_declared_ones(tmp_path: Path) -> None:
    row = without("usage_period_start", "usage_period_end", usage_period_start_date=MONTH, carbon_model_version="v3.0.0")
    row.pop("model_version")
    result = converted("aws_carbon", export(tmp_path / "carbon", table(row)), tmp_path / "landing")
    read = rows_of(result)[0]
    assert (read["usage_period_start"], read["model_version"]) == (MONTH, "v3.0.0")
    assert result.unknown_columns == ()


def test_a_file_that_would_fill_the_memory_is_refused_before_any_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export(tmp_path / "carbon", table(without("model_version")))
    monkeypatch.setattr(parquet, "MAX_BYTES", 10)
    with pytest.raises(ExportContentError, match=r"bytes when decompressed; the limit is 10") as caught:
        converted("aws_carbon", folder, tmp_path / "landing")
    assert caught.value.reason == "too_large"
    assert not list((tmp_path / "landing").rglob("*.parquet.parquet"))


def test_csv_keeps_the_digits_and_reads_the_documented_time(tmp_path: Path) -> None:
    text = (
        "payer_account_id,usage_account_id,usage_period_start,model_version,product_code,region_code,"
        "total_lbm_emissions_value,total_mbm_emissions_value,last_refresh_timestamp\n"
        "000000000017,012345678901,2026-04-01 00:00:00Z,v3.0.0,AmazonEC2,,0.000001,,2026-05-16 01:02:03Z\n"
    )
    (read,) = rows_of(converted("aws_carbon", export(tmp_path / "carbon", text), tmp_path / "landing"))
    assert read["payer_account_id"] == "000000000017"
    assert read["usage_period_start"] == MONTH
    assert (read["total_lbm_emissions_value"], read["total_mbm_emissions_value"]) == ("0.000001", None)
    assert (read["region_code"], read["last_refresh_timestamp"]) == (None, dt.datetime(2026, 5, 16, 1, 2, 3))


@pytest.mark.parametrize(
    "data",
    [
        pa.table({}),
        pa.table({"anything": pa.array([], pa.string())}),
        table(CARBON).slice(0, 0),
        b"",
        "",
        "payer_account_id\n",
    ],
    ids=["no columns", "other columns", "no rows", "no bytes", "empty gzip", "header only"],
)
def test_a_month_without_data_is_a_delivery_of_no_rows(tmp_path: Path, data: Any) -> None:
    result = converted("aws_carbon", export(tmp_path / "carbon", data), tmp_path / "landing")
    assert (result.rows, result.parts) == (0, ())


@pytest.mark.parametrize(
    ("row", "error", "reason", "column"),
    [
        (without("usage_account_id"), ExportSchemaError, "missing_column", "usage_account_id"),
        (without("total_lbm_emissions_value", "total_lbm_emissions_unit"), ExportSchemaError, "missing_column", None),
        (CARBON | {"total_lbm_emissions_unit": "kgCO2e"}, ExportContentError, "wrong_unit", "total_lbm_emissions_unit"),
        (CARBON | {"model_version": "v2.0.0"}, ExportContentError, "contradicts_partition", "model_version"),
        (
            CARBON | {"usage_period_start": dt.datetime(2026, 5, 1)},
            ExportContentError,
            "contradicts_partition",
            "usage_period_start",
        ),
        (CARBON | {"total_lbm_emissions_value": float("nan")}, ExportContentError, "wrong_type", "total_lbm_emissions_value"),
        (CARBON | {"payer_account_id": None}, ExportContentError, "missing_value", "payer_account_id"),
    ],
)
def test_what_would_be_counted_wrongly_is_refused(
    tmp_path: Path, row: dict[str, Any], error: type[ConnectorError], reason: str, column: str | None
) -> None:
    data = table(row, types={"payer_account_id": pa.string()})
    with pytest.raises(error) as caught:
        converted("aws_carbon", export(tmp_path / "carbon", data), tmp_path / "landing")
    assert caught.value.reason == reason
    assert column is None or caught.value.column_name == column


def test_a_version_without_its_letter_is_the_same_version(tmp_path: Path) -> None:
    folder = export(tmp_path / "carbon", table(CARBON | {"model_version": "3.0.0"}))
    assert converted("aws_carbon", folder, tmp_path / "landing").rows == 1


def test_negative_values_are_handed_on_for_sql_to_quarantine(tmp_path: Path) -> None:
    folder = export(tmp_path / "carbon", table(CARBON | {"total_lbm_emissions_value": -0.5}))
    assert rows_of(converted("aws_carbon", folder, tmp_path / "landing"))[0]["total_lbm_emissions_value"] == -0.5


def test_values_are_doubles_or_text_and_never_lose_digits(tmp_path: Path) -> None:
    data = table(CARBON).set_column(8 - 1, "total_lbm_emissions_value", pa.array(["1.284000000000000000001"]))
    assert data.schema.names == list(CARBON)
    folder = export(tmp_path / "carbon", data)
    assert (
        rows_of(converted("aws_carbon", folder, tmp_path / "landing"))[0]["total_lbm_emissions_value"]
        == "1.284000000000000000001"
    )


def test_the_declared_columns_are_those_of_the_export() -> None:
    """All 23 columns of AWS's table, by the names its dictionary gives them, and the number and period of a report's row."""
    masses = [column.name for column in SCHEMA if column.name.startswith("total_")]
    assert len({*SCHEMA.names} - {"line_number", "period_start", "period_end"}) == 23 and len(masses) == 14


def test_times_of_a_copy_stay_what_they_were(tmp_path: Path) -> None:
    folder = export(tmp_path / "carbon", table(without("model_version")))
    path = converted("aws_carbon", folder, tmp_path / "landing").parts[0].path
    assert pa.types.is_timestamp(pq.read_schema(path).field("usage_period_start").type)
