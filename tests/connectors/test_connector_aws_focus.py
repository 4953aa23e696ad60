"""AWS's FOCUS exports: the columns of both versions, the real sample with the total of each column, and what is refused."""

from __future__ import annotations

import csv
import io
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.aws.focus import SCHEMA
from connectors.deliveries import Delivery
from connectors.errors import ConnectorError, ExportContentError, ExportSchemaError
from tests.connectors.aws_focus import SCHEMAS, focus_row, hours_of, write_focus
from tests.connectors.kit import MONTH, converted, found, rows_of, write_csv, write_manifest
from tests.shared import SHARED, SHARED_REASON

SAMPLE = "samples/aws/focus-1.0__FOCUS-Sample-Data__focus_sample.csv"
KEY = "data/BILLING_PERIOD=2024-09/focus-00001.csv.gz"


@pytest.mark.parametrize(("version", "columns"), [("1.0", 48), ("1.2", 60)])
def test_an_export_of_each_version_is_read_as_it_is_and_none_of_its_columns_is_unknown(
    version: str, columns: int, tmp_path: Path
) -> None:
    path = write_focus(tmp_path / "source", focus_row(version), version=version)
    assert len(SCHEMAS[version].names) == columns
    result = converted("aws_focus", tmp_path / "source", tmp_path / "landing")
    assert (result.rows, result.unknown_columns) == (1, ())
    assert [part.path.name for part in result.parts] == [str(path.relative_to(tmp_path / "source")).replace("/", "~")]
    [row] = rows_of(result)
    assert (row["BilledCost"], row["Tags"]) == (21.5, {"training_run_id": "run-a"})


@pytest.mark.parametrize("spell", [str.lower, str.upper])
def test_names_in_another_case_are_the_same_names(spell: Any, tmp_path: Path) -> None:
    schema = SCHEMAS["1.2"]
    spelled = pa.schema([pa.field(spell(one.name), one.type) for one in schema])
    row = {spell(name): value for name, value in focus_row("1.2").items()}
    write_focus(tmp_path / "source", row, schema=spelled)
    result = converted("aws_focus", tmp_path / "source", tmp_path / "landing")
    [read] = rows_of(result)
    assert (result.unknown_columns == ()) is (spell is str.lower), "upper case is no export of AWS's"
    assert {name: read[name] for name in ("BilledCost", "SkuMeter", "ChargePeriodStart", "Tags")} == {
        "BilledCost": 21.5,
        "SkuMeter": "BoxUsage:trn1.32xlarge",
        "ChargePeriodStart": MONTH,
        "Tags": {"training_run_id": "run-a"},
    }


def aws_part_of_the_sample() -> tuple[list[str], list[dict[str, str]]]:
    """The rows of AWS in the file of several providers; a bare NULL is how its publisher writes that nothing is there."""
    assert SHARED
    with (SHARED / SAMPLE).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kept = [
        {name: "" if value == "NULL" else value for name, value in row.items()} for row in rows if row["ProviderName"] == "AWS"
    ]
    return list(rows[0]), kept


def deliver_csv(folder: Path, text: str) -> None:
    write_csv(folder / KEY, text)
    write_manifest(folder / "metadata/BILLING_PERIOD=2024-09/focus-Manifest.json", [KEY])


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_the_real_sample_loads_with_the_exact_total_of_each_column(tmp_path: Path) -> None:
    header, rows = aws_part_of_the_sample()
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, header)
    writer.writeheader()
    writer.writerows(rows)
    deliver_csv(tmp_path / "source", text.getvalue())
    result = converted("aws_focus", tmp_path / "source", tmp_path / "landing")
    assert (result.rows, result.unknown_columns) == (942, ("Id",))
    read = rows_of(result)
    declared = [column for column in SCHEMA if column.name in header]
    assert len(declared) == 27
    for column in declared:
        given = [row[column.name] for row in rows if row[column.name]]
        landed = [row[column.name] for row in read if row[column.name] not in (None, {})]
        if column.type == "Number":
            assert sum(map(Decimal, landed)) == sum(map(Decimal, given)), column.name
        elif column.type == "Text":
            assert landed == given, column.name
        assert len(landed) == len([one for one in given if one != "{}"]), column.name
    assert sum(Decimal(row["BilledCost"]) for row in read) == Decimal("18.0066386184")


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_a_file_of_several_providers_is_refused_by_its_first_row_of_another(tmp_path: Path) -> None:
    assert SHARED
    text = (SHARED / SAMPLE).read_text(encoding="utf-8").replace(",NULL", ",").replace("\nNULL,", "\n,")
    deliver_csv(tmp_path / "source", text)
    with pytest.raises(ExportContentError) as caught:
        converted("aws_focus", tmp_path / "source", tmp_path / "landing")
    error = caught.value
    assert (error.reason, error.column_name, error.value) == ("wrong_value", "ProviderName", "Oracle")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert error.row_number == next(number for number, row in enumerate(rows, 1) if row["ProviderName"] != "AWS")


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"BilledCost": math.nan}, "BilledCost", "wrong_type"),
    ({"EffectiveCost": 1e13}, "EffectiveCost", "wrong_type"),
    ({"ChargeCategory": None}, "ChargeCategory", "missing_value"),
    ({"BillingCurrency": ""}, "BillingCurrency", "missing_value"),
    ({"ProviderName": "Oracle"}, "ProviderName", "wrong_value"),
    (hours_of("2026-05-01T00:00"), "BillingPeriodStart", "contradicts_partition"),
    ({"ChargePeriodEnd": hours_of("9999-01-01")["ChargePeriodEnd"]}, "ChargePeriodEnd", "wrong_type"),
]


@pytest.mark.parametrize(("changes", "column", "reason"), BAD)
def test_a_wrong_row_is_refused_by_its_column(changes: dict[str, Any], column: str, reason: str, tmp_path: Path) -> None:
    write_focus(tmp_path / "source", focus_row(), focus_row(**changes))
    with pytest.raises(ConnectorError) as caught:
        converted("aws_focus", tmp_path / "source", tmp_path / "landing")
    assert (caught.value.column_name, caught.value.reason, caught.value.row_number) == (column, reason, 2)


def test_a_missing_column_is_named_as_focus_names_it(tmp_path: Path) -> None:
    schema = pa.schema([one for one in SCHEMAS["1.0"] if one.name != "EffectiveCost"])
    row = {name: value for name, value in focus_row().items() if name != "EffectiveCost"}
    write_focus(tmp_path / "source", row, schema=schema)
    with pytest.raises(ExportSchemaError, match=r"missing columns EffectiveCost\.") as caught:
        converted("aws_focus", tmp_path / "source", tmp_path / "landing")
    assert caught.value.remedy == "Add EffectiveCost to the export. See docs/sources/aws_focus.md."


def test_every_execution_of_a_month_is_found_in_the_folders_of_data_exports(tmp_path: Path) -> None:
    for execution in ("2026-04-02T13:14:43.337Z-6b622448", "2026-05-02T22:56:48.277Z-11111111"):
        key = f"data/billing_period=2026-04/{execution}/focus-00001.snappy.parquet"
        write_csv(tmp_path / key, "x")
        write_manifest(tmp_path / f"metadata/billing_period=2026-04/{execution}/focus-Manifest.json", [key])
    deliveries = found("aws_focus", tmp_path)
    assert [type(one) for one in deliveries] == [Delivery, Delivery]
    assert {one.partition for one in deliveries} == {"2026-04"}
