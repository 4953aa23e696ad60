"""The column catalogue below published/docs: whole, inert, readable without a network, and written only when it changes."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from dagster_project.publishing.catalogue import publish_dbt_page, write_catalogue
from dagster_project.publishing.tables import PublishedTable
from tests.browser import open_page

TABLE = PublishedTable("dim_training_runs", "marts", ("training_run_id",), "", {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A published file of two tables; the words of one of them are hostile."""
    path = tmp_path / "published" / "trainledger.duckdb"
    path.parent.mkdir()
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create schema marts; create table marts.dim_training_runs (training_run_id varchar not null, team varchar);"
            "create table marts.fct_costs (training_run_id varchar, effective_cost decimal(38, 12));"
            "comment on column marts.fct_costs.effective_cost is '<script>alert(1)</script> & more'"
        )
    return path


def test_the_page_names_keys_relations_types_and_words_and_nothing_in_it_runs(file: Path) -> None:
    write_catalogue(file, file.parent, [TABLE])
    page = (file.parent / "docs" / "index.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page and "<script>alert" not in page
    assert "Unique: training_run_id" in page and "decimal(38,12)" in page
    assert 'training_run_id leads to <a href="#marts.dim_training_runs">' in page
    assert page.count("may be null") == 3
    contents = page.split("</nav>")[0]
    assert contents.index("What figures are of") < contents.index('href="#marts.dim_training_runs"') < contents.index("Figures<")
    assert "Tables of the reports" not in page, "a group without tables has no heading"
    assert '<td><a href="#marts.dim_training_runs">training_run_id</a></td>' in page.split('id="marts.fct_costs"')[1]
    assert 'Its key is in <a href="#marts.fct_costs">' in page


def test_a_page_that_states_the_same_is_left_alone_and_dbt_s_own_is_led_to(file: Path, tmp_path: Path) -> None:
    page = file.parent / "docs" / "index.html"
    write_catalogue(file, file.parent, [TABLE])
    os.utime(page, (1, 1))
    write_catalogue(file, file.parent, [TABLE])
    assert page.stat().st_mtime == 1
    (tmp_path / "static_index.html").write_text("dbt")
    assert publish_dbt_page(tmp_path / "static_index.html", file.parent).read_text() == "dbt"
    led = page.read_text(encoding="utf-8")
    assert 'href="dbt.html"' in led
    write_catalogue(file, file.parent, [TABLE])
    assert page.read_text(encoding="utf-8") == led


@pytest.mark.slow
def test_the_catalogue_of_the_demo_opens_without_a_network_and_finds_a_column(demo_home: Path) -> None:
    page = demo_home / "trainledger-home" / "published" / "docs" / "index.html"
    with open_page(color_scheme="dark") as browser:
        asked: list[str] = []
        browser.on("request", lambda request: asked.append(request.url))
        browser.goto(page.as_uri())
        assert asked == [page.as_uri()]
        dark = browser.evaluate("getComputedStyle(document.querySelector('td')).borderTopColor")
        browser.emulate_media(color_scheme="light")
        assert browser.evaluate("getComputedStyle(document.querySelector('td')).borderTopColor") != dark
        browser.get_by_label("Find").fill("is_elected reconciliation")
        shown = browser.eval_on_selector_all("section:not([hidden])", "parts => parts.map(part => part.id)")
        assert "marts.fct_reconciliation" in shown and "marts.dim_regions" not in shown
        targets = browser.eval_on_selector_all("a[href^='#']", "links => links.map(link => link.hash.slice(1))")
        assert len(targets) > len(shown) and not [name for name in {*targets} if browser.locator(f"[id='{name}']").count() != 1]
