"""Google's FOCUS export arrives in the columns that the detailed export has for them, and what it bills is what it has."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.deliveries import Delivery, Refusal
from connectors.errors import ConnectorError, ExportContentError, ExportSchemaError
from connectors.formats.bigquery_types import arrow_schema
from connectors.gcp import billing_columns
from connectors.gcp.bigquery_sql import INGESTION
from connectors.gcp.focus_columns import LINE_COLUMNS, SCHEMA
from connectors.gcp.tables import FOCUS as READING
from tests.bigquery.described import described
from tests.connectors.focus import FOCUS, focus_line, rest_rows
from tests.connectors.gcp import DAY, line, write_lines, write_partition
from tests.connectors.kit import converted, found, rows_of
from tests.shared import SHARED, SHARED_REASON

KIND = "gcp_focus"
SAMPLES = "samples/gcp/costroid-gcp-focus-bq"

needs_samples = pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)


def landed(tmp_path: Path, *rows: dict[str, Any], schema: pa.Schema = FOCUS) -> list[dict[str, Any]]:
    write_partition(tmp_path / "bill", DAY, *rows, schema=schema)
    return rows_of(converted(KIND, tmp_path / "bill", tmp_path / "landing"))


def of_fixture(name: str) -> list[dict[str, Any]]:
    assert SHARED
    return list(rest_rows(SHARED / SAMPLES / name))


def as_numeric(row: dict[str, Any]) -> dict[str, Any]:
    """A fixture's row with no more decimals than a column NUMERIC holds: its makers wrote 18, which BigQuery cannot."""
    names = [name for name in FOCUS.names if FOCUS.field(name).type == pa.decimal128(38, 9) and row[name] is not None]
    cut = {name: str(Decimal(row[name]).quantize(Decimal("1e-9"))) for name in names}
    return {
        **row,
        **cut,
        "x_Credits": [{**one, "Amount": str(Decimal(one["Amount"]).quantize(Decimal("1e-9")))} for one in row["x_Credits"]],
    }


# --- what a row becomes


def test_a_row_has_the_columns_of_the_detailed_export_and_its_own(tmp_path: Path) -> None:
    one, credit = landed(tmp_path, focus_line(x_SubscriptionInstanceId="S-1", ChargeClass="Correction"))
    absent = {column.name for column in LINE_COLUMNS.values() if one[column.name] is None}
    assert absent == {"consumption_model_id",
                      "consumption_model_description", "cost_at_effective_price_default", "price_list_price",
                      "price_effective_price_default", "price_list_price_consumption_model"}  # fmt: skip
    assert (one["billed_cost"], one["cost_at_list"], one["contracted_cost"]) == (Decimal("8.1"), Decimal("9.6"), Decimal("9.6"))
    assert (one["service_id"], one["sku_description"]) == ("6F81-5844-456A", "TpuV5e running in Americas")
    assert (one["usage_start_time"], one["project_number"]) == (dt.datetime(2026, 4, 1, 6), "000123456789")
    assert (one["labels"], one["tags"]) == ({"training_run_id": "run-a"}, {"example.org/env": "prod"})
    assert (one["project_labels"], one["project_ancestors"]) == ({"team": "a"}, {"folders/2": "Models"})
    assert (one["charge_category"], one["charge_class"], one["invoice_month"]) == ("Usage", "Correction", "202604")
    assert {name: value for name, value in credit.items() if value not in (None, {})} == {
        "part": "credit", "line_number": 1, "billing_account_id": one["billing_account_id"], "currency": "USD",
        "usage_start_time": one["usage_start_time"], "usage_end_time": one["usage_end_time"], "invoice_month": "202604",
        "credit_type": "PROMOTION", "credit_name": "Promotion", "credit_id": "P-1", "credit_amount": Decimal("-1.5"),
    }  # fmt: skip


def test_whatever_the_detailed_export_has_is_a_column_here_but_what_focus_has_in_another_way() -> None:
    otherwise = {"cost", "adjustment_type", "adjustment_mode", "transaction_type"}
    assert set(billing_columns.SCHEMA.names) - set(SCHEMA.names) == otherwise


