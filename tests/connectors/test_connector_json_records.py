"""JSON lines of EXPORT DATA become the same rows as its Parquet: equal types, equal nulls, equal decimals."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connectors.deliveries import Converted
from connectors.errors import ConnectorError, ExportContentError, ExportSchemaError
from connectors.formats.json_records import _without_nulls
from connectors.formats.values import Rows
from tests.connectors.gcp import CARBON, DAY, EMISSION, as_exported, line, write_lines, write_partition
from tests.connectors.kit import converted, found, rows_of, write_bytes

KIND = "gcp_billing"
JSON_LINE = '{"billing_account_id":"A","usage_start_time":"2026-04-01","usage_end_time":"2026-04-02","cost":1,"currency":"USD"}'


def write_text(location: Path, text: str | bytes) -> Path:
    content = text.encode() if isinstance(text, str) else text
    return write_bytes(location / f"_PARTITIONTIME={DAY}" / "part.json", content)


def values_of(result: Converted) -> list[dict[str, Any]]:
    """Rows without their nulls: a column that no row has may lack or be null in all."""
    return [{name: value for name, value in row.items() if value not in (None, {})} for row in rows_of(result)]


ROWS = (
    line(
        cost=0.1 + 0.2,
        cost_at_effective_price_default=Decimal("1234567890.123456789"),
        export_time=dt.datetime(2026, 4, 1, 11, 0, 0, 500, tzinfo=dt.UTC),
        labels=[{"key": "team", "value": 'Zürich "a"\n'}, {"key": "training_run_id", "value": "run-a"}],
    ),
    line(
        cost=-1e-7,
        credits=[],
        labels=[],
        system_labels=[],
        tags=[],
        resource=None,
        cost_at_effective_price_default=Decimal("2.5"),
    ),
    line(project={"id": None, "number": ""}, location=None, invoice=None, cost=3.0),
)


@pytest.mark.parametrize("name", ["part-000000000000.json", "part-0.jsonl", "part-0.ndjson.gz"])
def test_a_bill_has_the_same_rows_as_json_lines_and_as_parquet(tmp_path: Path, name: str) -> None:
    write_partition(tmp_path / "parquet", DAY, *ROWS)
    write_lines(tmp_path / "json", DAY, *ROWS, name=name)
    parquet = converted(KIND, tmp_path / "parquet", tmp_path / "a")
    lines = converted(KIND, tmp_path / "json", tmp_path / "b")
    assert values_of(lines) == values_of(parquet) and lines.rows == parquet.rows == 5
    assert not [path for path in (tmp_path / "b").iterdir() if path.name.startswith(".")]  # nothing is left beside the copy


def test_rows_behind_a_megabyte_of_blank_lines_are_read(tmp_path: Path) -> None:
    write_text(tmp_path, "\n" * ((1 << 20) + 1) + JSON_LINE + "\n")
    assert converted(KIND, tmp_path, tmp_path / "copy").rows == 1


def test_emissions_have_the_same_rows_as_json_lines_and_as_parquet(tmp_path: Path) -> None:
    old = {
        **EMISSION,
        "carbon_footprint_kgCO2e": {"scope1": 1.5, "scope2": {"location_based": 2.0, "market_based": None}, "scope3": 0.0},
    }
    rows = (EMISSION, {**old, "project": {"number": "", "id": None}})
    write_partition(tmp_path / "parquet", DAY, *rows, schema=CARBON)
    write_lines(tmp_path / "json", DAY, *rows)
    parquet, lines = (converted("gcp_carbon", tmp_path / name, tmp_path / f"{name}-landed") for name in ("parquet", "json"))
    assert values_of(lines) == values_of(parquet)
    assert values_of(lines)[1]["project_number"] == ""


def test_a_numeric_is_the_same_decimal_as_text_and_as_number(tmp_path: Path) -> None:
    of = '"cost_at_effective_price_default":'
    write_text(tmp_path / "bill", f'{JSON_LINE[:-1]},{of}"1.10"}}\n{JSON_LINE[:-1]},{of}1.1}}\n')
    rows = values_of(converted(KIND, tmp_path / "bill", tmp_path / "landed"))
    assert {str(row["cost_at_effective_price_default"]) for row in rows} == {"1.100000000"}


def test_a_cost_that_the_table_has_as_numeric_stays_exact(tmp_path: Path) -> None:
    """Of Google's two pages one has `cost` as FLOAT64, the other as NUMERIC."""
    costs = [Decimal("0.046868"), Decimal("-0.000000001"), Decimal("3")]
    write_lines(tmp_path / "bill", DAY, *(line(cost=cost, credits=[]) for cost in costs))
    rows = rows_of(converted(KIND, tmp_path / "bill", tmp_path / "landed"))
    assert [row["cost"] for row in rows] == costs and all(isinstance(row["cost"], Decimal) for row in rows)


def test_a_column_that_no_row_has_is_as_a_column_that_the_table_lacks(tmp_path: Path) -> None:
    """A standard export names no resource; were the column there, it would be taken for the detailed one."""
    standard = line()
    standard.pop("resource")
    write_lines(tmp_path / "bill", DAY, standard)
    [row, *_] = rows_of(converted(KIND, tmp_path / "bill", tmp_path / "landed"))
    assert "resource_name" not in row and "sku_description" in row


def test_an_undeclared_field_is_reported(tmp_path: Path) -> None:
    write_lines(tmp_path / "bill", DAY, line(sustainability={"grams": 1.5}, price={"new_price": 1.0}))
    assert converted(KIND, tmp_path / "bill", tmp_path / "landed").unknown_columns == ("sustainability.grams",)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_rows_is_legal(tmp_path: Path, text: str) -> None:
    write_text(tmp_path / "bill", text)
    assert converted(KIND, tmp_path / "bill", tmp_path / "landed").rows == 0


