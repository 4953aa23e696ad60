"""The documentation: links lead somewhere, decisions are complete, example queries are listed, the test command can be copied.

Whether the queries run on a publication is tested with the publication.
"""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
DECISIONS = sorted(ROOT.glob("docs/adr/[0-9]*.md"))
INDEX = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
OWN_INPUTS = {"fx_rates.md", "user_inputs.md"}  # tables that people write: no provider has a page about them
SOURCES_OF_PROVIDERS = [page for page in sorted(ROOT.glob("docs/sources/*.md")) if page.name not in OWN_INPUTS]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
SECTION = re.compile(r"\]\(([^)#\s:]*)#([^)\s]+)\)")


def named(path: Path) -> str:
    """A page's name in test output."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_of_this_repository_or_to_a_page_with_the_day_it_was_read(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    for link in LINK.finditer(text):
        target = link[1]
        if "://" not in target:
            assert (page.parent / target).exists(), f"{named(page)} links to {target}, which is not there"
            continue
        assert target.startswith("https://"), f"{named(page)} links to {target}"
        read = re.match(r"[^\]|]{0,60}?\bread (\d{4}-\d{2}-\d{2})\b", text[link.end() :])
        assert read, f"{named(page)} links to {target} without the day it was read"
        assert dt.date(2026, 1, 1) <= dt.date.fromisoformat(read[1])


@pytest.mark.parametrize("page", SOURCES_OF_PROVIDERS, ids=named)
def test_what_a_source_page_takes_from_a_provider_is_linked(page: Path) -> None:
    """A section with the provider's pages, and no page of a provider named elsewhere without its link."""
    text = page.read_text(encoding="utf-8")
    assert "\n## Provider pages\n" in text
    section = text.split("\n## Provider pages\n")[1].split("\n## ")[0]
    assert re.findall(r"^- \[[^\]]+\]\(https://[^)]+\), read \d{4}-\d{2}-\d{2}: ", section, flags=re.MULTILINE)
    assert all(line.startswith(("- [", "  ")) for line in section.strip().splitlines()), "each line is a linked page"
    without_links = re.sub(r"\[[^\]]*\]\([^)]*\)", "", text)
    assert not re.search(r"\b(documentation|user guide|release notes|data schema|API reference)\b", without_links, re.IGNORECASE)


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


def test_the_index_leads_every_number_of_a_decision_to_the_page_that_holds_it() -> None:
    rows = re.findall(r"^\| (\d{4})[^|]*\| \[[^\]]+\]\((\d{4})[^)]*\) \|$", INDEX, flags=re.MULTILINE)
    assert [number for number, _ in rows] == [f"{number:04}" for number in range(1, len(rows) + 1)], "each number once"
    held = {}
    for page in DECISIONS:
        line = re.search(r"^Holds ([^.]+)\.$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        numbers = re.findall(r"\d{4}", line[1]) if line else [page.name[:4]]
        assert page.name[:4] == min(numbers), f"{page.name} keeps the lowest number of those it holds"
        held |= dict.fromkeys(numbers, page.name[:4])
    assert dict(rows) == held


@pytest.mark.parametrize("page", DECISIONS, ids=named)
def test_a_decision_states_context_decision_and_consequences_in_this_order(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {page.name[:4]} ")
    places = [text.find(f"**{part}.**") for part in ("Context", "Decision", "Consequences")]
    assert places == sorted(places)
    assert -1 not in places


@pytest.mark.parametrize("page", DECISIONS, ids=named)
def test_a_decision_is_the_rule_as_it_is_now(page: Path) -> None:
    """A page that another one amends would have to be read beside it: the page itself is changed, the changelog has a line."""
    assert not re.search(r"\b(?:superseded|amended|replaced) by \[\d{4}\]", page.read_text(encoding="utf-8"), re.IGNORECASE)


def test_every_example_query_is_listed_and_shows_what_it_answers() -> None:
    listed = set(re.findall(r"\(sql/([a-z_]+\.sql)\)", (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")))
    queries = sorted(ROOT.glob("docs/sql/*.sql"))
    assert listed == {path.name for path in queries}
    assert len(queries) == 9
    for path in queries:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("-- "), path.name
        assert text.count(";") == 1 and text.rstrip().endswith(";"), f"{path.name} is one statement"


def test_no_page_installs_from_an_index_what_no_index_has() -> None:
    """Goes with the first release that an index has; until then a stranger could take the name."""
    by_name = re.compile(r"\binstall\b[^\n`]*[ '\"]trainledger(?:-\w+)?(?:\[[\w,]+\])?(?=[\s'\"`=<>~]|$)", re.MULTILINE)
    pages = [*PAGES, *(ROOT / folder / "README.md" for folder in ("benchmarks", "recorder", "verify"))]
    assert by_name.search("pip install -q 'trainledger-verify[rendering]'") and by_name.search("pipx install trainledger")
    assert not by_name.search("pip install 'dist/wheels/trainledger_verify-1.0-py3-none-any.whl[rendering]'")
    found = {named(page): by_name.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert not {page: texts for page, texts in found.items() if texts}


def test_the_changelog_shows_how_numbers_move_in_every_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert versions
    for version in versions:
        assert "### How numbers move" in version, version.splitlines()[0]
