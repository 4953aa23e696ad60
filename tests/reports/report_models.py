"""The SELECT of a report model over a small published file: its own text with schema `marts`, without dbt.

Report models read published tables, and what they have in common, alone, so that their names are all there is to compile.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

DBT = Path(__file__).resolve().parents[2] / "dbt"
FOLDER = DBT / "models" / "marts" / "reports"
IN_COMMON = {
    path.stem: path for name in ("reporting", "comparison") for path in (DBT / "models" / "intermediate" / name).glob("*.sql")
}
NAMED = re.compile(r"\bint_\w+\b")
WITH = re.compile(r"(?:\s|--[^\n]*\n)*with\s", re.IGNORECASE)
LISTS = re.compile(r"{% macro (\w+)\(\) -%}\s*{{ return\((\[.*?\])\) }}\s*{%- endmacro %}", re.DOTALL)
ENVIRONMENT = jinja2.Environment(extensions=["jinja2.ext.do"], autoescape=False)


@cache
def _names() -> dict[str, Any]:
    """What dbt gives a model: its macros, and the few words of dbt's own that report models use."""
    paths = [path for path in sorted((DBT / "macros").glob("*.sql")) if path.stem not in ("by_month", "testing")]
    text = "\n".join(path.read_text() for path in paths)
    lists = {name: _giving(ast.literal_eval(items)) for name, items in LISTS.findall(text)}  # a macro of dbt may return a list
    dispatched: dict[str, Any] = {}

    class Adapter:
        def dispatch(self, name: str, package: str) -> Any:
            return dispatched[f"duckdb__{name}"]

    names = {"ref": _ref, "config": lambda **settings: "", "return": lambda value: value, "adapter": Adapter(), **lists}
    module = ENVIRONMENT.from_string(LISTS.sub("", text)).make_module(names)
    dispatched |= {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return names | dispatched


def _giving(items: list[str]) -> Callable[[], list[str]]:
    return lambda: items


def _ref(name: str) -> str:
    return name if name in IN_COMMON else f"marts.{name}"


@cache
def _text(model: str) -> str:
    (path,) = (DBT / "models").rglob(f"{model}.sql")
    return ENVIRONMENT.from_string(path.read_text()).render(_names()).strip()


@cache
def statement(model: str) -> str:
    """The SELECT of one model, with those of the tables in common that it reads written before it."""
    text, written = _text(model), dict[str, str]()

    def write(reader: str) -> None:
        for name in NAMED.findall(reader):
            if name in IN_COMMON and name not in written:
                write(_text(name))
                written[name] = f"{name} as (\n{_text(name)}\n)"

    write(text)
    if not written:
        return text
    begun = WITH.match(text)
    return f"with {', '.join(written.values())}{', ' if begun else ' '}{text[begun.end() :] if begun else text}"


def report_models() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.sql"))
