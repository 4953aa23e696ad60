"""fct_charge_attributions: the bill in groups and parts, as Parquet by month, and what it adds up to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dagster_project.base.failures import GateError
from dagster_project.base.sql import CELL, CELL_COLUMNS
from dagster_project.publishing.digest import TableDigest
from dagster_project.publishing.month_files import write_files
from dagster_project.publishing.parts import LINK, Parts
from dagster_project.publishing.tables import PublishedTable

KEY = "source_name, usage_month, charge_group_id, training_run_id, reason, cost_component, billing_currency"
TABLE = PublishedTable("fct_charge_attributions", "marts", tuple(KEY.split(", ")), "", {}, is_parquet_only=True)


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = demo_home / "trainledger-home" / "published"
    with duckdb.connect(str(folder / "trainledger.duckdb"), read_only=True) as connection:
        files = folder / "parquet" / TABLE.name / "*.parquet"
        connection.execute(f"create temp view parts as from read_parquet('{files}', hive_partitioning = false)")
        files = folder / "parquet" / "fct_commitment_attributions" / "*.parquet"
        connection.execute(f"create temp view committed as from read_parquet('{files}', hive_partitioning = false)")
        yield connection


@pytest.mark.slow
def test_the_parts_of_the_bill_are_the_costs_of_runs_and_the_residuals_cell_by_cell(published: duckdb.DuckDBPyConnection) -> None:
    what = "billing_currency, cost_component, training_run_id, attribution_rule, reason, sum(billed_cost), sum(effective_cost)"
    parts = f"select substr(charge_group_id, 1, 12) as cell, {what} from parts group by all"
    cells = (
        f"select {CELL} as cell, {what} from (select * from marts.fct_run_cell_costs"
        " union all by name select * from marts.fct_residual_costs) group by all"
    )
    assert published.execute(f"select count(*) > 400 from ({parts})").fetchone() == (True,)
    assert not published.execute(f"from ({parts}) except all from ({cells})").fetchall()
    assert not published.execute(f"from ({cells}) except all from ({parts})").fetchall()


@pytest.mark.slow
def test_a_group_has_one_row_for_a_run_or_a_reason_and_shares_that_are_whole(published: duckdb.DuckDBPyConnection) -> None:
    assert not published.execute(f"select {KEY} from parts group by all having count(*) > 1").fetchall()
    group = "source_name, usage_month, charge_group_id, share_denominator"
    found = published.execute(
        f"select sum(cast(share_numerator as hugeint)) = cast(share_denominator as hugeint), count(*)"
        f" from (select {group}, share_numerator from parts) group by {group}"
    ).fetchall()
    assert {whole for whole, _ in found} == {True} and max(count for _, count in found) > 1


@pytest.mark.slow
def test_parts_of_commitments_are_what_was_paid_ahead(published: duckdb.DuckDBPyConnection) -> None:
    commitment = "commitment_id, usage_month, billing_currency"
    parts = f"""select {commitment}, sum(case when is_refund then 0 else billed_cost end) as purchased_cost,
            sum(case when is_refund then -billed_cost else 0 end) as refunded_cost,
            sum(case commitment_part when 'used' then effective_cost else 0 end) as amortised_used_cost,
            sum(case commitment_part when 'unused' then effective_cost else 0 end) as amortised_unused_cost
        from committed where commitment_part <> '' group by all"""
    costs = [f"{name}_cost" for name in ("purchased", "refunded", "amortised_used", "amortised_unused")]
    prepaid = f"select {commitment}, {', '.join(f'sum({cost}) as {cost}' for cost in costs)} from marts.fct_prepaid group by all"
    some = f"where {' or '.join(f'{cost} <> 0' for cost in costs)}"
    found = [published.execute(f"from ({rows}) {some} order by all").fetchall() for rows in (parts, prepaid)]
    assert len(found[0]) > 5 and found[0] == found[1]


@pytest.mark.slow
def test_what_is_of_commitments_and_of_none_adds_up_to_each_part_that_is_not_of_none_as_a_whole(
    published: duckdb.DuckDBPyConnection,
) -> None:
    sums = ", ".join(f"sum({cost}_cost)" for cost in ("billed", "effective"))
    of_parts = f"select {KEY}, row_count, share_numerator, share_denominator, attribution_rule, {sums} from {{}} group by all"
    assert not published.execute(f"from ({of_parts.format('committed')}) except all from ({of_parts.format('parts')})").fetchall()
    assert published.execute("select count(*) > 1000 from committed").fetchone() == (True,)
    assert not published.execute(
        f"select {KEY}, commitment_id, commitment_part from committed group by all having count(*) > 1"
    ).fetchall()


@pytest.mark.slow
def test_attributions_are_parquet_alone_and_their_files_are_in_the_record(
    demo_home: Path, published: duckdb.DuckDBPyConnection
) -> None:
    record = json.loads((demo_home / "trainledger-home" / "published" / "PUBLICATION.json").read_bytes())
    rows = published.execute("select strftime(usage_month, '%Y-%m'), count(*) from parts group by 1 order by 1").fetchall()
    assert list(record["files"][TABLE.name].items()) == rows
    assert {name for name in record["parquet"] if name.startswith(TABLE.name)} == {
        f"{TABLE.name}/usage_month={month}.parquet" for month, _ in rows
    }
    assert not published.execute("from duckdb_tables() where table_name = 'fct_charge_attributions'").fetchall()


def test_parts_that_do_not_add_up_to_a_cell_are_not_published(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "new.duckdb")) as connection:
        connection.execute(f"attach '{tmp_path / 'build.duckdb'}' as build; create schema build.marts; create schema marts")
        cell = ", ".join(f"date '2026-04-01' as {name}" if name == "usage_month" else f"'x' as {name}" for name in CELL_COLUMNS)
        costs = "cast(3 as decimal(38, 12)) as billed_cost, cast(3 as decimal(38, 12)) as effective_cost"
        which = "'USD' as billing_currency, 'host' as cost_component"
        connection.execute(
            f"create table marts.fct_run_cell_costs as select {cell}, {which}, 'r' as training_run_id, 'tag' as"
            f" attribution_rule, {costs};"
            f"create table marts.fct_residual_costs as select {cell}, {which}, 'idle' as reason, {costs} where false;"
            f"create table build.marts.fct_charge_attributions as select source_name, usage_month, {CELL} || '|o|1'"
            " as charge_group_id,"
            f" 'r' as training_run_id, cast(null as varchar) as reason, {which}, 'tag' as attribution_rule, {costs}"
            " from marts.fct_run_cell_costs"
        )
        digests = [TableDigest("fct_run_cell_costs", 1, "", {"2026-04": (1, "")}), TableDigest("fct_residual_costs", 0, "", {})]
        parts = Parts(tmp_path / "new", tmp_path / "published" / LINK, None)
        (tmp_path / "new").mkdir()
        assert write_files(connection, [TABLE], digests, parts, {}) == {TABLE.name: {"2026-04": 1}} and len(parts.hashes) == 1
        connection.execute("update build.marts.fct_charge_attributions set billed_cost = billed_cost + 0.000000000001")
        with pytest.raises(GateError, match=r"do not add up to the published costs of 2026-04.*training_run_id r"):
            write_files(connection, [TABLE], digests, parts, {})


def test_parts_of_a_commitment_that_do_not_add_up_to_its_costs_are_not_published(tmp_path: Path) -> None:
    table = PublishedTable("fct_commitment_attributions", "marts", tuple(KEY.split(", ")), "", {}, is_parquet_only=True)
    with duckdb.connect(str(tmp_path / "new.duckdb")) as connection:
        connection.execute(f"attach '{tmp_path / 'build.duckdb'}' as build; create schema build.marts; create schema marts")
        cell = ", ".join(f"date '2026-04-01' as {name}" if name == "usage_month" else f"'x' as {name}" for name in CELL_COLUMNS)
        part = """'USD' as billing_currency, 'host' as cost_component, null::varchar as training_run_id,
            null::varchar as attribution_rule, 'idle' as reason, 'plan' as commitment_id,
            'savings_plan' as commitment_kind, 'unused' as commitment_part,
            cast(0 as decimal(38, 12)) as billed_cost, cast(3 as decimal(38, 12)) as effective_cost"""
        connection.execute(f"""create table marts.fct_costs_by_commitment as select {cell}, {part};
            insert into marts.fct_costs_by_commitment by name select {cell}, {part.replace("'unused'", "''")};
            create table build.marts.fct_commitment_attributions as
                select source_name, usage_month, {CELL} || '|o|1' as charge_group_id, * exclude ({", ".join(CELL_COLUMNS)})
                from marts.fct_costs_by_commitment where commitment_part <> ''""")
        digests = [TableDigest("fct_costs_by_commitment", 2, "", {"2026-04": (2, "")})]
        parts = Parts(tmp_path / "new", tmp_path / "published" / LINK, None)
        (tmp_path / "new").mkdir()
        assert write_files(connection, [table], digests, parts, {}) == {table.name: {"2026-04": 1}}
        connection.execute("update build.marts.fct_commitment_attributions set effective_cost = 2.999999999999")
        with pytest.raises(GateError, match=r"do not add up to the published costs of 2026-04.*commitment_id plan"):
            write_files(connection, [table], digests, parts, {})
