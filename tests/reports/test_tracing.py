"""Figure ids, and the proof of the rows behind a figure on a few rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from reports.quarter import Quarter
from reports.tracing.figures import Figure, FigureError, figure_id, in_report, of_published, parts_of, row_key
from reports.tracing.influence import changed_figures, without
from reports.tracing.proof import Prover, narrowest, opened, prove

NAMES = ("a/b", "c,d", "100%", "", "línea \n", "..", "'; drop table x; --")
BY_TEAM = (
    "select team, sum(cost) as cost from marts.fct_costs inner join marts.dim_training_runs using (training_run_id)"
    " where component = 'host' group by team order by team"
)
TABLE = {
    "id": "by_team",
    "key": ["team"],
    "sql": BY_TEAM,
    "columns": [{"id": "team"}, {"id": "cost"}],
    "rows": [{"values": {"team": "x/y", "cost": "3"}}, {"values": {"team": None, "cost": "4"}}],
}
REPORT = {
    "quarter": "2026Q3",
    "figures": [{"id": "all", "sql": "select sum(cost) as value from marts.fct_costs", "value": "17"}],
    "sections": [{"tables": [TABLE]}],
}


@pytest.fixture
def prover(tmp_path: Path) -> Iterator[Prover]:
    file = tmp_path / "published.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "create schema marts; create table marts.dim_training_runs as"
            " from (values ('r1', 'x/y'), ('r2', 'x/y'), ('r3', null)) as runs(training_run_id, team);"
            "create table marts.fct_costs as select * replace (usage_month::date as usage_month) from (values"
            " ('r1', '2026-07-01', 'host', 1), ('r2', '2026-08-01', 'host', 2), ('r3', '2026-08-01', 'host', 4),"
            " ('r1', '2026-07-01', 'disk', 10)) as costs(training_run_id, usage_month, component, cost)"
        )
    with opened(file) as found:
        yield found


@pytest.mark.parametrize("name", NAMES)
def test_an_id_is_the_same_when_it_is_read_again(name: str) -> None:
    text = figure_id(("2026Q3", "by_team"), [name, None], "cost")
    assert parts_of(text) == ("2026Q3", "by_team", [name, ""], "cost")


@pytest.mark.parametrize("text", ["", "/", "a", "a/b", "2026Q3/by_team/cost", "2026Q3//a/b", "a/b/c/d", "2026Q3/glance/"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(FigureError):
        in_report(REPORT, text)


def test_rows_that_the_figure_does_not_need_are_left_out_and_the_rest_is_proved(prover: Prover) -> None:
    figure = in_report(REPORT, "2026Q3/by_team/x%2Fy/cost")
    proof = prove(prover, figure, Quarter.parse("2026Q3"))
    assert {one.table: one.count for one in proof.rows} == {"marts.fct_costs": 2, "marts.dim_training_runs": 2}
    assert proof.sentence == "proved: 2 rows of fct_costs and 2 rows of dim_training_runs give 3"
    nobody = prove(prover, in_report(REPORT, "2026Q3/by_team//cost"), Quarter.parse("2026Q3"))
    assert nobody.value == "4" and {one.table: one.count for one in nobody.rows}["marts.fct_costs"] == 1


def test_a_guess_that_changes_the_figure_is_given_up(prover: Prover) -> None:
    """The months of the quarter leave out what the figure is made of, and so does the word that a part of it compares with."""
    sql = "select sum(cost) as value, count(*) filter (where component = 'disk') as disks from marts.fct_costs"
    proof = prove(prover, Figure("f", "glance", sql, {}, "value", "17", quarter="2026Q2"), Quarter.parse("2026Q2"))
    assert [(one.table, one.count, one.filters) for one in proof.rows] == [("marts.fct_costs", 4, ())]


def test_a_figure_that_the_file_gives_otherwise_is_refused(prover: Prover) -> None:
    changed = {**REPORT, "figures": [{**REPORT["figures"][0], "value": "18"}]}
    with pytest.raises(FigureError, match=r"gives 17 .* prints 18.*Render it again"):
        prove(prover, in_report(changed, "2026Q3/glance/all"))


def test_rows_of_a_report_table_are_followed_by_its_statement(prover: Prover) -> None:
    prover.connection.execute("create table report as " + BY_TEAM)
    sets = narrowest(prover, BY_TEAM, "(select * from report where team = 'x/y')")
    assert {one.table: one.count for one in sets} == {"marts.fct_costs": 2, "marts.dim_training_runs": 2}


def test_the_rows_behind_a_figure_are_asked_of_a_file_and_a_report(prover: Prover) -> None:
    proof = prove(prover, in_report(REPORT, "2026Q3/by_team/x%2Fy/cost"), Quarter.parse("2026Q3"))
    assert next(one.condition for one in proof.rows if one.table == "marts.fct_costs").startswith("(training_run_id in (select")


def test_a_figure_of_a_published_table_is_named_by_its_key(prover: Prover) -> None:
    keys = {"fct_costs": ("training_run_id", "component")}
    proof = prove(prover, of_published("fct_costs/r1,disk/cost", keys, {}))
    assert (proof.value, [one.count for one in proof.rows]) == ("10", [1])
    with pytest.raises(FigureError, match="named by 2 values: training_run_id, component"):
        of_published("fct_costs/r1/cost", keys, {})
    with pytest.raises(FigureError, match="No table 'x'"):
        of_published("x/r1/cost", keys, {})


def test_figures_that_change_without_a_row_rest_on_it(prover: Prover) -> None:
    with without(prover, {"marts.fct_costs": "training_run_id = 'r2'"}, {}) as left:
        assert changed_figures(prover, REPORT, left) == ["2026Q3/glance/all", "2026Q3/by_team/x%2Fy/cost"]
    with without(prover, {"marts.fct_other": "true"}, {}) as left:
        assert changed_figures(prover, REPORT, left) == []


def test_a_figure_of_a_report_table_rests_on_what_its_statement_reads(tmp_path: Path, prover: Prover) -> None:
    file = tmp_path / "with_report.duckdb"
    prover.connection.execute(f"attach '{file}' as other; copy from database published to other")
    prover.connection.execute(f"create table other.marts.rpt_teams as {BY_TEAM.replace('marts.', 'other.marts.')}; detach other")
    report = {
        **REPORT,
        "sections": [],
        "figures": [{"id": "all", "sql": "select max(cost) as value from marts.rpt_teams", "value": "4"}],
    }
    with opened(file) as with_report:
        for run, found in (("r3", ["2026Q3/glance/all"]), ("r2", [])):
            with without(with_report, {"marts.fct_costs": f"training_run_id = '{run}'"}, {"rpt_teams": BY_TEAM}) as left:
                assert changed_figures(with_report, report, left) == found


def test_a_report_table_that_has_no_room_without_a_row_is_answered_all_the_same(tmp_path: Path, prover: Prover) -> None:
    file = tmp_path / "with_report.duckdb"
    squared = "select (1000000 - sum(cost))::decimal(18, 6) * (1000000 - sum(cost))::decimal(18, 6) as cost from marts.fct_costs"
    prover.connection.execute(f"attach '{file}' as other; copy from database published to other")
    prover.connection.execute("create table other.marts.rpt_teams as select 1 as cost; detach other")
    figure = {"id": "all", "sql": "select max(cost) as value from marts.rpt_teams", "value": "1"}
    with (
        opened(file) as found,
        without(found, {"marts.fct_costs": "training_run_id = 'r3'"}, {"rpt_teams": squared}) as left,
    ):
        assert changed_figures(found, {**REPORT, "sections": [], "figures": [figure]}, left) == ["2026Q3/glance/all"]


def test_of_a_table_that_names_no_key_the_fewest_columns_in_front_that_tell_rows_apart_are_it() -> None:
    rows = [{"values": {"a": "1", "b": "x", "c": "9"}}, {"values": {"a": "1", "b": "y", "c": "9"}}]
    assert row_key({"columns": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "rows": rows}) == ["a", "b"]
