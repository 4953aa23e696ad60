"""The documentation: links lead somewhere, decisions are complete, example queries are listed, the test command can be copied.

Whether the queries run on a publication is tested with the publication.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
DECISIONS = sorted(ROOT.glob("docs/adr/*.md"))
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
SECTION = re.compile(r"\]\(([^)#\s:]*)#([^)\s]+)\)")


def named(path: Path) -> str:
    """A page's name in test output."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_of_this_repository(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert "://" not in target, f"{named(page)} links to another host: {target}"
        assert (page.parent / target).exists(), f"{named(page)} links to {target}, which is not there"


def anchors(page: Path) -> set[str]:
    """The names under which a page's headings can be linked, by the rule of the hosts that show them."""
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#{1,6} (.*)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_to_sections_lead_to_a_heading(page: Path) -> None:
    for target, section in SECTION.findall(page.read_text(encoding="utf-8")):
        other = page.parent / target if target else page
        assert section in anchors(other), f"{named(page)} links to {target}#{section}, which is not a heading there"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_fences_are_closed_and_headings_start_with_one_title(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == 0
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert len(re.findall(r"^# ", prose, flags=re.MULTILINE)) == 1


def test_the_readme_gives_the_test_command_in_a_block_of_its_own() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert "make test\n" in blocks
    assert "make run\n" in blocks


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in DECISIONS]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("page", DECISIONS, ids=named)
def test_a_decision_says_context_decision_and_consequences_in_this_order(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {page.name[:4]} ")
    places = [text.find(f"**{part}.**") for part in ("Context", "Decision", "Consequences")]
    assert places == sorted(places)
    assert -1 not in places


def test_every_example_query_is_listed_and_says_what_it_answers() -> None:
    listed = set(re.findall(r"\(sql/([a-z_]+\.sql)\)", (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")))
    queries = sorted(ROOT.glob("docs/sql/*.sql"))
    assert listed == {path.name for path in queries}
    assert len(queries) == 9
    for path in queries:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("-- "), path.name
        assert text.count(";") == 1 and text.rstrip().endswith(";"), f"{path.name} is one statement"


def test_the_changelog_says_how_numbers_move_in_every_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert versions
    for version in versions:
        assert "### How numbers move" in version, version.splitlines()[0]