@pytest.mark.parametrize(
    ("start", "month"), [("2026-04-01T00:00", "202604"), ("2026-04-01T07:00", "202604"), ("2026-01-01T08:00", "202601")]
)
def test_a_billing_period_is_a_month_wherever_its_midnight_is(tmp_path: Path, start: str, month: str) -> None:
    begins = dt.datetime.fromisoformat(start).replace(tzinfo=dt.UTC)
    one, _ = landed(tmp_path, focus_line(BillingPeriodStart=begins))
    assert one["invoice_month"] == month


def test_columns_that_are_absent_are_null_and_new_ones_are_reported(tmp_path: Path) -> None:
    needed = {"BillingAccountId", "BillingCurrency", "BilledCost", "ChargeCategory", "ChargePeriodStart", "ChargePeriodEnd"}
    schema = pa.schema([field for field in FOCUS if field.name in needed])
    write_partition(tmp_path / "few", DAY, focus_line(), schema=schema)
    (row,) = rows_of(converted(KIND, tmp_path / "few", tmp_path / "landing"))
    assert row["billed_cost"] == Decimal("8.1") and {"labels", "invoice_month", "service_id"}.isdisjoint(row)
    write_partition(tmp_path / "more", DAY, focus_line(InvoiceId="7"), schema=FOCUS.append(pa.field("InvoiceId", pa.string())))
    assert converted(KIND, tmp_path / "more", tmp_path / "landing").unknown_columns == ("InvoiceId",)


def test_json_lines_become_the_rows_of_parquet(tmp_path: Path) -> None:
    rows = focus_line(), focus_line(x_Credits=[], x_Labels=[{"Key": "a", "Value": "1"}], x_Project=None)
    parquet = landed(tmp_path, *rows)
    write_lines(tmp_path / "lines", DAY, *rows)
    found = rows_of(converted(KIND, tmp_path / "lines", tmp_path / "landing"))
    # a column that is null in every row is left out of JSON, and is null in the raw view as one that is there and null
    assert found == [{name: row[name] for name in found[0]} for row in parquet]
    assert {name for row in parquet for name, value in row.items() if value is not None} == set(found[0])


def test_a_label_that_is_there_twice_is_reported_and_its_first_value_taken(tmp_path: Path) -> None:
    pairs = [{"Key": "team", "Value": "a"}, {"Key": "team", "Value": "b"}]
    write_partition(tmp_path / "bill", DAY, focus_line(x_Labels=pairs), schema=FOCUS)
    result = converted(KIND, tmp_path / "bill", tmp_path / "landing")
    assert rows_of(result)[0]["labels"] == {"team": "a"}
    assert [(remark.reason, remark.column_name) for remark in result.refusals] == [("repeated_key", "x_Labels")]


# --- what is refused


REQUIRED = ["BillingAccountId", "BillingCurrency", "BilledCost", "ChargeCategory", "ChargePeriodStart", "ChargePeriodEnd"]


@pytest.mark.parametrize("name", REQUIRED)
def test_what_every_row_must_say_is_missed_by_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportSchemaError, match=rf"is missing columns {name}\."):
        landed(tmp_path, focus_line(), schema=FOCUS.remove(FOCUS.get_field_index(name)))


@pytest.mark.parametrize("name", REQUIRED[1:])  # a row without an account is of the only one that others name
def test_a_row_without_what_every_row_must_say_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportContentError) as caught:
        landed(tmp_path, focus_line(), focus_line(**{name: None}))
    assert (caught.value.reason, caught.value.row_number, caught.value.column_name) == ("missing_value", 2, name)


@pytest.mark.parametrize(
    ("change", "type_", "reason"),
    [
        ({"BilledCost": Decimal("1000000000000")}, None, "wrong_type"),
        ({"BilledCost": 1.5}, pa.float32(), "wrong_type"),
        ({"x_Credits": [{"Type": "PROMOTION", "Amount": None}]}, None, "missing_value"),
        ({"x_Labels": "env=prod"}, pa.string(), "wrong_type"),
        ({"x_Credits": [{"Type": "PROMOTION"}]}, pa.list_(pa.struct({"Type": pa.string()})), "missing_column"),
    ],
)
def test_values_and_types_that_cannot_be_exact_are_refused(
    tmp_path: Path, change: dict[str, Any], type_: pa.DataType | None, reason: str
) -> None:
    (name,) = change
    schema = FOCUS.set(FOCUS.get_field_index(name), pa.field(name, type_)) if type_ else FOCUS
    with pytest.raises(ConnectorError) as caught:
        landed(tmp_path, focus_line(**change), schema=schema)
    assert caught.value.reason == reason


