"""The page about adding a source is complete: it lists every product file that names an existing kind; its example is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dagster_project.base.kinds import built_kinds
from dagster_project.commands.starter import TEXT as STARTER

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adding-a-source.md").read_text(encoding="utf-8")
TABLE, EXAMPLE = PAGE.split("## Example: exchange rates")
PLACE = re.compile(r"`((?:[A-Za-z_<>]+/)*[A-Za-z_<>]+\.[a-z]+)`")
LOOKED_AT = ("connectors", "dagster_project", "recorder", "dbt/models", "docs/sources")


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
    assert f"docs/sources/{kind}.md" in named and "connectors/registry.py" in named
    assert [file for file in named if not any(pattern.fullmatch(file) for pattern in patterns)] == []


def test_every_kind_has_an_entry_in_the_configuration_that_init_writes() -> None:
    assert [kind for kind in built_kinds() if not re.search(rf"\bkind: {kind}\b", STARTER)] == []


def test_places_without_a_placeholder_exist() -> None:
    fixed = [place for place in places() if "<" not in place]
    assert len(fixed) > 10
    assert [place for place in fixed if not (ROOT / place).exists()] == []


def test_every_row_of_the_example_is_a_file_that_names_the_kind() -> None:
    files = re.findall(r"^\| \d+ \| `([^`]+)` \|", EXAMPLE, flags=re.MULTILINE)
    assert len(files) >= 10
    for file in files:
        assert "fx_rates" in (ROOT / file).read_text(encoding="utf-8").lower(), file


def test_a_new_kind_takes_at_most_ten_steps() -> None:
    steps = re.findall(r"^\| (\d+) \|", TABLE, flags=re.MULTILINE)
    assert steps == [str(number) for number in range(1, len(steps) + 1)] and len(steps) <= 10


def test_the_example_has_every_step_that_all_facts_need() -> None:
    of_all = set(re.findall(r"^\| (\d+) \|[^|]*\|[^|]*\| all", TABLE, flags=re.MULTILINE))
    shown = set(re.findall(r"^\| (\d+) \|", EXAMPLE, flags=re.MULTILINE))
    assert len(of_all) > 5 and of_all <= shown
