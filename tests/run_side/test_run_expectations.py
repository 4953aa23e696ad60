"""The Great Expectations suites: each rule passes on a build as it should be and names the rows of one that is not."""

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dagster_project.kinds import built_kinds
from dagster_project.warehouse.delivery_table import DDL
from dagster_project.warehouse.expectations import MASSES, SUITES, expected_gates, run_suites

pytestmark = pytest.mark.slow  # the library takes seconds to import

CELL = "provider_name varchar, source_name varchar, usage_month date"
MASS_COLUMNS = ", ".join(f"{mass} decimal(38, 9)" for mass in MASSES)
RAW = "_source_name varchar, _delivery_content_hash varchar, _is_book boolean default true, part varchar default 'line'"
RAW_TABLES = " ".join(f"create table raw.{kind} ({RAW});" for kind in built_kinds())
TABLES = f"""
create schema raw; create schema marts;
{RAW_TABLES}
create table raw.delivery_totals (
    source_name varchar, kind varchar, partition varchar, content_hash varchar, payer_account_id varchar, usage_month date,
    currency varchar, line_count bigint, billed_cost decimal(38, 12)
);
create table raw.read_deliveries (source_name varchar, content_hash varchar);
create table raw.months (provider_name varchar, payer_account_id varchar, usage_month date, is_bill_landed boolean);
create table marts.fct_reconciliation (
    {CELL}, measure varchar, unit_or_currency varchar, method varchar, provider_total decimal(38, 12), difference decimal(38, 12)
);
create table marts.fct_run_cell_costs ({CELL}, billed_cost decimal(38, 12), effective_cost decimal(38, 12));
create table marts.fct_residual_costs (
    {CELL}, billing_currency varchar, reason varchar, billed_cost decimal(38, 12), effective_cost decimal(38, 12)
);
create table marts.fct_run_cell_emissions ({CELL}, {MASS_COLUMNS});
create table marts.fct_residual_emissions ({CELL}, {MASS_COLUMNS});
"""
APRIL = "'AWS', 'cur', date '2026-04-01'"
GOOD = f"""
insert into ops.dim_deliveries values
    ('cur', 'aws_cur', 'AWS', '2026-04', 'd', '2026-05-01', '2026-05-01', 'h0', 'r', 1000, 1, 1, 'c', false, false),
    ('cur', 'aws_cur', 'AWS', '2026-04', 'd', '2026-05-02', '2026-05-02', 'h1', 'r', 2, 1, 1, 'c', true, true),
    ('runs', 'training_runs', null, 'a.json', 'd', '2026-05-02', '2026-05-02', 'h2', 'r', 1, 1, 1, 'c', true, true);
insert into raw.read_deliveries values ('cur', 'h1'), ('runs', 'h2');
insert into raw.aws_cur (_source_name, _delivery_content_hash) values ('cur', 'h1'), ('cur', 'h1');
insert into raw.training_runs (_source_name, _delivery_content_hash) values ('runs', 'h2');
insert into raw.delivery_totals values ('cur', 'aws_cur', '2026-04', 'h1', 'p', date '2026-04-01', 'USD', 2, 3.51);
insert into raw.months values ('AWS', 'p', date '2026-04-01', true), ('AWS', 'p', date '2026-05-01', false);
insert into marts.fct_reconciliation values ({APRIL}, 'billed_cost', 'USD', 'conservation', 3.51, 0);
insert into marts.fct_run_cell_costs values ({APRIL}, 3, 3);
insert into marts.fct_residual_costs values ({APRIL}, 'USD', 'rounding', 0.01, 0);
insert into marts.fct_run_cell_emissions ({CELL.replace(" varchar", "").replace(" date", "")}, {MASSES[0]}) values ({APRIL}, 0);
"""


GOOGLE = """
insert into ops.dim_deliveries values
    ('google', 'gcp_billing', 'Google Cloud', '2026-04-01', 'd', '2026-04-02', '2026-04-02', 'g', 'r', 3, 1, 1, 'c', true, true),
    ('check', 'aws_cur', 'AWS', '2026-04', 'd', '2026-05-02', '2026-05-02', 'k', 'r', 1, 1, 1, 'c', true, false);
insert into raw.read_deliveries values ('google', 'g'), ('check', 'k');
insert into raw.gcp_billing values ('google', 'g', true, 'line'), ('google', 'g', true, 'credit'), ('google', 'g', false, 'line');
insert into raw.aws_cur values ('check', 'k', false, null);
insert into raw.delivery_totals values ('google', 'gcp_billing', '2026-04-01', 'g', 'p', date '2026-04-01', 'USD', 1, 0);
"""