def test_the_detailed_export_in_its_place_is_recognised(tmp_path: Path) -> None:
    write_partition(tmp_path / "bill", DAY, line())
    with pytest.raises(ExportSchemaError, match="this looks like a gcp_billing"):
        converted(KIND, tmp_path / "bill", tmp_path / "landing")
    write_partition(tmp_path / "focus", DAY, focus_line(), schema=FOCUS)
    with pytest.raises(ExportSchemaError, match="this looks like a gcp_focus"):
        converted("gcp_billing", tmp_path / "focus", tmp_path / "landing")


# --- folders


def test_a_partition_may_be_named_by_its_date_and_a_second_folder_of_a_day_is_refused(tmp_path: Path) -> None:
    for day in (DAY, "2026-04-02"):
        write_partition(tmp_path / "bill", day, focus_line(), schema=FOCUS)
    folder = tmp_path / "bill" / f"_PARTITIONDATE={DAY}"
    (tmp_path / "bill" / f"_PARTITIONTIME={DAY}").rename(folder)
    first, second = found(KIND, tmp_path / "bill")
    assert isinstance(first, Delivery) and isinstance(second, Delivery)
    assert (first.partition, second.partition) == (DAY, "2026-04-02")
    write_lines(tmp_path / "bill", DAY, focus_line())
    kept, refused, other = found(KIND, tmp_path / "bill")
    assert kept == first and other == second
    assert isinstance(refused, Refusal) and refused.reason == "bad_partition"
    assert "second folder of 2026-04-01" in refused.message


# --- the table


def test_a_table_is_read_by_the_day_it_was_loaded_and_known_by_the_time_of_its_export() -> None:
    whole = described(FOCUS, timePartitioning={"type": "DAY"})
    assert READING.axis_of(whole) == INGESTION
    assert READING.axis_of(described(FOCUS)).column == "ChargePeriodStart", "of a view"
    assert READING.changes_by(whole) == "x_ExportTime"
    columns, unknown = READING.columns_of(whole, "bq://a.b.c")
    assert columns == tuple(FOCUS.names) and unknown == ()
    assert len(arrow_schema(whole["schema"])) == 37 + 18


# --- the fixtures of Costroid, in the envelope of BigQuery's REST API


@needs_samples
@pytest.mark.parametrize(("file", "lines", "billed"), [("fixture/2026-06.json", 3, 15), ("restated/2026-06.json", 5, 15 - 4 + 2)])
def test_a_month_of_the_fixtures_bills_what_its_makers_say(tmp_path: Path, file: str, lines: int, billed: int) -> None:
    write_lines(tmp_path / "bill", "2026-06-01", *of_fixture(file))
    rows = rows_of(converted(KIND, tmp_path / "bill", tmp_path / "landing"))
    assert len(rows) == lines and sum(row["billed_cost"] for row in rows) == billed
    assert [row["labels"] for row in rows[:3]] == [{"env": "prod"}, {}, {"team": "finance"}]
    assert {row["invoice_month"] for row in rows} == {"202606"}
    assert [row["charge_class"] for row in rows[3:]] == ["Correction"] * (lines - 3)


@needs_samples
def test_a_fixture_with_more_decimals_than_numeric_has_is_refused_and_read_without_them(tmp_path: Path) -> None:
    rows = of_fixture("fixture/2026-05.json")
    write_lines(tmp_path / "bill", "2026-05-01", *rows)
    with pytest.raises(ExportContentError, match="more decimals than NUMERIC has"):
        converted(KIND, tmp_path / "bill", tmp_path / "landing")
    write_lines(tmp_path / "bill", "2026-05-01", *map(as_numeric, rows))
    usage, tax, credit = rows_of(converted(KIND, tmp_path / "bill", tmp_path / "landing"))
    assert (usage["billed_cost"], tax["billed_cost"]) == (Decimal("1.123456789"), 2)
    assert (tax["charge_category"], tax["export_time"], tax["service_id"]) == ("Tax", None, None)
    assert usage["usage_start_time"] == dt.datetime(2026, 4, 30, 23, 30, 0, 123456), "use of April on the invoice of May"
    assert usage["labels"] == {"env": "prod", "team": "platform"}
    assert (credit["credit_type"], credit["credit_amount"], credit["line_number"]) == ("PROMOTION", Decimal("-0.5"), 1)
