"""No model compares every row of a table with every row of another: nothing on a hundred rows, days on a million."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dagster_project.publishing.digest import literal
from dagster_project.warehouse import modelling, statements

pytestmark = pytest.mark.slow
EVERY_PAIR = ("BLOCKWISE_NL_JOIN", "NESTED_LOOP_JOIN")
FEW_ROWS = {
    "int_measured_run_energy",  # an organisation's own meter readings, which people write into a file: few
    "int_comparison_needs",  # figures of a comparison beside the 77 effects of a plan
    "int_claim_pairs",  # the one window that is asked about
    "int_claim_shares",  # the end of the last window beside sides of claims
    "int_claim_strata",  # claims of vendors beside quantiles of F: a few dozen each
    "int_runs_to_target",  # the one window that is asked about
    "int_metered_power",  # four spacings of points
    "int_carbon_period_shares",  # carbon stated by quarter or year beside the months of the ledger
    "int_implausible_power",  # the months of a build beside what schedulers counted of jobs
}


def compares_every_pair(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    [(_, plan)] = connection.execute(f"explain {sql}").fetchall()
    return any(join in plan for join in EVERY_PAIR)


def test_no_model_compares_every_pair_of_rows(demo_home: Path) -> None:
    home = demo_home / "trainledger-home"
    built = [key for key, node in modelling.project(home)["nodes"].items() if statements.is_built(node)]
    texts = {key.rpartition(".")[2]: text for key, text in modelling.compiled(home).items() if key in built and key[0] == "m"}
    assert len(texts) > 90, "the project was not compiled"
    with duckdb.connect() as connection:
        connection.execute(f"attach {literal(str(home / 'build.duckdb'))} as build (read_only)")
        connection.execute("use build")
        assert {name for name, sql in texts.items() if compares_every_pair(connection, sql)} == FEW_ROWS


def test_a_condition_on_the_left_side_alone_is_found() -> None:
    with duckdb.connect() as connection:
        connection.execute("create table a as select range as i from range(9); create table b as from a")
        assert compares_every_pair(connection, "select * from a left join b on a.i > 3 and a.i = b.i")
        assert not compares_every_pair(connection, "select * from a left join b on case when a.i > 3 then a.i end = b.i")
