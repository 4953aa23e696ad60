"""How numbers, units and quarters are written."""

from datetime import date
from decimal import Decimal

import duckdb
import pytest

from dagster_project.publishing.contract import SECTIONS
from reports.model import Column, Table, TableSpec
from reports.page.layout import page_table
from reports.page.numbers import grouped, significant
from reports.quarter import Quarter, listed, month_name
from tests.contract import in_force, read
from tests.reports.published_file import SCHEMA
from tests.shared import SHARED, SHARED_REASON

TYPES = {"text": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP", "boolean": "BOOLEAN", "bigint": "BIGINT", "double":
    "DOUBLE",
         "money": "DECIMAL(38,12)", "total": "DECIMAL(38,12)", "mass": "DECIMAL(38,9)",
         "energy": "DECIMAL(38,9)", "hours": "DECIMAL(38,9)"}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        ("1234567.891", 2, "1 234 567.89"),
        ("0.005", 2, "0.01"),
        ("-0.004", 2, "0.00"),
        ("-1234.5", 1, "−1 234.5"),
        ("2.675", 2, "2.68"),
        ("999.9995", 3, "1 000.000"),
    ],
)
def test_numbers_have_thin_spaces_a_real_minus_and_round_half_up(value: str, places: int, text: str) -> None:
    assert grouped(Decimal(value), places) == text.replace(" ", "\u2009")


@pytest.mark.parametrize(
    ("value", "text"),
    [("77652", "77 700"), ("24664.8", "24 700"), ("2911.95", "2 910"), ("5.82345", "5.82"), ("0.0594", "0.0594"), ("0", "0"),
     ("999.6", "1 000"), ("-88.88", "−88.9")],
)  # fmt: skip
def test_numbers_in_text_have_three_significant_figures(value: str, text: str) -> None:
    assert significant(Decimal(value)) == text.replace(" ", "\u2009")


def _mass_table(*kilograms: str | None) -> Table:
    columns = (Column("name", "Name"), Column("mass", "Mass", "mass", note="not published"))
    spec = TableSpec("t", "T", "select 1", columns, ("name",), method="as reported")
    return Table(spec, tuple({"name": "x", "mass": None if kg is None else Decimal(kg)} for kg in kilograms))


def test_masses_are_tonnes_once_one_of_the_table_reaches_a_thousand_kilograms() -> None:
    small, large = page_table(_mass_table("999.9", "1")), page_table(_mass_table("1000", "1", None))
    assert (small.headers[1].unit, small.rows[0].cells[1].text) == ("kgCO2e", "999.900")
    assert (large.headers[1].unit, [row.cells[1].text for row in large.rows]) == ("tCO2e", ["1.000", "0.001", "–"])
    assert large.notes == (("a", "not published"),) and large.rows[2].cells[1].mark == "a"


def test_a_true_zero_is_bare_and_what_rounds_to_nothing_is_not() -> None:
    table = page_table(_mass_table("1000", "0", "0.0001"))
    assert [row.cells[1].text for row in table.rows] == ["1.000", "0", "0.000"]


def test_a_single_currency_moves_into_the_header_and_several_stay_in_their_column() -> None:
    columns = (Column("billing_currency", "Currency", "code"), Column("cost", "Cost", "money"))
    spec = TableSpec("t", "T", "select 1", columns, ("billing_currency",), method="sum")
    rows = [{"billing_currency": currency, "cost": Decimal(1)} for currency in ("EUR", "USD")]
    assert [header.unit for header in page_table(Table(spec, tuple(rows[:1]))).headers] == ["EUR"]
    assert [header.unit for header in page_table(Table(spec, tuple(rows))).headers] == ["", "in its currency"]


def test_a_single_unit_moves_into_the_header_and_several_stay_in_their_column() -> None:
    columns = (Column("unit", "in", "code"), Column("median", "Median", "statistic"))
    spec = TableSpec("t", "T", "select 1", columns, ("unit",), method="median")
    rows = [{"unit": unit, "median": Decimal(1)} for unit in ("USD", "kWh")]
    of_one, of_two = page_table(Table(spec, tuple(rows[:1]))), page_table(Table(spec, tuple(rows)))
    assert [(header.label, header.unit) for header in of_one.headers] == [("Median", "USD")]
    assert [(header.label, header.unit) for header in of_two.headers] == [("in", ""), ("Median", "")]


def test_a_quarter_is_three_utc_months_with_its_end_excluded() -> None:
    quarter = Quarter.parse("2026Q4")
    assert (quarter.start, quarter.end, quarter.previous.name) == (date(2026, 10, 1), date(2027, 1, 1), "2026Q3")
    assert [month_name(month) for month in quarter.months] == ["October 2026", "November 2026", "December 2026"]
    assert Quarter.parse("2027Q1").previous == quarter
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
def test_the_fixture_has_the_columns_types_and_nulls_of_the_contract() -> None:
    contract = in_force(*read(SHARED), SECTIONS)["tables"]
    with duckdb.connect() as connection:
        connection.execute(SCHEMA.read_text())
        rows = connection.execute(
            "select table_name, column_name, data_type, is_nullable from duckdb_columns() where schema_name = 'marts' "
            "order by table_name, column_index"
        ).fetchall()
    found: dict[str, list[tuple]] = {}
    for table, *column in rows:
        found.setdefault(table, []).append(tuple(column))
    compared = 0
    for table, columns in found.items():
        if "columns" in contract.get(table, {}):  # fct_lost_work is published beside the contract
            flat = [name for entry in contract[table]["columns"] for name in (entry if isinstance(entry, list) else [entry])]
            expected = [(name, TYPES[kind.rstrip("?")], kind.endswith("?")) for name, kind in (text.split() for text in flat)]
            assert sorted(columns) == sorted(expected), table
            compared += 1
    assert compared == 19
