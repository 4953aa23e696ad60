"""The documentation site, built as `make docs` builds it and opened from its files in a browser."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.browser import open_page
from tests.docs.environment import PROGRAMS, ROOT, must_be_installed

pytestmark = pytest.mark.slow

LOADED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
PATHS = ("Engineer", "Analyst", "Controller", "Auditor")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a link or a section that leads nowhere fails the build."""
    must_be_installed()
    folder = tmp_path_factory.mktemp("site")
    build = [PROGRAMS / "mkdocs", "build", "-q", "--strict", "--site-dir", folder]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_is_there_and_none_loads_anything_from_another_host(site: Path) -> None:
    for page in ROOT.glob("docs/**/*.md"):
        place = page.relative_to(ROOT / "docs").as_posix().replace("README.md", "index.md")
        assert (site / place).with_suffix(".html").exists(), place
    pages = sorted(site.rglob("*.html"))
    assert LOADED.search('<script src="https://unpkg.com/shim"></script>')
    assert {page.name: LOADED.findall(page.read_text(encoding="utf-8")) for page in pages} == {page.name: [] for page in pages}
    assert not list(site.rglob("*.py"))
    # a diagram would be drawn by a script of another host, or stay text in a language of its own
    assert [page.name for page in pages if re.search("mermaid|graphviz", page.read_text(encoding="utf-8"))] == []


def test_from_its_files_the_four_paths_lead_to_pages_the_search_finds_one_and_no_host_is_asked(site: Path) -> None:
    with open_page() as browser:
        asked: list[str] = []
        browser.on("request", lambda request: asked.append(request.url))
        browser.goto((site / "index.html").as_uri())
        for path in PATHS:
            links = browser.locator(f"p:has(strong:text-is('{path}')) + ol a")
            steps = links.evaluate_all("links => links.map(link => link.href)")
            assert len(steps) >= 4, path
            for step in steps:
                browser.goto(step)
                assert browser.locator("h1").count() == 1, step
            browser.goto((site / "index.html").as_uri())
        browser.get_by_role("textbox", name="Search").click()
        browser.keyboard.type("capacity block")
        browser.locator(".md-search-result__link", has_text="Capacity blocks").first.click()
        browser.wait_for_url("**/methodology/cost.html**")
        assert len(asked) > 50 and [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
