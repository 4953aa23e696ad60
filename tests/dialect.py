"""Expressions of dbt as DuckDB gets them, without dbt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

MACROS = Path(__file__).resolve().parents[1] / "dbt" / "macros"
FILES = "exact.sql", "dialect.sql"


def rendered(expression: str) -> str:
    """The SQL of an expression that calls macros of exact arithmetic and of the dialect."""
    module: Any = None

    class Adapter:
        def dispatch(self, name: str, package: str) -> Any:
            return getattr(module, f"duckdb__{name}")

    names = {"adapter": Adapter(), "return": lambda value: value}
    environment = jinja2.Environment(extensions=["jinja2.ext.do"], autoescape=False)
    text = "\n".join((MACROS / name).read_text() for name in FILES)
    module = environment.from_string(text).make_module(names)
    return environment.from_string(text + expression).render(names).strip()
