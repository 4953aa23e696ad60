"""Figure ids: what one names in a report or a published table, and what names nothing."""

from __future__ import annotations

from typing import Any

import pytest

from reports.tracing.figures import FigureError, figure_id, in_report, of_published, parts_of, row_key

NAMES = ("a/b", "c,d", "100%", "", "línea \n", "..", "'; drop table x; --")
TABLE: dict[str, Any] = {
    "id": "by_team",
    "model": "cost_by_team",
    "key": ["team"],
    "sql": "select 1",
    "columns": [{"id": "team"}, {"id": "cost"}],
    "rows": [{"values": {"team": "x/y", "cost": "3"}}, {"values": {"team": None, "cost": "4"}}],
}
REPORT: dict[str, Any] = {
    "quarter": "2026Q3",
    "figures": [
        {"id": "2026Q3/glance/all", "model": "headlines", "unit": "USD", "sql": "select 17", "value": "17", "whole": "20"}
    ],
    "sections": [{"tables": [TABLE]}],
}


@pytest.mark.parametrize("name", NAMES)
def test_an_id_is_the_same_when_it_is_read_again(name: str) -> None:
    text = figure_id(("2026Q3", "by_team"), [name, None], "cost")
    assert parts_of(text) == ("2026Q3", "by_team", [name, ""], "cost")


@pytest.mark.parametrize("text", ["", "/", "a", "a/b", "2026Q3/by_team/cost", "2026Q3//a/b", "a/b/c/d", "2026Q3/glance/"])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(FigureError):
        in_report(REPORT, text)


def test_a_figure_of_a_report_is_a_row_and_a_column_of_its_model() -> None:
    found = in_report(REPORT, "2026Q3/by_team/x%2Fy/cost")
    assert (found.model, found.key, found.column, found.value, found.quarter) == (
        "cost_by_team",
        {"team": "x/y"},
        "cost",
        "3",
        "2026Q3",
    )
    assert in_report(REPORT, "2026Q3-1/by_team//cost").value == "4", "of an issued report"


def test_a_headline_figure_is_a_row_of_its_page_and_its_other_numbers_are_columns() -> None:
    key = {"quarter": "2026Q3", "figure_id": "all", "unit": "USD"}
    found = in_report(REPORT, "2026Q3/glance/all")
    assert (found.model, found.key, found.column, found.value) == ("headlines", key, "value", "17")
    assert in_report(REPORT, "2026Q3/glance/all/whole").column == "whole_value"


def test_a_figure_of_a_published_table_is_named_by_its_key() -> None:
    keys = {"fct_costs": ("training_run_id", "component")}
    assert of_published("fct_costs/r1,disk/cost", keys).key == {"training_run_id": "r1", "component": "disk"}
    with pytest.raises(FigureError, match="named by 2 values: training_run_id, component"):
        of_published("fct_costs/r1/cost", keys)
    with pytest.raises(FigureError, match="No table 'x'"):
        of_published("x/r1/cost", keys)


def test_of_a_table_that_names_no_key_the_fewest_columns_in_front_that_tell_rows_apart_are_it() -> None:
    rows = [{"values": {"a": "1", "b": "x", "c": "9"}}, {"values": {"a": "1", "b": "y", "c": "9"}}]
    assert row_key({"columns": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "rows": rows}) == ["a", "b"]
