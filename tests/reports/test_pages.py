"""Pages: how rows are chosen by arguments, and that what a page declares is what the published file of the demo has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.publishing.statements import Page, write_pages
from dagster_project.settings import load_settings
from dagster_project.warehouse import modelling
from dagster_project.warehouse.home import Home
from reports import pages
from reports.errors import PublicationError
from reports.publication import Publication
from reports.quarter import Quarter

RUNS = """select * from (values ('a', 'O''Neill', date '2026-08-03'), ('b', 'vision', date '2026-09-01'), ('c', null, null))
    as of_runs (run, team, began), (select /* until */ timestamp '2026-09-01' /* end of until */ as until) as asked"""


@pytest.fixture
def publication() -> Iterator[Publication]:
    """A published file with one page and four ways to choose its rows."""
    ways: dict[str, dict[str, Any]] = {
        "of_team": {"team": "$team"},
        "of_month": {"began": {"contains": "$month"}},
        "named": {"run": "$runs"},
        "two": {"run": ["$one", "$other"]},
    }
    printed = {id: {"rows": rows, "order": ["run desc"], "also": ["run", "until"]} for id, rows in ways.items()}
    with duckdb.connect() as connection:
        connection.execute("create schema ops")
        write_pages(
            connection, [Page("runs", RUNS, printed), Page("lost", "select * from marts.lost", {"lost": {"order": ["1"]}})]
        )
        yield Publication(connection)


@pytest.mark.parametrize(
    ("id", "arguments", "chosen"),
    [
        ("of_team", {"team": "O'Neill"}, "a"),
        ("of_team", {"team": "' or true --"}, ""),
        ("of_team", {"team": None}, "cba"),  # not asked: all
        ("of_month", {"month": "2026-08"}, "a"),
        ("of_month", {"month": None}, "cba"),
        ("named", {"runs": ["c", "a"]}, "ca"),
        ("named", {"runs": []}, ""),
        ("two", {"one": "b", "other": None}, "b"),
        ("two", {"one": None, "other": None}, ""),
    ],
)
def test_rows_are_chosen_by_arguments_and_by_none_that_is_not_given(
    id: str, arguments: dict[str, Any], chosen: str, publication: Publication
) -> None:
    assert "".join(row["run"] for row in pages.rows(publication, id, arguments)) == chosen


def test_an_argument_in_a_select_takes_the_place_of_what_the_view_has(publication: Publication) -> None:
    now = datetime.fromisoformat("2026-10-01T05:00:00")
    asked, not_asked = ({"runs": ["a"], "until": now}, {"runs": ["a"]})
    assert pages.rows(publication, "named", asked) == [{"run": "a", "until": now}]
    assert pages.rows(publication, "named", not_asked) == [{"run": "a", "until": datetime.fromisoformat("2026-09-01")}]
    assert [row["run"] for row in pages.rows(publication, "of_team", {"team": None}, most=2)] == ["c", "b"]


@pytest.mark.parametrize(("id", "missing"), [("lost", "marts.lost"), ("of_an_older_version", "page of_an_older_version")])
def test_what_a_publication_lacks_is_no_row_or_an_error_that_names_it(id: str, missing: str, publication: Publication) -> None:
    assert pages.rows(publication, id, {}) == []
    with pytest.raises(PublicationError, match=missing):
        pages.rows(publication, id, {}, is_needed=True)


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield connection


@pytest.mark.slow
def test_every_page_has_the_columns_and_types_that_its_yaml_describes(
    demo_home: Path, published: duckdb.DuckDBPyConnection
) -> None:
    home = Home.of(load_settings(demo_home / "trainledger.yaml"))
    nodes = modelling.project(home.root)["nodes"].values()
    described = {node["name"]: node["columns"] for node in nodes if node["path"].startswith("pages/")}
    views = {view for (view,) in published.execute("select view_name from duckdb_views() where schema_name = 'pages'").fetchall()}
    assert views and views <= described.keys()
    different = {}
    for view in sorted(views):
        found = [(name, kind) for name, kind, *_ in published.execute(f'describe pages."{view}"').fetchall()]
        empty = ", ".join(f'cast(null as {column["data_type"]}) as "{name}"' for name, column in described[view].items())
        expected = [(name, kind) for name, kind, *_ in published.execute(f"describe select {empty}").fetchall()]
        if found != expected:
            different[view] = (found, expected)
    assert different == {}


@pytest.mark.slow
def test_every_printed_table_chooses_orders_and_shows_columns_that_its_page_has(published: duckdb.DuckDBPyConnection) -> None:
    publication = Publication(published)
    arguments = defaultdict[str, object](lambda: None, Quarter.parse("2026Q3").arguments)
    assert publication.pages
    for id in publication.pages:
        published.execute(f"explain {pages.query(publication, id, arguments)}")
