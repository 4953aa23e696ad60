"""axe-core on the pages of reports, as a desk, a phone and the dark show it, folded and unfolded: it finds nothing."""

from itertools import product
from pathlib import Path

import axe_playwright_python
import pytest

from reports import quarterly, yearly
from tests.browser import open_page
from tests.reports.kit import changed
from tests.reports.published_fixture import HOSTILE, PAIRED, TWO_RUNS, write_published
from tests.reports.test_yearly_report import ROWS

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
# on a phone colours are those of the desk, in the dark nothing but colours is another
LOOKS = [
    (1240, "light", "{}"),
    (390, "light", "{rules: {'color-contrast': {enabled: false}}}"),
    (1240, "dark", "{runOnly: ['color-contrast']}"),
]
RUNS = (*TWO_RUNS, *HOSTILE, *PAIRED[:4])


@pytest.mark.slow
def test_axe_finds_nothing_on_the_pages_of_a_quarter_and_of_a_year(tmp_path: Path) -> None:
    published = changed(write_published(tmp_path / "p.duckdb", RUNS), *ROWS)
    reports = [
        quarterly.render(published, "2026Q3", tmp_path, organisation="Example AG"),
        yearly.render(published, "2026", tmp_path, organisation="Example AG"),
    ]
    assert axe_finds([report.html for report in reports]) == []


def axe_finds(pages: list[Path]) -> list[tuple[object, ...]]:
    """What axe-core finds on pages, at a desk, on a phone and in the dark, folded and unfolded."""
    found = []
    with open_page() as tab:
        # the page forbids scripts; a browser's own are not the page's
        for page, (width, scheme, rules) in product(pages, LOOKS):
            tab.set_viewport_size({"width": width, "height": 1200})
            tab.emulate_media(color_scheme=scheme)
            tab.goto(page.as_uri())
            tab.evaluate(AXE.read_text(encoding="utf-8"))
            for state in ("folded", "unfolded"):
                for violation in tab.evaluate(f"axe.run(document, {rules})")["violations"]:
                    nodes = [node["target"] for node in violation["nodes"][:3]]
                    found.append((page.name, state, scheme, width, violation["impact"], violation["id"], nodes))
                if tab.locator("#search").count():
                    tab.locator("#search").fill("run")  # what was found has a colour of its own
                tab.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    return found
