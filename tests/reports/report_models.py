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
IN_COMMON = DBT / "models" / "intermediate" / "reporting"
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
    return f"(\n{statement(name)}\n)" if (IN_COMMON / f"{name}.sql").exists() else f"marts.{name}"


@cache
def statement(model: str) -> str:
    """The SELECT of one model; that of a table in common is in it in brackets."""
    (path,) = (DBT / "models").rglob(f"{model}.sql")
    return ENVIRONMENT.from_string(path.read_text()).render(_names()).strip()


def report_models() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.sql"))
