"""axe-core on the page of a report, as a desk, a phone and the dark show it, folded and unfolded: it finds nothing."""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.browser import open_page
from tests.reports.kit import rendered
from tests.reports.published_fixture import HOSTILE, PAIRED, TWO_RUNS, write_published

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
# on a phone colours are those of the desk, in the dark nothing but colours is another
LOOKS = [
    (1240, "light", "{}"),
    (390, "light", "{rules: {'color-contrast': {enabled: false}}}"),
    (1240, "dark", "{runOnly: ['color-contrast']}"),
]
RUNS = (*TWO_RUNS, *HOSTILE, *PAIRED[:4])


@pytest.mark.slow
def test_axe_finds_nothing_on_the_page_at_a_desk_on_a_phone_and_in_the_dark(tmp_path: Path) -> None:
    report = rendered(write_published(tmp_path / "p.duckdb", RUNS), "2026Q3", tmp_path)
    found = []
    with open_page() as tab:
        # the page forbids scripts; a browser's own are not the page's
        for width, scheme, rules in LOOKS:
            tab.set_viewport_size({"width": width, "height": 1200})
            tab.emulate_media(color_scheme=scheme)
            tab.goto(report.html.as_uri())
            tab.evaluate(AXE.read_text(encoding="utf-8"))
            for state in ("folded", "unfolded"):
                for violation in tab.evaluate(f"axe.run(document, {rules})")["violations"]:
                    nodes = [node["target"] for node in violation["nodes"][:3]]
                    found.append((state, scheme, width, violation["impact"], violation["id"], len(violation["nodes"]), nodes))
                tab.locator("#search").fill("run")  # what was found has a colour of its own
                tab.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert found == []
