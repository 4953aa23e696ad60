"""A bill arrives with every digit and every id as delivered, or is refused with object, row, column and value."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from connectors.errors import ExportContentError, ExportSchemaError
from tests.connectors.bills import CSV_HEADER, DATA, META, csv_export, csv_line, overwrite
from tests.connectors.kit import LINE, converted, rows_of, table, write_csv, write_manifest, write_parquet


def test_a_providers_parquet_is_read_as_it_was_landed(tmp_path: Path) -> None:
    result = converted("aws_cur", overwrite(tmp_path / "cur"), tmp_path / "landing")
    (part,) = result.parts
    assert part.path.read_bytes() == (tmp_path / "cur" / part.source_object).read_bytes()
    assert (result.rows, result.unknown_columns, result.refusals) == (1, (), ())


def test_csv_values_stay_as_written_and_times_become_utc(tmp_path: Path) -> None:
    line = csv_line(start="2026-04-01T02:30:00+02:00", product='{"product_name": "A", "n": 1.50, "x": null}', tags="")
    result = converted("aws_cur", csv_export(tmp_path / "cur", line, csv_line("21.5")), tmp_path / "landing")
    first, second = rows_of(result)
    assert (first["line_item_unblended_cost"], second["line_item_unblended_cost"]) == ("1.81E-8", "21.5")
    assert first["bill_payer_account_id"] == "000000000017"
    assert first["line_item_usage_amount"] is None
    assert first["line_item_usage_start_date"] == dt.datetime(2026, 4, 1, 0, 30)
    assert first["product"] == {"product_name": "A", "n": "1.50", "x": None}
    assert first["resource_tags"] == {}
    assert first["line_item_line_item_description"] == 'A "b", c'
    assert result.rows == 2


def test_column_order_does_not_matter_and_unknown_columns_are_counted(tmp_path: Path) -> None:
    line = {"brand_new": "x", **dict(reversed(LINE.items())), "line_item_blended_cost": 1.0}
    result = converted("aws_cur", overwrite(tmp_path / "cur", line), tmp_path / "landing")
    assert result.unknown_columns == ("brand_new",)


@pytest.mark.parametrize("name", ["line_item_unblended_cost", "bill_payer_account_id"])
def test_a_missing_required_column_is_named_with_its_file(tmp_path: Path, name: str) -> None:
    line = {key: value for key, value in LINE.items() if key not in {name, "line_item_line_item_type"}}
    with pytest.raises(ExportSchemaError, match=r"cur-00001\.snappy\.parquet is missing columns .*" + name) as caught:
        converted("aws_cur", overwrite(tmp_path / "cur", line), tmp_path / "landing")
    assert "line_item_line_item_type" in str(caught.value)


def test_missing_optional_columns_are_no_fault(tmp_path: Path) -> None:
    line = {k: v for k, v in LINE.items() if k not in {"resource_tags", "product", "line_item_usage_amount"}}
    assert converted("aws_cur", overwrite(tmp_path / "cur", line), tmp_path / "landing").rows == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("line_item_unblended_cost", pa.array([21.5], pa.float32())),
        ("bill_payer_account_id", pa.array([17], pa.int64())),
        ("line_item_usage_start_date", pa.array(["2026-04-01"])),
        ("resource_tags", pa.array(["{}"])),
    ],
)
def test_a_column_of_another_type_is_refused(tmp_path: Path, name: str, values: pa.Array) -> None:
    folder = overwrite(tmp_path / "cur")
    data = table(LINE)
    data = data.set_column(data.schema.get_field_index(name), name, values)
    write_parquet(folder / DATA / "cur-00001.snappy.parquet", data)
    with pytest.raises(ExportSchemaError) as caught:
        converted("aws_cur", folder, tmp_path / "landing")
    assert (caught.value.reason, caught.value.column_name) == ("wrong_type", name)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("line_item_unblended_cost", float("nan"), "wrong_type"),
        ("line_item_unblended_cost", float("inf"), "wrong_type"),
        ("line_item_unblended_cost", 1e12, "wrong_type"),
        ("line_item_unblended_cost", None, "missing_value"),
        ("line_item_currency_code", None, "missing_value"),
        ("line_item_currency_code", "", "missing_value"),
        ("line_item_usage_account_id", "", "missing_value"),
        ("bill_billing_period_start_date", dt.datetime(2026, 3, 1), "contradicts_partition"),
        ("line_item_usage_start_date", dt.datetime(1970, 1, 1), "wrong_type"),
        ("line_item_usage_start_date", dt.datetime(9999, 12, 31), "wrong_type"),
    ],
)
def test_a_value_that_cannot_be_counted_is_refused_with_row_and_column(
    tmp_path: Path, name: str, value: object, reason: str
) -> None:
    folder = overwrite(tmp_path / "cur", LINE, LINE | {name: value}, LINE)
    with pytest.raises(ExportContentError) as caught:
        converted("aws_cur", folder, tmp_path / "landing")
    error = caught.value
    assert (error.reason, error.row_number, error.column_name) == (reason, 2, name)
    assert error.source_object == f"{DATA}/cur-00001.snappy.parquet"


def test_a_cost_that_is_an_empty_text_in_parquet_is_no_cost(tmp_path: Path) -> None:
    folder = overwrite(tmp_path / "cur")
    data = table(*[LINE | {"line_item_unblended_cost": cost} for cost in ("21.5", "")])
    write_parquet(folder / DATA / "cur-00001.snappy.parquet", data)
    with pytest.raises(ExportContentError, match="row 2: line_item_unblended_cost is nothing") as caught:
        converted("aws_cur", folder, tmp_path / "landing")
    assert caught.value.reason == "missing_value"


@pytest.mark.parametrize("cost", ["abc", "1,000.5", "1_000", " 1", "NaN", "0x10", "1e9999", "--1", "1E", ""])
def test_a_cost_that_is_no_number_is_refused_with_its_text(tmp_path: Path, cost: str) -> None:
    folder = csv_export(tmp_path / "cur", csv_line(), csv_line(f'"{cost}"'))
    with pytest.raises(ExportContentError) as caught:
        converted("aws_cur", folder, tmp_path / "landing")
    assert (caught.value.row_number, caught.value.column_name) == (2, "line_item_unblended_cost")
    assert caught.value.value == (cost or None)


@pytest.mark.parametrize("cost", ["0", "-0.00", "+1.5", ".5", "5.", "1e-400", "-1.81E-8", "999999999999.99"])
def test_every_spelling_of_a_number_is_kept(tmp_path: Path, cost: str) -> None:
    result = converted("aws_cur", csv_export(tmp_path / "cur", csv_line(cost)), tmp_path / "landing")
    assert rows_of(result)[0]["line_item_unblended_cost"] == cost


@pytest.mark.parametrize(
    ("field", "text"), [("start", "yesterday"), ("start", "2026-04-31T00:00:00Z"), ("tags", "{"), ("tags", "[]")]
)
def test_a_time_or_map_that_is_none_is_refused(tmp_path: Path, field: str, text: str) -> None:
    with pytest.raises(ExportContentError) as caught:
        converted("aws_cur", csv_export(tmp_path / "cur", csv_line(**{field: text})), tmp_path / "landing")
    assert (caught.value.reason, caught.value.value, caught.value.row_number) == ("wrong_type", text, 1)


@pytest.mark.parametrize("keep", [0, 40, -1])
def test_a_parquet_file_that_is_cut_off_is_refused(tmp_path: Path, keep: int) -> None:
    folder = overwrite(tmp_path / "cur")
    path = folder / DATA / "cur-00001.snappy.parquet"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ExportContentError, match="cut off") as caught:
        converted("aws_cur", folder, tmp_path / "landing")
    assert caught.value.reason == "truncated"
    assert str(tmp_path) not in str(caught.value)


def test_an_empty_chunk_beside_a_full_one_adds_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cur"
    write_csv(folder / DATA / "cur-00001.csv.gz", CSV_HEADER + "\n" + csv_line() + "\n")
    write_csv(folder / DATA / "cur-00002.csv.gz", "")
    write_csv(folder / DATA / "cur-00003.csv.gz", CSV_HEADER + "\n")
    write_parquet(folder / DATA / "cur-00004.snappy.parquet", pa.table({"other": pa.array([], pa.string())}))
    names = ["cur-00001.csv.gz", "cur-00002.csv.gz", "cur-00003.csv.gz", "cur-00004.snappy.parquet"]
    write_manifest(folder / META / "Manifest.json", [f"{DATA}/{name}" for name in names])
    result = converted("aws_cur", folder, tmp_path / "landing")
    assert (result.rows, [part.source_object for part in result.parts]) == (1, [f"{DATA}/cur-00001.csv.gz"])


@pytest.mark.parametrize("names", [["cur-00001.csv.gz"], ["cur-00001.snappy.parquet"], ["cur-00001.csv.gz", "cur-00002.csv.gz"]])
def test_a_bill_of_no_rows_at_all_is_refused_by_name(tmp_path: Path, names: list[str]) -> None:
    folder = tmp_path / "cur"
    for name in names:
        if name.endswith(".parquet"):
            write_parquet(folder / DATA / name, table(LINE).slice(0, 0))
        else:
            write_csv(folder / DATA / name, CSV_HEADER + "\n")
    write_manifest(folder / META / "Manifest.json", [f"{DATA}/{name}" for name in names])
    with pytest.raises(ExportContentError, match=r"the bill of 2026-04 has no rows") as caught:
        converted("aws_cur", folder, tmp_path / "landing")
    assert (caught.value.reason, caught.value.source_object) == ("no_rows", f"{DATA}/{names[0]}")


def test_the_same_file_gives_the_same_bytes_again(tmp_path: Path) -> None:
    folder = csv_export(tmp_path / "cur", *[csv_line(str(n), tags=f'{{"user_x": "{n % 3}"}}') for n in range(500)])
    first, second = (converted("aws_cur", folder, tmp_path / name).parts[0].path for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


def test_rows_keep_their_order(tmp_path: Path) -> None:
    folder = csv_export(tmp_path / "cur", *[csv_line(str(n)) for n in range(1000)])
    rows = rows_of(converted("aws_cur", folder, tmp_path / "landing"))
    assert [row["line_item_unblended_cost"] for row in rows] == [str(n) for n in range(1000)]


def test_a_repeated_column_is_refused(tmp_path: Path) -> None:
    folder = csv_export(tmp_path / "cur", csv_line() + ",1", header=CSV_HEADER + ",line_item_unblended_cost")
    with pytest.raises(ExportSchemaError) as caught:
        converted("aws_cur", folder, tmp_path / "landing")
    assert (caught.value.reason, caught.value.column_name) == ("repeated_column", "line_item_unblended_cost")


def test_a_decimal_of_more_digits_than_an_engine_has_is_refused(tmp_path: Path) -> None:
    """AWS writes none; DuckDB would read a double, and nobody would see the lost digits."""
    location, wide = overwrite(tmp_path / "cur"), {"line_item_unblended_cost": pa.decimal256(76, 38)}
    [path] = location.rglob("*.parquet")
    write_parquet(path, table(LINE | {"line_item_unblended_cost": Decimal("1234567890.123456789")}, types=wide))
    with pytest.raises(ExportSchemaError, match="of more digits than are read exactly") as caught:
        converted("aws_cur", location, tmp_path / "landing")
    assert (caught.value.reason, caught.value.column_name) == ("wrong_type", "line_item_unblended_cost")
