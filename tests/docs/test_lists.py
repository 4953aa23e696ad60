"""Lists that are generated are those of today, and no page denies what the product has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs import lists

PAGES = sorted([*lists.ROOT.glob("*.md"), *lists.ROOT.glob("docs/**/*.md"), *lists.ROOT.glob("benchmarks/*.md")])
DENIAL = re.compile(r"\bnot (?:built|computed|implemented|supported|there)\b|\bnot yet\b")
# commands that are everyday words: only in code marks is one meant
EVERYDAY = {"record", "report", "status", "export", "model", "quarterly", "activity", "focus", "compare"}
EVERYDAY |= {"digest", "verify", "trace", "sql", "dbt", "ui", "demo", "init", "run"}


def names() -> set[str]:
    """Tables of the dbt project and commands of the CLI."""
    every = lists.ROOT.glob("dbt/models/**/*.sql")
    models = {path.stem for path in every if "pages" not in path.parts}  # pages have the names of things: build, prepaid
    commands = re.findall(r"^\| `trainledger ([a-z ]+[a-z])", lists.commands(), re.MULTILINE)
    return models | {command.split()[-1] for command in commands}


def denials(text: str) -> list[str]:
    """Sentences that deny something by name: a table, `a command`, or a command whose name is no everyday word."""
    known = names()
    found = []
    for sentence in re.split(r"(?<=[.|]) |\n\n", text):
        if DENIAL.search(sentence):
            words = set(re.findall(r"[a-z_0-9]+", sentence)) & (known - EVERYDAY)
            words |= set(re.findall(r"`(?:trainledger )?([a-z_]+)[^`]*`", sentence)) & known
            found += [f"{' '.join(sentence.split())} ({', '.join(sorted(words))})"] if words else []
    return found


@pytest.mark.parametrize(("page", "name"), lists.LISTS)
def test_a_generated_list_is_that_of_today(page: str, name: str) -> None:
    found = (lists.ROOT / page).read_text(encoding="utf-8")
    assert found == lists.written(page, name, lists.LISTS[page, name]), "write it again: python -m tests.docs"


def test_a_sentence_that_denies_a_table_or_a_command_is_found() -> None:
    assert denials("The comparison (`rpt_break_even`) is not built yet.") != []
    assert denials("Issued reports and restatements are not built yet.") != []
    assert denials("`trainledger trace` is not there.") != []
    assert denials("A row that Google has put on no invoice yet is not yet used.") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(lists.ROOT).as_posix())
def test_no_page_denies_what_the_product_has(page: Path) -> None:
    assert denials(page.read_text(encoding="utf-8")) == []
