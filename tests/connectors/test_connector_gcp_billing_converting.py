"""Google's bill arrives as nested records and leaves flat: a row per line, a row per credit, and nothing added up on the way."""
# ruff: noqa: DTZ001 - Parquet holds naive times, and they are UTC

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.errors import ExportContentError, ExportSchemaError
from connectors.gcp.billing_columns import SCHEMA
from tests.connectors.gcp import BILLING, BILLING_2019, DAY, LINE, cud_rows, koku_rows, line, write_partition
from tests.connectors.kit import converted, rows_of
from tests.shared import SHARED, SHARED_REASON

KIND = "gcp_billing"

needs_samples = pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)


def lines_and_credits(location: Path, landing: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows = rows_of(converted(KIND, location, landing))
    return [row for row in rows if row["part"] == "line"], [row for row in rows if row["part"] == "credit"]


def exact(rows: list[dict[str, Any]], name: str) -> Decimal:
    """A sum of the numbers as they print: what 15 significant digits of a double mean."""
    return sum((Decimal(str(row[name])) for row in rows), Decimal(0))


def without(schema: pa.Schema, *paths: str) -> pa.Schema:
    """A schema without some fields; a dotted path takes a field out of its record."""
    for path in paths:
        first, _, rest = path.partition(".")
        index = schema.get_field_index(first)
        if not rest:
            schema = schema.remove(index)
            continue
        type_ = schema.field(first).type
        record = type_.value_type if pa.types.is_list(type_) else type_
        kept = pa.struct([field for field in record if field.name != rest])
        schema = schema.set(index, pa.field(first, pa.list_(kept) if pa.types.is_list(type_) else kept))
    return schema


# --- real rows


@needs_samples
@pytest.mark.parametrize(
    ("day", "lines", "credits", "millionths"),
    # three rows of 5 and one of 1 · one row of 5 · two rows of 5 and one of 1 · none that costs anything
    [("2020-11-08", 9, 4, 3 * 5 + 1), ("2020-11-09", 8, 1, 5), ("2020-11-10", 5, 3, 2 * 5 + 1), ("2020-11-11", 3, 0, 0)],
)
def test_each_day_of_the_real_export_costs_what_its_promotion_takes_back(
    tmp_path: Path, day: str, lines: int, credits: int, millionths: int
) -> None:
    assert SHARED
    sample = SHARED / "samples/gcp/koku/202011_2020-11-08_2020-11-11.csv"
    write_partition(tmp_path / "bill", day, *(row for of, row in koku_rows(sample) if of == day))
    export_lines, export_credits = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    assert (len(export_lines), len(export_credits)) == (lines, credits)
    assert exact(export_lines, "cost") == Decimal(millionths) / 1_000_000
    assert exact(export_credits, "credit_amount") == Decimal(-millionths) / 1_000_000
    assert {row["credit_type"] for row in export_credits} <= {"PROMOTION"}
    costly = [row["line_number"] for row in export_lines if row["cost"]]
    assert [row["line_number"] for row in export_credits] == costly


@needs_samples
def test_googles_own_commitment_rows_in_the_schema_of_2019_keep_lines_credits_and_labels(tmp_path: Path) -> None:
    assert SHARED
    rows = cud_rows(SHARED / "samples/gcp/google-cuds-billing/test_9_3.export.json")
    write_partition(tmp_path / "bill", "2019-01-21", *rows, schema=BILLING_2019)
    lines, credits = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    # two of 50, two of 30, two of 50, the fee of 100, two of 70
    assert [row["cost"] for row in lines] == [50, 50, 30, 30, 50, 50, 100, 70, 70]
    # two sustained-use discounts of 50, two committed-use discounts of 30; rows 5 to 7 have no credits at all
    assert [(row["line_number"], row["credit_amount"]) for row in credits] == [(1, -50), (2, -50), (3, -30), (4, -30)]
    assert exact(lines, "cost") + exact(credits, "credit_amount") == Decimal(340)
    assert lines[1]["labels"] == {"area": "bigdata", "env": "prod"}
    assert lines[6]["sku_description"] == "commitment v1: ram in americas for 3 year"
    assert lines[0]["usage_start_time"] == dt.datetime(2019, 1, 21, 8, 25, 11, 227000)
    assert "credit_type" not in lines[0] and "project_number" not in lines[0]


# --- shape


def test_a_line_has_every_declared_value_and_its_credit_repeats_its_keys(tmp_path: Path) -> None:
    adjusted = {"id": "A", "description": "d", "mode": "PARTIAL_CORRECTION", "type": "USAGE_CORRECTION"}
    full = line(
        adjustment_info=adjusted, subscription={"instance_id": "S-1"}, consumption_model={"id": "7", "description": "Default"},
        cost_at_effective_price_default=Decimal("9.600000001"),
    )  # fmt: skip
    write_partition(tmp_path / "bill", DAY, full)
    (one,), (credit,) = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    empty = {name for name in SCHEMA.names if name != "line_count" and one[name] is None}  # which groups alone have
    assert empty == {"credit_type", "credit_name", "credit_id", "credit_amount"}
    assert one["project_number"] == "000123456789"  # a number that is a name keeps its zeros
    assert one["tags"] == {"example.org/env": "prod"}
    assert one["project_labels"] == {"cost-centre": "4711"}
    assert one["project_ancestry_numbers"] == "/1/2/"
    assert one["project_ancestors"] == {
        "projects/000123456789": "Research", "folders/2": "Models", "organizations/1": "example.org",
    }  # fmt: skip
    assert (one["price_effective_price"], one["price_unit"]) == (Decimal("1.200000001"), "hour")
    assert one["usage_amount_in_pricing_units"] == 8.0
    assert one["cost_at_effective_price_default"] == Decimal("9.600000001")  # never through a double
    assert one["usage_start_time"] == dt.datetime(2026, 4, 1, 6)
    assert {name: credit[name] for name in SCHEMA.names if credit.get(name) not in (None, {})} == {
        "part": "credit", "line_number": 1, "billing_account_id": one["billing_account_id"], "currency": "USD",
        "usage_start_time": one["usage_start_time"], "usage_end_time": one["usage_end_time"], "invoice_month": "202604",
        "credit_type": "PROMOTION", "credit_name": "Promotion", "credit_id": "P-1", "credit_amount": -1.5,
    }  # fmt: skip


def test_a_line_with_two_credits_and_three_labels_is_one_line(tmp_path: Path) -> None:
    """Joining the repeated records in one go would give six rows and six times the cost."""
    labels = [{"key": name, "value": name} for name in "abc"]
    credits = [{"type": "COMMITTED_USAGE_DISCOUNT", "amount": -2.0}, {"type": "PROMOTION", "amount": -0.5}]
    write_partition(tmp_path / "bill", DAY, line(labels=labels, credits=credits), line(credits=[]), line(credits=None))
    lines, found_credits = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    assert [row["line_number"] for row in lines] == [1, 2, 3]
    assert exact(lines, "cost") == Decimal("28.8")
    assert [(row["line_number"], row["credit_amount"]) for row in found_credits] == [(1, -2.0), (1, -0.5)]


def test_equal_rows_are_legal_and_all_kept(tmp_path: Path) -> None:
    write_partition(tmp_path / "bill", DAY, line(), line(), line())
    lines, _ = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    assert len(lines) == 3


def test_newer_columns_may_be_missing(tmp_path: Path) -> None:
    old = without(
        BILLING, "resource", "tags", "subscription", "consumption_model", "cost_at_effective_price_default", "cost_at_list",
        "transaction_type", "adjustment_info", "project.number", "credits.type", "credits.id", "credits.full_name",
    )  # fmt: skip
    write_partition(tmp_path / "bill", DAY, line(), schema=old)
    (one,), (credit,) = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    assert not {"resource_global_name", "tags", "project_number", "cost_at_list", "credit_type"} & set(one)
    assert (one["cost"], credit["credit_amount"]) == (9.6, -1.5)


def test_a_record_that_never_had_a_value_is_no_unknown_column(tmp_path: Path) -> None:
    bare = without(BILLING, "resource", "credits").append(pa.field("resource", pa.null())).append(pa.field("credits", pa.null()))
    write_partition(tmp_path / "bill", DAY, line(resource=None, credits=None), schema=bare)
    result = converted(KIND, tmp_path / "bill", tmp_path / "landing")
    assert (result.rows, result.unknown_columns) == (1, ())


def test_unknown_columns_are_named_with_their_record_and_known_ones_are_not(tmp_path: Path) -> None:
    more = BILLING.append(pa.field("carbon", pa.float64()))
    usage = pa.struct([*more.field("usage").type, pa.field("fraction", pa.float64())])
    more = more.set(more.get_field_index("usage"), pa.field("usage", usage))
    write_partition(tmp_path / "bill", DAY, line(), schema=more)
    result = converted(KIND, tmp_path / "bill", tmp_path / "landing")
    assert sorted(result.unknown_columns) == ["carbon", "usage.fraction"]


def test_rows_are_numbered_through_many_batches(tmp_path: Path) -> None:
    count = 70_000  # more than two batches
    schema = pa.schema([BILLING.field(name) for name in LINE if name in BILLING.names])
    one = pa.Table.from_pylist([line()], schema=schema)
    path = tmp_path / "bill" / f"_PARTITIONTIME={DAY}" / "a.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(one.take(pa.array([0] * count)), path)
    result = converted(KIND, tmp_path / "bill", tmp_path / "landing")
    table = pq.read_table(result.parts[0].path, columns=["part", "line_number", "credit_amount"])
    for part in ("line", "credit"):
        numbers = table.filter(pa.compute.equal(table["part"], part))["line_number"].to_pylist()
        assert numbers == list(range(1, count + 1))
    assert result.rows == 2 * count


# --- nulls and repeats


def test_account_level_rows_have_no_project_and_the_empty_project_number_stays_empty(tmp_path: Path) -> None:
    write_partition(
        tmp_path / "bill", DAY, line(project=None, cost_type="tax"), line(project={"id": None, "number": "", "name": None})
    )
    (tax, unassociated), _ = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    assert (tax["project_id"], tax["project_number"]) == (None, None)
    assert (unassociated["project_id"], unassociated["project_number"]) == (None, "")


def test_the_first_of_a_repeated_label_counts_and_the_repeat_is_reported(tmp_path: Path) -> None:
    twice = [
        {"key": "training_run_id", "value": "run-a"},
        {"key": "team", "value": "x"},
        {"key": "training_run_id", "value": "run-b"},
    ]
    write_partition(tmp_path / "bill", DAY, line(), line(labels=twice), line(labels=twice))
    result = converted(KIND, tmp_path / "bill", tmp_path / "landing")
    rows = [row for row in rows_of(result) if row["part"] == "line"]
    assert [row["labels"] for row in rows[1:]] == [{"training_run_id": "run-a", "team": "x"}] * 2
    (remark,) = result.refusals
    assert (remark.reason, remark.column_name, remark.row_number, remark.value) == ("repeated_key", "labels", 2, "2 pairs")


def test_labels_without_key_or_value_and_rows_without_labels_are_no_trouble(tmp_path: Path) -> None:
    odd = [{"key": None, "value": "lost"}, {"key": "team", "value": None}, None]
    write_partition(tmp_path / "bill", DAY, line(labels=odd), line(labels=None), line(labels=[]))
    lines, _ = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    assert [row["labels"] for row in lines] == [{"team": None}, {}, {}]


def test_tags_of_one_key_in_two_namespaces_are_two_tags(tmp_path: Path) -> None:
    tags = [{"key": "env", "value": name, "namespace": namespace} for name, namespace in (("a", "x"), ("b", "y"), ("c", None))]
    write_partition(tmp_path / "bill", DAY, line(tags=tags))
    (one,), _ = lines_and_credits(tmp_path / "bill", tmp_path / "landing")
    assert one["tags"] == {"x/env": "a", "y/env": "b", "env": "c"}


# --- refused


@pytest.mark.parametrize("path", ["billing_account_id", "service.id", "usage_start_time", "cost", "currency"])
def test_a_missing_column_is_named_as_google_names_it(tmp_path: Path, path: str) -> None:
    write_partition(tmp_path / "bill", DAY, line(), schema=without(BILLING, path))
    with pytest.raises(ExportSchemaError, match=rf"part-0+\.parquet is missing columns {path}\."):
        converted(KIND, tmp_path / "bill", tmp_path / "landing")


def test_credits_without_amounts_are_no_credits(tmp_path: Path) -> None:
    write_partition(tmp_path / "bill", DAY, line(), schema=without(BILLING, "credits.amount"))
    with pytest.raises(ExportSchemaError, match=r"missing columns credits\.amount"):
        converted(KIND, tmp_path / "bill", tmp_path / "landing")


@pytest.mark.parametrize(
    ("changes", "column", "reason"),
    [
        ({"cost": None}, "cost", "missing_value"),
        ({"cost": float("nan")}, "cost", "wrong_type"),
        ({"cost": 1e13}, "cost", "wrong_type"),
        ({"currency": None}, "currency", "missing_value"),
        ({"credits": [{"amount": -1.0}, {"amount": None}]}, "credits.amount", "missing_value"),
        ({"credits": [{"amount": float("inf")}]}, "credits.amount", "wrong_type"),
    ],
)
def test_a_value_that_cannot_be_counted_is_named_with_its_row(
    tmp_path: Path, changes: dict[str, Any], column: str, reason: str
) -> None:
    write_partition(tmp_path / "bill", DAY, line(), line(), line(**changes), line())
    with pytest.raises(ExportContentError) as refused:
        converted(KIND, tmp_path / "bill", tmp_path / "landing")
    assert (refused.value.column_name, refused.value.row_number, refused.value.reason) == (column, 3, reason)


def test_a_float32_cost_has_lost_digits_already(tmp_path: Path) -> None:
    schema = BILLING.set(BILLING.get_field_index("cost"), pa.field("cost", pa.float32()))
    write_partition(tmp_path / "bill", DAY, line(), schema=schema)
    with pytest.raises(ExportSchemaError, match="cost is float, which is no Number"):
        converted(KIND, tmp_path / "bill", tmp_path / "landing")


def test_labels_that_are_json_text_are_no_labels(tmp_path: Path) -> None:
    schema = BILLING.set(BILLING.get_field_index("labels"), pa.field("labels", pa.string()))
    write_partition(tmp_path / "bill", DAY, line(labels="[]"), schema=schema)
    with pytest.raises(ExportSchemaError, match="column labels is no repeated record in string"):
        converted(KIND, tmp_path / "bill", tmp_path / "landing")


@pytest.mark.parametrize("size", [0, 4, 500])
def test_a_cut_file_is_reported(tmp_path: Path, size: int) -> None:
    path = write_partition(tmp_path / "bill", DAY, line())
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ExportContentError, match="cut off") as refused:
        converted(KIND, tmp_path / "bill", tmp_path / "landing")
    assert refused.value.reason == "truncated"


