"""The page about adding a source is complete: it lists every product file that names an existing kind; its example is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dagster_project.kinds import built_kinds

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adding-a-source.md").read_text(encoding="utf-8")
TABLE, EXAMPLE = PAGE.split("## Example: exchange rates")
PLACE = re.compile(r"`((?:[A-Za-z_<>]+/)*[A-Za-z_<>]+\.[a-z]+)`")
LOOKED_AT = ("connectors", "dagster_project", "dbt/models", "demo", "docs/sources")


def places() -> list[str]:
    """The paths of the second column, with <placeholders>."""
    rows = re.findall(r"^\| \d+ \|([^|]*)\|", TABLE, flags=re.MULTILINE)
    return [place for row in rows for place in PLACE.findall(row)]


def pattern_of(place: str) -> re.Pattern[str]:
    """A placeholder is any name; a placeholder that is a folder may also be several folders or none."""
    text = re.escape(place).replace("/<folder>/", "/(?:[^/]+/)*").replace("/<layer>/", "/[^/]+/")
    return re.compile(re.sub(r"<[a-z]+>", "[^/]+", text))


def files_that_name(kind: str) -> list[str]:
    word = re.compile(rf"\b(?:{kind}|Kind\.{kind.upper()})\b")
    found = []
    for folder in LOOKED_AT:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".sql", ".yml", ".md") and word.search(path.read_text(encoding="utf-8")):
                found.append(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize("kind", built_kinds())
def test_every_product_file_that_names_a_kind_is_a_place_of_the_page(kind: str) -> None:
    patterns = [pattern_of(place) for place in places()]
    # another source's page may point to this one
    named = [file for file in files_that_name(kind) if not file.startswith("docs/sources/") or file == f"docs/sources/{kind}.md"]
    assert f"docs/sources/{kind}.md" in named and "dagster_project/kinds.py" in named
    assert [file for file in named if not any(pattern.fullmatch(file) for pattern in patterns)] == []


def test_places_without_a_placeholder_exist() -> None:
    fixed = [place for place in places() if "<" not in place]
    assert len(fixed) > 10
    assert [place for place in fixed if not (ROOT / place).exists()] == []


def test_every_row_of_the_example_is_a_file_that_names_the_kind() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| `([^`]+)` \|", EXAMPLE, flags=re.MULTILINE))
    assert len(rows) >= 12
    for file in rows.values():
        assert "fx_rates" in (ROOT / file).read_text(encoding="utf-8").lower(), file


def test_the_example_leaves_out_only_what_it_says_and_what_the_page_asks_of_other_facts() -> None:
    of_all = set(re.findall(r"^\| (\d+) \|[^|]*\|[^|]*\| all", TABLE, flags=re.MULTILINE))
    shown = set(re.findall(r"^\| (\d+) \|", EXAMPLE, flags=re.MULTILINE))
    assert of_all - shown <= {"18", "19", "20"}, "lists and changes are the same for every kind"