@pytest.fixture
def build() -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables the suites ask, as a sound build leaves them."""
    with duckdb.connect() as connection:
        connection.execute(DDL + ";" + TABLES + GOOD)
        yield connection


def failed(build: duckdb.DuckDBPyConnection, evidence: Path) -> dict[str, str]:
    """Gates that did not pass, with their detail."""
    return {result.gate: str(result.detail) for result in run_suites(build, evidence) if not result.passed}


def test_credits_of_a_bill_and_lines_that_are_not_the_book_are_not_in_its_control_totals(
    build: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    build.execute(GOOGLE)
    assert not {gate for gate in failed(build, tmp_path) if gate.startswith("gx.deliveries")} & expected_gates()


def test_a_sound_build_passes_all_that_blocks_and_a_collapse_is_a_warning(
    build: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    found = failed(build, tmp_path)
    assert list(found) == ["gx.deliveries.rows_do_not_collapse_against_the_previous_delivery"]
    assert "warning: " in found.popitem()[1]
    assert not set(found) & expected_gates()


@pytest.mark.parametrize(
    ("change", "gate", "row"),
    [
        ("delete from raw.training_runs", "deliveries.every_landed_row_is_in_raw", '"source_name": "runs"'),
        ("update raw.delivery_totals set line_count = 3", "deliveries.control_totals_count_every_row", '"source_name": "cur"'),
        ("delete from marts.fct_reconciliation", "publication.every_billed_month_is_reconciled", '"usage_month": "2026-04"'),
        (
            "update marts.fct_reconciliation set difference = 0.000000000001",
            "publication.reconciliation_difference_is_zero",
            '"difference_rows": 1',
        ),
        ("update marts.fct_reconciliation set difference = null", "publication.reconciliation_difference_is_zero", "2026-04"),
        (
            "update raw.delivery_totals set billed_cost = 3.500000000001",
            "publication.billed_cost_ties_to_the_landed_control_totals",
            '"untied_rows": 1',
        ),
        ("update marts.fct_run_cell_costs set effective_cost = null", "publication.no_cost_is_null", '"null_cost_rows": 1'),
        (
            f"update marts.fct_run_cell_emissions set {MASSES[0]} = -0.000000001",
            "publication.no_mass_is_negative",
            '"negative_mass_rows": 1',
        ),
    ],
)
def test_each_rule_names_the_row_that_breaks_it(
    build: duckdb.DuckDBPyConnection, tmp_path: Path, change: str, gate: str, row: str
) -> None:
    build.execute(change)
    found = failed(build, tmp_path)
    assert row in found[f"gx.{gate}"]
    assert f"gx.{gate}" in expected_gates()


def test_rows_of_a_delivery_that_the_build_does_not_read_are_not_counted(
    build: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """They were counted when their month was built, and its files are not opened for another one."""
    build.execute("delete from raw.aws_cur")
    assert "gx.deliveries.every_landed_row_is_in_raw" in failed(build, tmp_path)
    build.execute("delete from raw.read_deliveries where source_name = 'cur'")
    assert "gx.deliveries.every_landed_row_is_in_raw" not in failed(build, tmp_path)


def test_a_month_between_two_that_is_missing_is_a_warning(build: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build.execute(
        "insert into ops.dim_deliveries select * replace ('2026-07' as partition, 'h7' as content_hash)"
        " from ops.dim_deliveries where content_hash = 'h1'"
    )
    assert '"missing_months": 2' in failed(build, tmp_path)["gx.deliveries.no_month_is_left_out"]


def test_the_evidence_is_the_same_bytes_at_any_time(build: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    run_suites(build, tmp_path / "one")
    run_suites(build, tmp_path / "two")
    for suite in SUITES:
        text = (tmp_path / "one" / f"{suite.name}.json").read_text()
        assert text == (tmp_path / "two" / f"{suite.name}.json").read_text()
        assert len(json.loads(text)["results"]) == len(suite.rules)
