"""The quarterly report as files: pages of a file that lacks something, nothing of what is refused."""

import re
from pathlib import Path

import duckdb
import pytest

from reports.errors import PublicationError, QuarterError
from reports.quarterly import render
from tests.reports.kit import changed, record_of, rendered, tables_of, values_of
from tests.reports.published_fixture import TWO_RUNS, write_published
from tests.reports.published_rows import PAYERS, Run


def test_no_path_and_no_clock_value_reaches_the_report(published: Path, tmp_path: Path) -> None:
    report = rendered(published, "2026Q3", tmp_path)
    with duckdb.connect(str(published), read_only=True) as connection:
        landed = connection.execute("select distinct strftime(landed_at, '%Y-%m-%d %H:%M') from ops.dim_deliveries").fetchall()
    for text in (report.html.read_text(), report.json.read_text()):
        assert str(published.parent) not in text and str(tmp_path) not in text
        assert not [time for (time,) in landed if time in text]


@pytest.mark.in_turn
@pytest.mark.parametrize("runs", [(), TWO_RUNS[:1]])
def test_a_quarter_of_no_run_or_one_run_renders(runs: tuple[Run, ...], tmp_path: Path) -> None:
    report = rendered(write_published(tmp_path / "p.duckdb", runs, payers=PAYERS[:1]), "2026Q2", tmp_path)
    assert len(values_of(record_of(report), "largest_runs")) == len(runs)
    assert ("No run has a cost in this quarter." in report.html.read_text()) == (not runs)
    stated = {sentence["id"]: sentence["text"] for sentence in record_of(report)["sections"][0]["sentences"]}
    assert stated["cost"].startswith(
        "1 training run cost" if runs else "No training run cost anything in 2026Q2; all that was billed is"
    )
    assert ("energy" in stated) == bool(runs) and "emissions" in stated  # a bill without runs has emissions to file


@pytest.mark.in_turn
def test_a_quarter_without_data_is_refused_and_the_quarters_with_data_are_named(published: Path, tmp_path: Path) -> None:
    with pytest.raises(QuarterError, match=r"^Nothing is published of 2031Q1: there are data of 2026Q2 and 2026Q3\.$"):
        rendered(published, "2031Q1", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    empty = write_published(tmp_path / "p.duckdb", (), payers=(), with_odd_rows=False)
    with pytest.raises(QuarterError, match=r"^Nothing is published of 2026Q2: there are none of any quarter\.$"):
        rendered(empty, "2026Q2", tmp_path / "out")


INTERNAL = r"\b(marts|ops|dbt|gx|assert|fct|dim|rpt|stg|int)[._]\w|published file has no|Nothing is shown"


@pytest.mark.in_turn
def test_what_the_publication_does_not_have_is_left_out_and_nothing_internal_is_printed(published: Path, tmp_path: Path) -> None:
    path = write_published(tmp_path / "p.duckdb", TWO_RUNS, payers=PAYERS[:1])
    with duckdb.connect(str(path)) as connection:
        views = connection.execute("select view_name from duckdb_views() where schema_name = 'marts'").fetchall()
    tables_gone = ("fct_training_run_energy", "fct_prepaid")
    changed(path, *(f"drop view marts.{view}" for (view,) in views), *(f"drop table marts.{table}" for table in tables_gone))
    lacking, whole = rendered(path, "2026Q2", tmp_path / "lacking"), rendered(published, "2026Q3", tmp_path / "whole")
    for report in (lacking, whole):
        text = re.sub(r"<[^>]+>", " ", report.html.read_text().partition("</style>")[2])
        assert not re.findall(INTERNAL, text)
    tables = tables_of(record_of(lacking))
    assert "cost_by_team" in tables and not {"prepaid", "energy_by_team", "energy_by_month"} & tables.keys()


@pytest.mark.in_turn
def test_a_file_of_an_older_version_still_renders_as_a_draft(tmp_path: Path) -> None:
    path = changed(write_published(tmp_path / "p.duckdb", TWO_RUNS), "drop table ops.dim_deliveries")
    report = rendered(path, "2026Q2", tmp_path)
    assert report.status == "draft" and "an older version published these data" in report.reasons[0]


@pytest.mark.in_turn
def test_rendering_again_removes_the_tables_that_are_gone_and_nothing_else(published: Path, tmp_path: Path) -> None:
    folder = rendered(published, "2026Q2", tmp_path).html.parent
    (folder / "tables" / "of_an_older_version.csv").write_text("x\n")
    (folder / "note.txt").write_text("mine\n")
    report = rendered(published, "2026Q2", tmp_path)
    assert {path.name for path in (folder / "tables").iterdir()} == {path.name for path in report.tables}
    assert (folder / "note.txt").exists()


@pytest.mark.parametrize("quarter", ["2026Q5", "2026-Q3", "2026q3", "../2026Q3", "", "2026Q3\n"])
def test_what_is_not_a_quarter_is_refused_by_name(published: Path, tmp_path: Path, quarter: str) -> None:
    with pytest.raises(QuarterError, match="is not a quarter"):
        rendered(published, quarter, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_a_publication_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(PublicationError, match="trainledger refresh"):
        render(tmp_path / "absent.duckdb", "2026Q2", tmp_path, organisation="Example AG")
    garbage = tmp_path / "garbage.duckdb"
    garbage.write_bytes(b"not a database" * 500)
    with pytest.raises(PublicationError, match="cannot be read"):
        render(garbage, "2026Q2", tmp_path, organisation="Example AG")
    empty = changed(tmp_path / "empty.duckdb", "create table t (a int)")
    with pytest.raises(PublicationError, match="no schema `marts`"):
        render(empty, "2026Q2", tmp_path, organisation="Example AG")
