"""Lists that a program knows better than a person: tables from the YAML, commands from the CLI, sources from their pages.

`python -m tests.docs` writes them again, and the pages of entities and of tests. What a list is for is prose of its page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer.main
import yaml

from dagster_project.cli import app

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {
    "core": "Runs, accounts, services",
    "costs": "Cost",
    "energy": "Energy",
    "emissions": "Emissions",
    "quality": "Proof and doubt",
    "reports": "Reports and hand-over",
    "seeds": "Reference data",
}
MANY = 8  # a command with more options names none
COMMON = {"config", "debug", "help", "as_json"}  # every command has them


def _models() -> Iterator[tuple[str, dict[str, Any]]]:
    """Published tables with the folder they are described in."""
    for path in sorted([*(ROOT / "dbt" / "models" / "marts").rglob("*.yml"), *(ROOT / "dbt" / "seeds").glob("*.yml")]):
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models") or []:
            if model.get("config", {}).get("meta", {}).get("published"):
                yield path.parent.name, model


def tables() -> str:
    """A table for each folder: the first sentence of each description."""
    models = sorted(_models(), key=lambda pair: pair[1]["name"])
    lines: list[str] = []
    for folder, title in FOLDERS.items():
        rows = [model for place, model in models if place == folder]
        lines += ["", f"### {title}", "", "| Table | What it is |", "|---|---|"]
        for model in rows:
            sentence = re.split(r"(?<=[.]) ", " ".join(model["description"].split()))[0]
            lines.append(f"| `{model['name']}` | {sentence} |")
    assert {place for place, _ in models} == FOLDERS.keys()
    return "\n".join(lines)


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Path and command of click; by what they have, as typer may bring a click of its own."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _option(parameter: Any) -> str:
    shown = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "option":
        shown = parameter.opts[0] if parameter.is_flag else f"{parameter.opts[0]} {shown}"
    return shown if parameter.required or shown.startswith("[") else f"[{shown}]"


def commands() -> str:
    """Each command with its options, and the first sentences of its help."""
    lines = ["", "| Command | Does |", "|---|---|"]
    for path, command in _commands(typer.main.get_command(app), "trainledger"):
        options = [_option(one) for one in command.params if one.name not in COMMON]
        shown = options if len(options) <= MANY else [one for one in options if not one.startswith("[-")] + ["[OPTIONS]"]
        text = " ".join((command.help or "").split("\n\n")[0].split())
        lines.append(f"| `{' '.join([path, *shown])}` | {text} |")
    return "\n".join(lines)


def sources() -> str:
    """Each kind of source with the title of its page."""
    lines = ["", "| Kind | Page |", "|---|---|"]
    for page in sorted((ROOT / "docs" / "sources").glob("*.md")):
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").partition(":")[0]
        lines.append(f"| `{page.stem}` | [{title}](sources/{page.name}) |")
    return "\n".join(lines)


def queries() -> str:
    """Each query with the question that its first line states."""
    lines = ["", "| File | Answers |", "|---|---|"]
    for path in sorted((ROOT / "docs" / "sql").glob("*.sql")):
        question = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("-- ").partition("?")[0] + "?"
        lines.append(f"| [{path.name}](sql/{path.name}) | {question} |")
    return "\n".join(lines)


LISTS: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/contract.md", "tables"): tables,
    ("docs/contract.md", "queries"): queries,
    ("docs/operations.md", "commands"): commands,
    ("docs/README.md", "sources"): sources,
}


def written(page: str, name: str, make: Callable[[], str]) -> str:
    """The page with its list as it should be."""
    begins, ends = f"<!-- generated: {name} -->", "<!-- end of generated -->"
    before, _, rest = (ROOT / page).read_text(encoding="utf-8").partition(begins)
    return f"{before}{begins}\n{make()}\n\n{ends}{rest.partition(ends)[2]}"
