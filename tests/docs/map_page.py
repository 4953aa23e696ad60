"""The tables of docs/tests.md, made from tests/docs/rules.yml: `python -m tests.docs.map_page` writes them again.

The page's own prose stays: what is between the two comments is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tests.md"
RULES = Path(__file__).parent / "rules.yml"
BEGINNING, END = "<!-- generated -->", "<!-- end of generated -->"


class Rule(NamedTuple):
    """A sentence that must be true, the tests that hold it, and its number where it is one of the ledger's thirteen."""

    section: str
    rule: str
    held_by: list[str]
    number: int | None = None


def rules() -> Iterator[Rule]:
    """All rules, in the order of the page."""
    for section, rows in yaml.safe_load(RULES.read_text(encoding="utf-8")).items():
        yield from (Rule(section=section, **row) for row in rows)


def tables() -> str:
    """A table for each section."""
    lines: list[str] = []
    section = ""
    for rule in rules():
        if rule.section != section:
            section = rule.section
            head = ["| | Rule | Held by |", "|---|---|---|"] if rule.number else ["| Rule | Held by |", "|---|---|"]
            lines += ["", f"## {section}", "", *head]
        number = f"{rule.number} | " if rule.number else ""
        lines.append(f"| {number}{rule.rule} | {', '.join(f'`{test}`' for test in rule.held_by)} |")
    return "\n".join(lines)


def page() -> str:
    """The page as it should be."""
    prose, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGINNING)
    return f"{prose}{BEGINNING}\n{tables()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
