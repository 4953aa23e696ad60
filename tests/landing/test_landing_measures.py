"""Control totals of measures: exact sums when a delivery is landed, and a gate that holds what a build reads against them."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import duckdb
import jinja2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.formats.schema import BigInt, Column, Number, Schema
from connectors.registry import KINDS, connector_for
from dagster_project.landing.deriving.contents import MeasureTotal
from dagster_project.landing.deriving.exact_sql import double_to_decimal, exact_sums, exact_total, string_to_decimal
from dagster_project.landing.deriving.one_reading import Asked, group_up, sums
from dagster_project.warehouse.statements import statements
from tests.landing.kit import Organisation
from tests.landing.test_landing_fuzz import write_good

GATE = "equals_its_control_totals_"  # and a kind
# one measure of each kind: the gate must not miss that one of its figures changed
CHANGED = {
    "aws_cur": "line_item_usage_amount",
    "aws_focus": "ConsumedQuantity",
    "aws_carbon": "total_lbm_emissions_value",
    "gcp_billing": "cost_at_list",
    "gcp_focus": "currency_conversion_rate",  # its other numbers are decimals
    "gcp_carbon": "scope2_market_based",
    "training_runs": "tokens",
    "neuron_monitor": "device_count",
    "tpu_monitoring": "utilisation_ratio",
    "xprof": "power_w",
    "neuron_power": "power_ratio",
    "gpu_monitoring": "power_w",
    "power_meters": "power_w",
    "prometheus": "power_w",
    "wandb": "power_w",
    "gcp_prices": "start_usage_amount",  # its prices are decimals
    "fx_rates": "rate",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_every_kind_is_a_measure(kind: str) -> None:
    schema = connector_for(kind).SCHEMA
    numbers = {column.name for column in schema if column.type == "Number"}
    assert numbers <= set(schema.measures) <= set(schema.names)
    # whole numbers that nobody adds up, and one that landing holds against the record of the query that counted
    places = {"line_number", "device_index", "carbon_model_version", "line_count"}
    whole = {column.name for column in schema if column.type == "BigInt"} - places
    assert set(schema.measures) == numbers | whole
    assert set(schema.measures.values()) <= {12, 9, 0}  # what the exact casts are written for


def test_a_large_number_of_bytes_is_summed() -> None:
    assert totals("SELECT unnest([987654321098765, 123456789.5])::DOUBLE AS x, NULL::VARCHAR AS x__text", 9) == (
        2,
        "987654444555554.500000000",
    )


def totals(rows: str, decimals: int, type_: str = Number) -> tuple[int, str | None]:
    """Number and sum of the column x of some rows."""
    [found] = measured(rows, decimals, type_)
    assert found == MeasureTotal(name="x", column_type=type_, decimals=decimals, value_count=found.value_count, total=found.total)
    return found.value_count, found.total


def measured(rows: str, decimals: int, type_: str = Number) -> list[MeasureTotal]:
    """The control total of the column x of some rows."""
    schema, measures = Schema((Column("x", type_),)), {"x": decimals}
    with duckdb.connect() as con:
        group_up(
            con, f"SELECT *, 'a file' AS _file, 0::UBIGINT AS _hash FROM ({rows})", [("a file", 0)], schema, Asked(), measures
        )
        return sums(con, schema, measures)[0].measures


def test_a_sum_is_exact_whether_the_file_holds_text_or_doubles() -> None:
    doubles = "SELECT unnest([0.1, 0.2, 0.3, NULL])::DOUBLE AS x, NULL::VARCHAR AS x__text"
    texts = "SELECT NULL::DOUBLE AS x, unnest(['0.1', '0.2', '3e-1', NULL]) AS x__text"
    assert totals(doubles, 12) == totals(texts, 12) == (3, "0.600000000000")


def test_what_is_too_large_for_an_exact_figure_is_counted_and_not_summed() -> None:
    assert totals("SELECT unnest([1.5, 1e12, 1e30])::DOUBLE AS x, NULL::VARCHAR AS x__text", 12) == (3, "1.500000000000")
    assert totals("SELECT unnest([1e25, 3e25])::DOUBLE AS x, NULL::VARCHAR AS x__text", 0)[0] == 2
    assert totals("SELECT unnest([9223372036854775807, 1]) AS x", 0, BigInt) == (2, "9223372036854775808")
    assert totals("SELECT 1e300::DOUBLE AS x, NULL::VARCHAR AS x__text", 9) == (1, None)


def test_a_measure_without_a_value_has_no_total() -> None:
    assert measured("SELECT NULL::DOUBLE AS x, NULL::VARCHAR AS x__text", 9) == []


@pytest.mark.parametrize("decimals", [9, 12])
def test_the_sum_by_units_is_the_sum_of_the_exact_figures_one_by_one(decimals: int) -> None:
    """Of every size and both signs, with halves of the last unit and what is at each border of the formula."""
    borders = [10.0**power * side for power in range(-15, 13) for side in (1, -1, 0.5, -0.5, 1.5, 2.5, 0.9999999999999999)]
    rows = f"""
        SELECT unnest({borders}::DOUBLE[] || [(random() - 0.5) * 10 ** (i % 22 - 11) for i in range(4000)]) AS x,
            NULL::VARCHAR AS x__text"""
    with duckdb.connect() as con:
        con.execute("SELECT setseed(0.25)")
        con.execute(f"CREATE TABLE rows AS {rows}")
        exact = f"coalesce({double_to_decimal('x', decimals)}, {string_to_decimal('x__text', decimals)})"
        aggregates = exact_sums("x", "x", "x__text", decimals).items()
        columns = ", ".join(f"{expression} AS {name}" for name, expression in aggregates)
        con.execute(f"CREATE TABLE parts AS SELECT {columns} FROM rows GROUP BY x < 1")
        small = f"abs(x) < 1e{24 - decimals}"
        [(one_by_one, at_once)] = con.execute(
            f"SELECT (SELECT sum({exact}) FROM rows WHERE {small}), {exact_total('x', decimals)} FROM parts"
        ).fetchall()
    assert at_once == one_by_one != 0


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Organisation:
    """A source of every kind that is landed."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    made = write_good(tmp_path / "organisation")
    made.refresh()
    return made