def test_a_bignumeric_keeps_its_last_digit(tmp_path: Path) -> None:
    """Nineteen digits, of a line and of its credit: a double has fifteen. DuckDB reads a decimal of 76 digits as a double."""
    cost, credit = Decimal("1234567890.123456789"), Decimal("-0.000000000000000000123456789")
    wide = pa.decimal256(76, 38)
    index, credits_ = BILLING.get_field_index("cost"), BILLING.get_field_index("credits")
    record = pa.struct(
        [pa.field("amount", wide) if field.name == "amount" else field for field in BILLING.field("credits").type.value_type]
    )
    schema = BILLING.set(index, pa.field("cost", wide)).set(credits_, pa.field("credits", pa.list_(record)))
    row = line(cost=cost, credits=[{"name": "promotion", "amount": credit}])
    write_partition(tmp_path / "bill", DAY, row, schema=schema)
    result = converted(KIND, tmp_path / "bill", tmp_path / "landing")
    found = "coalesce(cast(cost as varchar), cast(credit_amount as varchar))"
    rows = duckdb.sql(f"select part, typeof(cost), {found} from '{result.parts[0].path}' order by part").fetchall()
    assert [(part, kind, Decimal(text)) for part, kind, text in rows] == [
        ("credit", "VARCHAR", credit),
        ("line", "VARCHAR", cost),
    ]
