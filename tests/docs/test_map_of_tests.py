"""The page that shows which test holds which rule: every rule has one, every test it names exists, no data test is missing."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.map_page import PAGE as FILE
from tests.docs.map_page import page, rules

ROOT = Path(__file__).resolve().parents[2]
PAGE = FILE.read_text(encoding="utf-8")
FUNCTIONS = sorted(set(re.findall(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`", PAGE)))


@cache
def functions_of(file: str) -> set[str]:
    path = ROOT / file
    return set(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)) if path.exists() else set()


@cache
def unit_tests() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob("dbt/models/**/*.yml")]
    blocks = [text[text.index("\nunit_tests:") :] for text in texts if "\nunit_tests:" in text]
    return {name for block in blocks for name in re.findall(r"^  - name: (\w+)", block, re.MULTILINE)}


@pytest.mark.parametrize("file", sorted({file for file, _ in FUNCTIONS}))
def test_every_pytest_function_of_the_page_exists(file: str) -> None:
    assert {name for named, name in FUNCTIONS if named == file} - functions_of(file) == set()


def test_every_dbt_test_of_the_page_exists_and_every_data_test_is_on_it() -> None:
    assert set(re.findall(r"`unit:(\w+)`", PAGE)) - unit_tests() == set()
    assert set(re.findall(r"`dbt:(\w+)`", PAGE)) == {path.stem for path in ROOT.glob("dbt/tests/assert_*.sql")}


def test_every_other_file_of_the_page_exists() -> None:
    for file in re.findall(r"`((?:tests|dagster_project|dbt)/[a-z_/]+(?:\.py)?)`", PAGE):
        assert (ROOT / file).exists(), file


def test_each_of_the_thirteen_rules_has_a_test() -> None:
    assert {rule.number for rule in rules() if rule.number} == set(range(1, 14))
    for rule in rules():
        assert rule.held_by, rule.rule
    assert len(FUNCTIONS) > 60


def test_the_page_is_what_the_list_of_rules_makes_of_it() -> None:
    assert page() == PAGE, "write it again: python -m tests.docs.map_page"
