"""The demo's reports in a browser: ten screens, search, contents that stay, a phone, print; and the picture of the docs."""

import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from reports import comparison
from reports.quarterly import QuarterlyReport, render
from reports.sheets import render_sheets
from tests.browser import open_page, picture
from tests.reports.kit import record_of, tables_of
from tests.reports.test_report_for_readers_of_all_kinds import axe_finds

pytestmark = pytest.mark.slow

SCREEN = {"width": 1440, "height": 900}
IN_VIEW = "e => { const b = e.getBoundingClientRect(); return b.height > 0 && b.top >= 0 && b.bottom <= innerHeight; }"
UNDER_THE_CONTENTS = """e => {
    const b = e.getBoundingClientRect();
    return !!document.elementFromPoint(b.x + 4, b.y + b.height / 2).closest('nav');
}"""


@pytest.fixture(scope="module", autouse=True)
def _paper() -> Iterator[None]:
    """Here the PDF is real."""
    yield


@pytest.fixture(scope="module")
def reports(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, QuarterlyReport]:
    published, out = demo_home / "trainledger-home" / "published" / "trainledger.duckdb", tmp_path_factory.mktemp("reports")
    quarters = ("2026Q2", "2026Q3")
    return {quarter: render(published, quarter, out, organisation="Example AG (synthetic)") for quarter in quarters}


@pytest.fixture
def tab(reports: dict[str, QuarterlyReport]) -> Iterator[Any]:
    with open_page(viewport=SCREEN) as page:
        page.goto(reports["2026Q2"].html.as_uri())
        yield page


def test_a_quarter_is_within_ten_screens(reports: dict[str, QuarterlyReport], tab: Any) -> None:
    heights = {}
    for quarter, report in reports.items():
        tab.goto(report.html.as_uri())
        heights[quarter] = tab.evaluate("document.documentElement.scrollHeight")
    assert max(heights.values()) <= 10 * SCREEN["height"], heights
    tab.set_viewport_size({"width": 1240, "height": 1010})
    picture(tab, "report")


def test_the_search_finds_a_run_in_what_is_folded_and_leads_to_it(reports: dict[str, QuarterlyReport], tab: Any) -> None:
    run = tables_of(record_of(reports["2026Q2"]))["largest_runs"]["rows"][-1]["values"]["training_run_id"]
    place = tab.locator(f"tr:has-text('{run}')").last
    assert not place.is_visible()
    tab.locator("#search").fill(run.upper())
    assert "places" in tab.locator("#found").inner_text() and not tab.locator("#found").inner_text().startswith("0 ")
    tab.locator("#search").press("Enter")
    now = tab.locator(".now")
    assert run in now.inner_text() and now.evaluate(IN_VIEW)
    tab.locator("#search").fill("no run has this name")
    assert tab.locator("#found").inner_text() == "0 places" and tab.locator(".hit").count() == 0


def test_the_address_of_a_figure_opens_the_table_that_it_is_in(reports: dict[str, QuarterlyReport], tab: Any) -> None:
    row = tables_of(record_of(reports["2026Q2"]))["cost_by_team"]["rows"][-1]["id"]
    tab.goto(f"{reports['2026Q2'].html.as_uri()}#{row}/effective_cost")
    assert tab.locator(f"[id='{row}/effective_cost']").evaluate(IN_VIEW)


def test_the_contents_stay_in_view_at_a_desk_and_on_a_phone(tab: Any) -> None:
    for width in (1440, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
        assert tab.locator("nav a", has_text="At a glance").evaluate(IN_VIEW) and tab.locator("#search").evaluate(IN_VIEW)
        tab.locator("nav a", has_text="Emissions").click()
        heading = tab.locator("#emissions-h")
        assert heading.evaluate(IN_VIEW) and not heading.evaluate(UNDER_THE_CONTENTS)


def test_on_a_phone_a_wide_table_shows_that_it_goes_on_and_its_names_stay(tab: Any) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    wide = tab.locator("#board_changes .scroll")
    assert wide.evaluate("e => e.scrollWidth > e.clientWidth + 100")
    wide.scroll_into_view_if_needed()
    # the shade over the side where it goes on, and none where it ends
    edges = {"right": _shade(tab, wide, -3), "left": _shade(tab, wide, 2)}
    wide.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
    assert edges["right"] > 40 + edges["left"] and _shade(tab, wide, -3) < edges["right"] - 40
    assert wide.locator("tbody th").first.evaluate(IN_VIEW) and wide.locator(".caption-text").evaluate(IN_VIEW)


def _shade(tab: Any, table: Any, x: int) -> int:
    """How much darker than white a column of a table's picture is, at its lightest: where no letter stands."""
    box = table.bounding_box()
    left = box["x"] + (x if x >= 0 else box["width"] + x)
    png = tab.screenshot(clip={"x": left, "y": box["y"] + 4, "width": 1, "height": 30})
    # one filter byte and three or four channels per row of a picture that is a pixel wide
    chunks, at = b"", 8
    while at < len(png):
        size = int.from_bytes(png[at : at + 4], "big")
        chunks += png[at + 8 : at + 8 + size] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += size + 12
    rows = zlib.decompress(chunks)
    return 255 - rows[1]


def test_print_shows_what_the_screen_has_folded(reports: dict[str, QuarterlyReport], tab: Any) -> None:
    tab.emulate_media(media="print")
    folded = "[...document.querySelectorAll('main table')].filter(t => !t.checkVisibility({contentVisibilityAuto: true})).length"
    assert tab.evaluate(folded) == 0
    assert tab.locator("summary:visible").count() == 0 and tab.locator("nav:visible").count() == 0
    printed = "".join(page.extract_text() for page in PdfReader(BytesIO(tab.pdf(format="A4"))).pages)
    tables = tables_of(record_of(reports["2026Q2"]))
    flat = "".join(printed.split())
    missing = [id for id, table in tables.items() if table["code"] and "".join(table["title"].split()) not in flat]
    assert missing == []


def test_the_board_of_the_demo_has_two_pages_with_what_moved_and_where_the_other_verdicts_are(
    reports: dict[str, QuarterlyReport],
) -> None:
    for report in reports.values():
        record, pages = record_of(report), PdfReader(report.board).pages
        tables = tables_of(record)
        assert {row["values"]["cause"] for row in tables["restated_by_cause"]["rows"]} == {"provider_model_version"}
        first, second = ("".join(page.extract_text().split()) for page in pages)
        assert "".join(record["board"]["others"].split()) in first and "oftheannexalone." in first
        assert "".join(tables["restated_by_cause"]["title"].split()) in second and len(tables["board_figures"]["rows"]) == 6


def test_axe_finds_nothing_on_a_comparison_and_on_the_sheet_of_a_model(demo_home: Path, tmp_path: Path) -> None:
    published = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    compared = comparison.render(published, None, None, tmp_path, organisation="A").html
    assert axe_finds([compared, *render_sheets(published, tmp_path, organisation="A")[:1]]) == []
