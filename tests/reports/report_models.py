"""The SELECT of a report model or a page over a small published file: its own text with schema `marts`, without dbt.

Report models read published tables, and what they have in common, alone, so that their names are all there is to compile.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import yaml

from dagster_project.publishing.statements import Page, write_pages

DBT = Path(__file__).resolve().parents[2] / "dbt"
FOLDER = DBT / "models" / "marts" / "reports"
PAGES = DBT / "models" / "pages"
SHARED = "intermediate/reporting", "intermediate/comparison", "pages/shared"
IN_COMMON = {path.stem: path for name in SHARED for path in (DBT / "models" / name).glob("*.sql")}
NAMED = re.compile(rf"\b(?:{'|'.join(IN_COMMON)})\b")
WITH = re.compile(r"(?:\s|--[^\n]*\n)*with\s", re.IGNORECASE)
LISTS = re.compile(r"{% macro (\w+)\(\) -%}\s*{{ return\(([\[{].*?[\]}])\) }}\s*{%- endmacro %}", re.DOTALL)
ENVIRONMENT = jinja2.Environment(extensions=["jinja2.ext.do"], autoescape=False)


@cache
def _names() -> dict[str, Any]:
    """What dbt gives a model: its macros, and the few words of dbt's own that report models use."""
    paths = [path for path in sorted((DBT / "macros").glob("*.sql")) if path.stem not in ("by_month", "page", "testing")]
    text = "\n".join(path.read_text() for path in paths)
    lists = {name: _giving(ast.literal_eval(items)) for name, items in LISTS.findall(text)}  # a macro of dbt may return a list
    dispatched: dict[str, Any] = {}

    class Adapter:
        def dispatch(self, name: str, package: str) -> Any:
            return dispatched[f"duckdb__{name}"]

    names = {
        "ref": _ref,
        "source": "{}.{}".format,
        "config": lambda **settings: "",
        "return": lambda value: value,
        "adapter": Adapter(),
        **lists,
    }
    module = ENVIRONMENT.from_string(LISTS.sub("", text)).make_module(names)
    dispatched |= {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return names | dispatched


def _giving(items: Any) -> Callable[[], Any]:
    return lambda: items


def phrase(macro: str) -> str:
    """What a macro without arguments writes into a model."""
    return str(_names()[macro]()).strip()


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


@cache
def pages() -> list[Page]:
    """Every page, and every published table of which rows are printed as they are."""
    found = []
    for path in sorted(DBT.glob("models/**/*.yml")):
        described = yaml.load(path.read_bytes(), yaml.CSafeLoader) or {}
        nodes = [("marts", node) for node in described.get("models", [])]
        nodes += [(of["name"], node) for of in described.get("sources", []) for node in of["tables"]]
        for schema, node in nodes:
            name, printed = node["name"], node.get("config", {}).get("meta", {}).get("printed", {})
            if PAGES in path.parents and name not in IN_COMMON:
                found.append(Page(name, statement(name), printed))
            elif printed:
                found.append(Page(name, f"select * from {schema}.{name}", printed, is_table=True))
    return found


def with_pages(connection: duckdb.DuckDBPyConnection) -> None:
    """Give a small published file what reports print of it."""
    connection.execute("create schema if not exists ops")
    write_pages(connection, pages())