def failing(organisation: Organisation, work: Path) -> set[tuple[str, str]]:
    """Kind and measure of every row that the gate shows on a fresh schema raw."""
    work.mkdir()
    line, build = organisation.line, work / "build.duckdb"
    election = line.elect()
    with duckdb.connect(str(build)) as con:
        line.create_raw(con, election, line.months_to_build(election, full=True))
        gates = [one for one in statements(work) if one.name.startswith(GATE)]
        assert {one.name.removeprefix(GATE) for one in gates} == set(KINDS)
        every = " union all ".join(f"select kind, measure from ({gate.sql})" for gate in gates)
        return set(con.execute(f"from ({every}) group by all").fetchall())


def add_to_one_row(path: Path, column: str) -> None:
    """A file with the same rows but for one figure."""
    table = pq.read_table(path, partitioning=None)
    values, field = table[column].to_pylist(), table.schema.field(column)
    place = next(number for number, value in enumerate(values) if value is not None)
    values[place] = type(values[place])(float(values[place]) + (1 if column in ("tokens", "device_count") else 1e-6))
    pq.write_table(table.set_column(table.column_names.index(column), field, pa.array(values, field.type)), path)


@pytest.mark.slow
def test_a_figure_of_any_kind_that_is_not_the_landed_one_fails_the_gate(organisation: Organisation, tmp_path: Path) -> None:
    assert failing(organisation, tmp_path / "sound") == set()
    line = organisation.line
    for member in line.elect().members:
        kind, contents = str(member.generation.kind), member.contents
        column = CHANGED[kind]
        if member.source.name != "good" and any(total.name == column for total in contents.measures):
            add_to_one_row(line.landing.part_path(member.generation, contents, contents.parts[0]), column)
    assert failing(organisation, tmp_path / "changed") == set(CHANGED.items())


@pytest.mark.slow
def test_only_deliveries_of_the_months_of_a_build_are_summed_again(organisation: Organisation, tmp_path: Path) -> None:
    line = organisation.line
    election = line.elect()
    with duckdb.connect() as con:
        line.create_raw(con, election, [])
        [(kinds,)] = con.execute("select list(distinct kind order by kind) from raw.measure_totals").fetchall()
    assert kinds == ["fx_rates", "gcp_prices"]  # which are of no month


@pytest.mark.parametrize("decimals", [6, 9, 12])
@pytest.mark.parametrize("digits", range(12, 26))
def test_a_double_of_any_size_is_exact_or_null_and_never_an_error(decimals: int, digits: int) -> None:
    """The casts of landing and of dbt: at six decimals a double of sixteen digits ended the whole build."""
    macros = (Path(__file__).resolve().parents[2] / "dbt" / "macros" / "exact.sql").read_text()
    of_dbt = jinja2.Environment().from_string(macros + f"{{{{ double_to_decimal('x', {decimals}) }}}}").render()
    value = float(f"9.9e{digits - 1}")
    fits = digits <= 24 - decimals
    for expression in (double_to_decimal("x", decimals), of_dbt):
        [(found,)] = duckdb.sql(f"select {expression} from (select cast({value} as double) as x)").fetchall()
        assert found == (Decimal(value) if fits else None)


def test_joules_of_a_large_job_become_microwatts_without_an_error() -> None:
    """1,000 machines of 10 kW for a month are 26 TJ; above 1 TJ the model that divides them ended the whole build."""
    dbt = Path(__file__).resolve().parents[2] / "dbt"
    model = (dbt / "models/intermediate/energy/int_scheduler_readings.sql").read_text()
    (expression,) = re.findall(r"-- in two steps:[^\n]*\n(.*? as energy_uw_us),", model, re.DOTALL)
    macros = (dbt / "macros/exact.sql").read_text()
    column = jinja2.Environment().from_string(macros + expression).render()
    joules = Decimal("26000000000000.000001")
    [(found,)] = duckdb.sql(f"select {column} from (select cast({joules} as decimal(38, 6)) as energy_j)").fetchall()
    assert found == joules * 10**12