@pytest.mark.parametrize(
    ("text", "reason", "column", "row"),
    [
        (JSON_LINE + "\n" + JSON_LINE.replace('"cost":1', '"cost":"NaN"'), "wrong_type", "cost", 2),
        (JSON_LINE.replace('"cost":1', '"cost":"NaN"'), "wrong_type", None, 1),
        (f"{JSON_LINE}\n{JSON_LINE.replace('2026-04-02', 'soon')}", "wrong_type", "usage_end_time", 2),
        (f"{JSON_LINE}\n{JSON_LINE.replace(chr(34) + 'USD' + chr(34), 'null')}", "missing_value", "currency", 2),
        (JSON_LINE[:-1] + ',"service":"Compute"}', "wrong_type", "service", 1),
        (JSON_LINE[:-1] + ',"cost_at_effective_price_default":"1.0000000001"}', "wrong_type", None, 1),
        (JSON_LINE[:-1] + ',"cost":2}', "bad_json", None, 1),
        (f"{JSON_LINE}\n{JSON_LINE[:40]}", "bad_json", None, 1),
        ("[1, 2]", "wrong_type", "the row", 1),
        (JSON_LINE.encode().replace(b"USD", b"\xff\xff"), "bad_encoding", "currency", 1),
    ],
)
def test_what_is_wrong_is_refused_with_its_column_and_row(
    tmp_path: Path, text: str | bytes, reason: str, column: str | None, row: int
) -> None:
    write_text(tmp_path / "bill", text)
    with pytest.raises(ExportContentError) as caught:
        converted(KIND, tmp_path / "bill", tmp_path / "landed")
    error: ConnectorError = caught.value
    assert (error.reason, error.column_name, error.row_number) == (reason, column, row)
    assert str(tmp_path) not in error.message.replace(str(tmp_path / "bill"), "")


def test_another_kind_of_file_is_recognised(tmp_path: Path) -> None:
    write_text(tmp_path / "bill", json.dumps(as_exported(EMISSION)))
    with pytest.raises(ExportSchemaError, match=r"missing columns usage_start_time.*looks like a gcp_carbon"):
        converted(KIND, tmp_path / "bill", tmp_path / "landed")


def test_beside_parquet_json_lines_are_not_read_twice(tmp_path: Path) -> None:
    write_partition(tmp_path / "bill", DAY, line())
    write_lines(tmp_path / "bill", DAY, line())
    [delivery] = found(KIND, tmp_path / "bill")
    assert [info.key.rpartition(".")[2] for info in delivery.objects] == ["parquet"]  # type: ignore[union-attr]


def test_a_file_of_many_blocks_keeps_its_rows_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.formats.json_records._BLOCK", 4096)
    monkeypatch.setattr("connectors.formats.json_records._HEAD", 2000)
    write_lines(tmp_path / "bill", DAY, *(line(cost=float(n), credits=[]) for n in range(40)))
    rows = rows_of(converted(KIND, tmp_path / "bill", tmp_path / "landed"))
    assert [(row["line_number"], row["cost"]) for row in rows] == [(n + 1, float(n)) for n in range(40)]


def test_a_packed_file_that_is_cut_off_is_reported_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the cut is met in the middle of the reading, in a call from Arrow."""
    monkeypatch.setattr("connectors.formats.json_records._HEAD", 1000)
    path = write_lines(tmp_path / "bill", DAY, *[line(cost=float(n)) for n in range(1000)], name="part.json.gz")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ExportContentError) as caught:
        converted(KIND, tmp_path / "bill", tmp_path / "landed")
    assert caught.value.reason == "truncated"


@pytest.mark.parametrize(
    "text",
    ["null", "\ufeffnull\n", "\n \r\n\tnull\n" + JSON_LINE, JSON_LINE + "\n" + " " * 300_000 + "null\n", JSON_LINE + "\r\nnull"],
)
def test_a_line_that_is_null_is_refused(tmp_path: Path, text: str) -> None:
    write_text(tmp_path / "json", text)  # Arrow ends the process where it is the first, and takes it for a row elsewhere
    with pytest.raises(ExportContentError, match="has a line that is no JSON object, in row 1 or after it") as refused:
        converted(KIND, tmp_path / "json", tmp_path / "a")
    assert refused.value.reason == "bad_json"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_null_that_has_a_line_of_its_own_inside_a_row_is_a_value(tmp_path: Path, ending: str) -> None:
    text = f'{{"labels":[{ending}  null,{ending} null{ending} ],"sku":{ending}null,{JSON_LINE[1:]}'
    write_text(tmp_path / "json", text)
    assert converted(KIND, tmp_path / "json", tmp_path / "a").rows == 1
    whole, rows = f"{text}{ending}".encode(), Rows("key", "uri")
    for cut in range(len(whole)):  # wherever a piece ends
        assert b"".join(_without_nulls([whole[:cut], whole[cut:]], rows)) == whole
        with pytest.raises(ExportContentError):
            [*_without_nulls([whole[:cut], whole[cut:] + b"null"], rows)]


def test_a_field_that_is_null_at_the_beginning_of_a_piece_is_no_such_line(tmp_path: Path) -> None:
    until = (1 << 18) - len('{"labels":[],"sku":')
    write_text(tmp_path / "json", " " * until + '{"labels":[],"sku":null,' + JSON_LINE[1:])
    assert converted(KIND, tmp_path / "json", tmp_path / "a").rows == 1
