"""Where a line of SQL or Python can be changed a little, and drawing some of these places.

A change is one that a person could make by mistake: a bound that includes its end, a sum that takes the largest, a join that
drops rows, a confidence one step too high. Comments, Jinja and messages are left alone. Nothing is run here.
"""

from __future__ import annotations

import ast
import difflib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ("dagster_project/landing", "dagster_project/election", "dagster_project/publishing", "connectors", "reports")
SQL = ("dbt/models/staging", "dbt/models/intermediate", "dbt/models/marts")

# comparison first: `>=` must not be found as `>`
IN_SQL: dict[str, str] = {
    r" >= ": " > ", r" <= ": " < ", r" > ": " >= ", r" < ": " <= ", r" = ": " <> ", r" <> ": " = ",
    r" \+ ": " - ", r" - ": " + ", r"(?<!select) \* ": " + ",
    r"\band\b": "or", r"\bor\b": "and", r"\bleft join\b": "inner join",
    r"\bis not null\b": "is null", r"\bis null\b": "is not null",
    r"\bsum\(": "max(", r"\bmin\(": "max(", r"\bmax\(": "min(", r"\bbool_and\(": "bool_or(", r"\bbool_or\(": "bool_and(",
    r"\bleast\(": "greatest(", r"\bgreatest\(": "least(", r"\basc\b": "desc", r"\bdesc\b": "asc",
    r"'low'": "'high'", r"'medium'": "'low'", r"'high'": "'medium'", r"\btrue\b": "false", r"\bfalse\b": "true",
    r"(?<![\w.'-])1(?![\w.'])": "2", r"(?<![\w.'-])0(?![\w.'])": "1",
}  # fmt: skip
NOT_SQL = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|--[^\n]*|/\*.*?\*/", re.DOTALL)
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in",
    ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
WRITTEN: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in",
    ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Change:
    """Characters [start, end) of a file, and what is there instead."""

    path: Path  # below the root
    start: int
    end: int
    text: str

    @property
    def line(self) -> int:
        """The line it begins in."""
        return (ROOT / self.path).read_text(encoding="utf-8").count("\n", 0, self.start) + 1

    def applied(self, text: str) -> str:
        """The file's text with the change."""
        return text[: self.start] + self.text + text[self.end :]

    def diff(self) -> str:
        """The change as people read it."""
        before = (ROOT / self.path).read_text(encoding="utf-8")
        lines = difflib.unified_diff(
            before.splitlines(), self.applied(before).splitlines(), str(self.path), str(self.path), n=1, lineterm=""
        )
        return "\n".join(lines)


def sql_changes(path: Path) -> Iterator[Change]:
    """Every place of a model that can be changed."""
    text = (ROOT / path).read_text(encoding="utf-8")
    bare = NOT_SQL.sub(lambda part: "\0" * len(part.group()), text)
    for pattern, instead in IN_SQL.items():
        for match in re.finditer(pattern, bare):
            yield Change(path, match.start(), match.end(), instead)


def python_changes(path: Path) -> Iterator[Change]:
    """Every place of a module that can be changed: comparisons, and/or, arithmetic, small numbers, truth values, min/max."""
    text = (ROOT / path).read_text(encoding="utf-8")
    begins = [0]
    for line in text.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    if not text.isascii():  # columns of ast are bytes
        return

    def at(line: int, column: int) -> int:
        return begins[line - 1] + column

    def between(left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Change]:
        start, end = at(left.end_lineno or 0, left.end_col_offset or 0), at(right.lineno, right.col_offset)
        found = re.search(rf"(?<![\w=<>!]){re.escape(old)}(?![\w=])", text[start:end])
        if found:
            yield Change(path, start + found.start(), start + found.end(), new)

    tree = ast.parse(text)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    # a dataclass that is frozen, or a struct that the collector passes by, is the same program without
    options = {id(part) for one in classes for option in (*one.decorator_list, *one.keywords) for part in ast.walk(option)}
    for node in [node for node in ast.walk(tree) if id(node) not in options]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                yield from between(left, right, WRITTEN[type(op)], COMPARISONS[type(op)])
            case ast.BoolOp(op=op, values=[left, right, *_]):
                old, new = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                yield from between(left, right, old, new)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right) if not _is_text(left, right):
                old, new = ("+", "-") if isinstance(op, ast.Add) else ("-", "+")
                yield from between(left, right, old, new)
            case ast.Constant(value=bool() as value):
                yield Change(path, at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset), str(not value))
            case ast.Constant(value=int() as value) if value in (0, 1, 2):
                yield Change(path, at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset), str(value + 1))
            case ast.Call(func=ast.Name(id=name) as called) if name in CALLS:
                start = at(called.lineno, called.col_offset)
                yield Change(path, start, start + len(name), CALLS[name])


def _is_text(*operands: ast.expr) -> bool:
    return any(
        isinstance(one, ast.JoinedStr) or (isinstance(one, ast.Constant) and isinstance(one.value, str)) for one in operands
    )


def drawn(count: int, seed: str) -> list[Change]:
    """As many changes, half of them of SQL; a file is drawn by how many places it has."""
    chance = random.Random(seed)
    python = [c for top in PYTHON for path in sorted((ROOT / top).rglob("*.py")) for c in python_changes(path.relative_to(ROOT))]
    sql = [c for top in SQL for path in sorted((ROOT / top).rglob("*.sql")) for c in sql_changes(path.relative_to(ROOT))]
    of_sql, of_python = chance.sample(sql, count // 2), chance.sample(python, count - count // 2)
    return [one for pair in zip(of_sql, of_python, strict=False) for one in pair] + of_python[len(of_sql) :]
