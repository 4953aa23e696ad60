"""What `reports/` may hold: no SQL text, no arithmetic on figures. Rows are worked out by pages of dbt, which have unit tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "reports"
PAGES = ROOT / "dbt" / "models" / "pages"
SQL = re.compile(
    r"\bselect\b.+?\bfrom\b|\bfrom (?:marts|ops)\.|\b(?:group by|order by|partition by|union all|case when)\b"
    r"|\b(?:left|inner|cross) join\b",
    re.IGNORECASE | re.DOTALL,
)
# what asks a page, the opened file with its own catalogue, published statements
ASKS = {"pages.py", "publication.py", "statements.py"}
# an issued number beside the one of today, to see whether it is to be restated: no SQL has both
COMPARES_ISSUED = "restatements.py"
ARITHMETIC = (ast.Mult, ast.Div, ast.FloorDiv, ast.Sub, ast.Pow)
POWERS_OF_TEN = {1, 10, 100, 1_000, 1_000_000}
COMPUTES = re.compile(r"\b(?:sum|count|min|max|avg|bool_or|string_agg|any_value|median|over|whole|exact_ratio|row_number) ?\(")


def texts(path: Path) -> Iterator[str]:
    """Every text of a file but docstrings; an f-string in one piece. Comments are no text."""
    if path.suffix == ".yml":
        yield from texts_of_yaml(yaml.load(path.read_bytes(), yaml.CSafeLoader))
        return
    tree = ast.parse(path.read_text())
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield " ".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def texts_of_yaml(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield str(name)
            yield from texts_of_yaml(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_of_yaml(part)
    else:
        yield str(value)


def with_sql(root: Path) -> set[str]:
    """The files below a folder that have SQL in a text; those of a folder that may, by the folder's name."""
    files = [path for ending in ("py", "yml") for path in root.rglob(f"*.{ending}")]
    names = {path.relative_to(root).as_posix() for path in files if any(SQL.search(text) for text in texts(path))}
    return {name.partition("/")[0] if name.partition("/")[0] in ASKS else name for name in names}


def is_plain(node: ast.expr) -> bool:
    """A number or text of the code, a length, a set: no figure."""
    is_length = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    return is_length or isinstance(node, ast.Constant | ast.Set | ast.SetComp | ast.List | ast.ListComp)


def is_of_a_row(node: ast.expr) -> bool:
    """The column of a row by its name."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)


def arithmetic(source: str) -> list[str]:
    """What of a source works out a figure: products, quotients and differences but of constants and lengths, sums of columns."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp | ast.AugAssign):
            left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            is_scaled = (
                isinstance(node.op, ast.Mult | ast.Div) and isinstance(right, ast.Constant) and right.value in POWERS_OF_TEN
            )
            is_product = isinstance(node.op, ARITHMETIC) and not is_scaled and not (is_plain(left) and is_plain(right))
            is_sum = isinstance(node.op, ast.Add) and (is_of_a_row(left) or is_of_a_row(right))
            if is_product or (is_sum and not is_plain(left)):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum":
            counts = isinstance(node.args[0], ast.GeneratorExp) and isinstance(node.args[0].elt, ast.Compare)
            found += [] if counts else [ast.unparse(node)]
    return found


def test_reports_have_no_sql() -> None:
    assert with_sql(REPORTS) == ASKS


@pytest.mark.parametrize(
    ("name", "text", "is_found"),
    [
        ("a.py", 'ROWS = f"select {NAMES}\\nfrom {table}"', True),
        ("a.py", 'sql = "SELECT a" + " FROM marts.b"', True),
        ("a.py", 'order = "order by 1"', True),
        ("a.py", '"""Rows that we select from a page."""\nx = "select all"  # select a from b', False),
        ("a.yml", "table:\n  sql: |\n    select a\n    from b", True),
        ("a.yml", "# select a from b\ntable: {page: a}", False),
    ],
)
def test_sql_is_found_in_texts_and_not_in_comments(name: str, text: str, is_found: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert with_sql(tmp_path) == ({name} if is_found else set())


def test_sections_and_accounts_work_out_no_figure() -> None:
    # charts have coordinates, and the page (reports/page) rounds and scales
    files = [
        *REPORTS.glob("sections/*.py"),
        *REPORTS.glob("runs/*.py"),
        REPORTS / "questions.py",
        REPORTS / "ledger" / "months.py",
    ]
    found = {path.name: arithmetic(path.read_text()) for path in files if path.name not in ("charts.py", COMPARES_ISSUED)}
    assert {name: parts for name, parts in found.items() if parts} == {}


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("row['cost'] + other", True),
        ("sum(row['cost'] for row in rows)", True),
        ("figure.value / figure.prior", True),
        ("total -= part", True),
        ("figure.change * 100", False),
        ("abs(part) * 1000", False),
        ("sum(row['state'] == 'failed' for row in rows)", False),
        ("len(rows) - len(shown)", False),
        ("' ' * 40", False),
        ("lines + more", False),
    ],
)
def test_arithmetic_is_found_and_powers_of_ten_and_counts_are_not(source: str, is_found: bool) -> None:
    assert bool(arithmetic(source)) == is_found


def test_every_page_that_works_something_out_has_a_unit_test() -> None:
    described = [yaml.load(path.read_bytes(), yaml.CSafeLoader) for path in PAGES.rglob("*.yml")]
    tested = {test["model"] for one in described for test in one.get("unit_tests", ())}
    computing = {path.stem for path in PAGES.rglob("*.sql") if path.parent.name != "shared" and COMPUTES.search(path.read_text())}
    assert computing - tested == set()


def test_a_table_of_reports_is_printed_by_one_page() -> None:
    ids = []
    for path in (ROOT / "dbt" / "models").rglob("*.yml"):
        described = yaml.load(path.read_bytes(), yaml.CSafeLoader) or {}
        tables = [table for source in described.get("sources", ()) for table in source["tables"]]
        for node in (*described.get("models", ()), *tables):
            ids += node.get("config", {}).get("meta", {}).get("printed", ())
    assert len(ids) > 50 and sorted(set(ids)) == sorted(ids)
