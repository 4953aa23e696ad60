"""How each number is made: a class for every column, rows that add up to the last digit, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_project.base.failures import GateError
from dagster_project.base.sql import CELL
from dagster_project.evidence.tracing import rules
from dagster_project.evidence.tracing.answer import walked
from dagster_project.evidence.tracing.influence import Influence
from dagster_project.evidence.tracing.rules import OWN, Rule, traced
from dagster_project.evidence.tracing.walk import ATTRIBUTIONS, COMMITTED, Walk, columns_of, divided_among, show_parts
from reports.tracing.figures import FigureError, of_published
from tests.evidence import trace_rules

ROOT = Path(__file__).resolve().parents[2]
AMOUNTS = st.decimals(min_value=-(10**9), max_value=10**9, places=12, allow_nan=False, allow_infinity=False)
CELLS = (
    "'cur' as source_name, 'AWS' as provider_name, 'p' as payer_account_id, 'a' as sub_account_id, 'AmazonEC2' as service_code"
)
CELLS += ", 'us-east-1' as region_id, date '2026-07-01' as usage_month, 'USD' as billing_currency, 'host' as cost_component"
COSTS = "cast({0} as decimal(38, 12)) as billed_cost, cast({0} as decimal(38, 12)) as effective_cost"


def test_the_rules_of_a_trace_are_those_of_the_models() -> None:
    assert trace_rules.document(ROOT) == rules.FILE.read_text(), "`python -m tests.evidence.known` writes it again"


def test_every_number_of_a_table_and_of_a_page_has_a_class() -> None:
    without = [f"{table.name}.{column}" for table in traced().values() for column in table.numbers if not table.of(column)]
    assert not without and sum(len(table.numbers) for table in traced().values()) > 700


def test_a_rule_names_columns_and_tables_that_are_there() -> None:
    for table in traced().values():
        for rule in table.rules:
            assert set(rule.columns) <= {*table.numbers}, f"{table.name}: {rule.columns}"
            if rule.kind in ("sum", "share", "statistic"):
                unknown = {term.of for term in rule.terms} - {*traced(), OWN}
                assert not unknown, f"{table.name}: {unknown}"


@pytest.mark.parametrize("text", [{"columns": ["a"]}, {"sum": "a", "share": "b"}, {"sum": "a", "else": 1}])
def test_a_rule_without_one_class_is_refused(text: dict[str, object]) -> None:
    with pytest.raises(LookupError, match="one class"):
        Rule.read(text)


@given(AMOUNTS, st.lists(AMOUNTS, min_size=1, max_size=8))
def test_what_is_divided_adds_up_to_the_last_digit(amount: Decimal, parts: list[Decimal]) -> None:
    rows = ", ".join(f"(1, {n}, {part}::decimal(38, 12), {amount}::decimal(38, 12))" for n, part in enumerate(parts))
    asked = f"select * from (values {rows}) as parts (own_, n, part_, amount_)"
    found = duckdb.sql(f"select contribution_ from ({divided_among(asked, 'own_', 'n')}) order by n").fetchall()
    contributions = [value for (value,) in found]
    assert sum(contributions) == amount
    assert sum(parts) != amount or contributions == parts


@pytest.fixture
def published() -> Iterator[duckdb.DuckDBPyConnection]:
    """A run that cost 3 of one group and 4 of another; an idle rest of 5."""
    with duckdb.connect() as connection:
        connection.execute("attach ':memory:' as published; create schema published.marts; create schema published.ops")
        connection.execute("create table published.ops.report_pages as select '' as model, '{}' as printed where false")
        run = "'r' as training_run_id, 'tag' as attribution_rule"
        rest = "null::varchar as training_run_id, 'idle' as reason, '' as accelerator_type"
        connection.execute(f"create table published.marts.fct_run_cell_costs as select {CELLS}, {run}, {COSTS.format(7)}")
        connection.execute(f"create table published.marts.fct_residual_costs as select {CELLS}, {rest}, {COSTS.format(5)}")
        connection.execute(
            "create table published.marts.fct_training_run_costs as"
            " select * exclude (source_name, provider_name, payer_account_id, sub_account_id, service_code, region_id)"
            " from published.marts.fct_run_cell_costs"
        )
        of_group = f"{CELL} || '|o|1' as charge_group_id, 'h' as delivery_content_hash, 1 as row_count"
        for number, costs in enumerate((COSTS.format(3), COSTS.format(4))):
            named = of_group.replace("o|1", f"o|{number + 1}")
            part = f"select * replace ({costs}), {named} from published.marts.fct_run_cell_costs"
            connection.execute(f"create table part_{number} as {part}")
        rest_of_it = f"select *, {of_group.replace('o|1', 'o|3')} from published.marts.fct_residual_costs"
        connection.execute(
            "create table attributions as select * exclude (provider_name, payer_account_id, sub_account_id, service_code,"
            f" region_id) from (from part_0 union all by name from part_1 union all by name {rest_of_it})"
        )
        connection.execute(
            "create table of_commitments as select *, '' as commitment_id, '' as commitment_part from attributions where false"
        )
        show_parts(connection, {ATTRIBUTIONS: "attributions", COMMITTED: "of_commitments"})
        yield connection


def walk_of(connection: duckdb.DuckDBPyConnection, ended: list[tuple[str, int, Decimal]]) -> Walk:
    def end(ending: str, name: str, column: str, rows: str) -> None:
        count, total = connection.execute(f"select count(*), sum(amount_) from {rows}").fetchone() or (0, 0)
        ended.append((name, count, total))

    return Walk(connection, end, columns_of(connection))


FIGURE = "fct_training_run_costs/r,2026-07-01,USD,host,tag/effective_cost"
KEYS = {name: table.key for name, table in traced().items()}


def test_a_figure_ends_in_the_rows_that_it_is_the_sum_of_and_in_no_others(published: duckdb.DuckDBPyConnection) -> None:
    ended: list[tuple[str, int, Decimal]] = []
    walk = walk_of(published, ended)
    assert walked(walk, of_published(FIGURE, KEYS)) == ("7.000000000000", "sum")
    assert ended == [("fct_charge_attributions", 2, 7)]
    assert [(step.table, step.rows) for step in walk.steps] == [
        ("fct_training_run_costs", 1),
        ("fct_run_cell_costs", 1),
        ("fct_charge_attributions", 2),
    ]


def test_a_figure_that_its_rows_do_not_give_is_refused(published: duckdb.DuckDBPyConnection) -> None:
    published.execute("update attributions set effective_cost = effective_cost + 0.000000000001 where charge_group_id like '%|1'")
    with pytest.raises(GateError, match=r"add up to 7\.000000000001, it states 7\.000000000000"):
        walked(walk_of(published, []), of_published(FIGURE, KEYS))


def test_zero_rows_prove_nothing(published: duckdb.DuckDBPyConnection) -> None:
    published.execute("delete from attributions; delete from published.marts.fct_run_cell_costs")
    with pytest.raises(GateError, match="add up to 0, it states 7"):
        walked(walk_of(published, []), of_published(FIGURE, KEYS))


def test_a_row_that_is_not_there_has_no_figure(published: duckdb.DuckDBPyConnection) -> None:
    for name in ("x,2026-07-01,USD,host,tag/effective_cost", "r,2026-07-01,USD,host,' or true --/effective_cost"):
        with pytest.raises(FigureError, match="0 rows"):
            walked(walk_of(published, []), of_published(f"fct_training_run_costs/{name}", KEYS))


def test_a_part_of_a_bill_leads_to_the_rows_that_it_is_a_part_of(published: duckdb.DuckDBPyConnection) -> None:
    influence = Influence(walk_of(published, []))
    influence.begin("fct_charge_attributions", "from attributed where charge_group_id like '%|1'")
    influence.spread()
    found = {one["table"]: one["count"] for one in influence.tables(1)}
    assert found == {"marts.fct_charge_attributions": 1, "marts.fct_run_cell_costs": 1, "marts.fct_training_run_costs": 1}
