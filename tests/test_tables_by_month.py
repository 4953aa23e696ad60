"""Tables that are built by month: the months of the build are replaced whole, every other month stays as it is.

Strangers in a table show what a build touches. The carbon cells serve: small, with nothing but the bill above them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from dagster_project.warehouse import modelling
from dagster_project.warehouse.statements import statements

pytestmark = pytest.mark.slow

TABLE = "intermediate.int_carbon_cells"
OTHER = "intermediate.int_gcp_commitments"
JUNE, MAY = "2026-06-01", "2026-05-01"


@pytest.fixture(scope="module")
def build_file(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's build after strangers came into two months of one table, another table was dropped, and June was built again."""
    folder = tmp_path_factory.mktemp("by month")
    file = shutil.copyfile(demo_home / "trainledger-home" / "build.duckdb", folder / "build.duckdb")
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"create table cells as from {TABLE}; create table commitments as from {OTHER}")
        for month in (MAY, JUNE):
            stranger = f"select * replace (date '{month}' as usage_month, 'stranger' as cell_id) from cells limit 1"
            connection.execute(f"insert into {TABLE} {stranger}")
        # whichever months the last refresh of the demo built
        connection.execute(f"drop table {OTHER}")
        connection.execute(f"delete from raw.build_months; insert into raw.build_months values (date '{JUNE}')")
    modelling.lend_parse_state(folder, folder)
    done = modelling.run_dbt(["run", "--select", "int_carbon_cells", "int_gcp_commitments"], file, folder)
    assert done.returncode == 0, done.stdout
    return file


def rows(build_file: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(build_file), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_a_month_of_the_build_has_the_rows_of_the_query_and_no_others(build_file: Path) -> None:
    of_june = f"where usage_month = date '{JUNE}'"
    assert rows(build_file, f"select count(*) from cells {of_june}") != [(0,)]
    assert not rows(build_file, f"from {TABLE} {of_june} except all from cells {of_june}")
    assert not rows(build_file, f"from cells {of_june} except all from {TABLE} {of_june}")


def test_other_months_are_not_touched(build_file: Path) -> None:
    added = rows(build_file, f"select usage_month::text, cell_id from (from {TABLE} except all from cells)")
    assert added == [(MAY, "stranger")]


def test_a_table_that_is_not_there_is_built_with_all_its_months(build_file: Path) -> None:
    assert rows(build_file, "select count(distinct usage_month) > 1 from commitments") == [(True,)]
    assert not rows(build_file, f"from commitments except all from {OTHER}")
    assert not rows(build_file, f"from {OTHER} except all from commitments")


def test_a_table_has_no_rows_without_those_it_states_to_be_empty_without(demo_home: Path, tmp_path: Path) -> None:
    """In the demo most of these tables have rows, and each loses all where the models it names have none of those it names."""
    home, filled, behind = demo_home / "trainledger-home", set[str](), dict[str, set[str]]()
    shutil.copy(home / "build.duckdb", tmp_path)
    with duckdb.connect(str(tmp_path / "build.duckdb")) as connection:
        for one in statements(home):
            behind[one.relation] = {*one.reads}.union(*(behind.get(read, set()) for read in one.reads))
            if not one.empty_without:
                continue
            filled |= {one.name} if connection.execute(f"select 1 from {one.relation} limit 1").fetchall() else set()
            connection.begin()
            sql = one.sql
            for relation, condition in one.empty_without:
                assert relation in behind[one.relation]
                name = '"build".' + ".".join(f'"{part}"' for part in relation.split("."))
                if name in sql:
                    sql = sql.replace(name, f"(from {name} where ({condition}) is not true)")
                else:  # below a view
                    connection.execute(f"delete from {relation} where {condition}")
            assert connection.execute(f"select count(*) from ({sql}) as found").fetchall() == [(0,)], one.name
            connection.rollback()
    assert {"int_chip_use", "int_node_device_spans", "int_node_readings", "int_tag_holdings"} <= filled
    assert {"fct_lost_work", "fct_purchase_costs", "int_break_even", "int_comparison_sides", "rpt_trainium_vs_tpu"} <= filled
