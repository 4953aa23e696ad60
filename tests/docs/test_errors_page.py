"""The page of errors: no reason code, exit code or gate that the code can give is missing, and none is listed that is gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from dagster_project.landing.judging.rules import EVERY_ONE_JUDGED, SUITE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
REASONS = PAGE[PAGE.index("\n## Reasons") :]
CODE = re.compile(r"[a-z]+(_[a-z0-9]+)*")
LITERAL_IN_SQL = re.compile(r"'([a-z_]+)' as reason\b")
PAIRED = 2


def trees() -> list[ast.Module]:
    folders = (
        "connectors",
        "dagster_project/commands",
        "dagster_project/doctor",
        "dagster_project/election",
        "dagster_project/landing",
    )
    paths = [path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py")]
    return [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(paths)]


def positions(parsed: list[ast.Module]) -> dict[str, int]:
    """Of each function and class that takes a `reason`: at which place of a call it is given."""
    found = {}
    for node in (node for tree in parsed for node in ast.walk(tree)):
        methods = [one for one in node.body if isinstance(one, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []
        functions = [node] if isinstance(node, ast.FunctionDef) else [one for one in methods if one.name == "__init__"]
        for function in functions:
            names = [argument.arg for argument in function.args.args if argument.arg != "self"]
            if "reason" in names:
                found[node.name] = names.index("reason")
    return found


def reasons_in_python() -> set[str]:
    parsed = trees()
    places = positions(parsed)
    given = (reason_of(node, places) for tree in parsed for node in ast.walk(tree))
    return {text for value in given for text in texts(value)}


def reason_of(node: ast.AST, places: dict[str, int]) -> ast.expr | None:
    """Where a node gives a reason: an argument, a default, an assignment to `reason`, the first of a pair with its remedy."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        position = places.get(name)
        if position is not None and len(node.args) > position:
            return node.args[position]
    if isinstance(node, ast.keyword) and node.arg == "reason":
        return node.value
    if isinstance(node, ast.Assign) and [getattr(target, "id", "").lower() for target in node.targets] == ["reason"]:
        return node.value
    if isinstance(node, ast.Tuple) and len(node.elts) == PAIRED and is_sentence(node.elts[1]):
        return node.elts[0]
    if isinstance(node, ast.FunctionDef):
        defaults = dict(zip([argument.arg for argument in node.args.kwonlyargs], node.args.kw_defaults, strict=True))
        return defaults.get("reason")
    return None


def is_sentence(value: ast.expr) -> bool:
    """A remedy: a text, formatted or not, that ends as a sentence does."""
    end = value.values[-1] if isinstance(value, ast.JoinedStr) else value
    return isinstance(end, ast.Constant) and isinstance(end.value, str) and end.value.endswith(".")


def texts(value: ast.expr | None) -> Iterator[str]:
    """The texts an expression can be: itself, or either side of a condition."""
    if isinstance(value, ast.IfExp):
        yield from texts(value.body)
        yield from texts(value.orelse)
    elif isinstance(value, ast.Constant) and isinstance(value.value, str) and CODE.fullmatch(value.value):
        yield value.value


def reasons_in_sql() -> set[str]:
    paths = [*ROOT.glob("dbt/models/**/fct_quarantine.sql"), *ROOT.glob("dbt/models/**/int_bill_doubts.sql")]
    return {reason for path in paths for reason in LITERAL_IN_SQL.findall(path.read_text(encoding="utf-8"))}


def test_every_reason_has_its_row_and_every_row_is_a_reason() -> None:
    listed = set(re.findall(r"^\| `([a-z_]+)` \|", REASONS, flags=re.MULTILINE))
    used = reasons_in_python() | reasons_in_sql()
    assert used - listed == set(), "the page does not explain these"
    assert listed - used == set(), "the code no longer gives these"


def test_the_reader_of_the_code_sees_a_reason_however_it_is_given() -> None:
    """One of each way: keyword, condition, class attribute, default, position in a helper, first of a pair."""
    ways = {"unsafe_path", "bad_encoding", "not_published", "wrong_type", "bad_time", "wrong_unit", "role_denied"}
    assert ways <= reasons_in_python()


def test_every_reason_shows_what_it_means_and_what_to_do() -> None:
    for row in re.findall(r"^\| `[a-z_]+` \|.*$", REASONS, flags=re.MULTILINE):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 4 and all(cells), row


def test_every_exit_code_is_explained() -> None:
    sources = [ROOT / "dagster_project" / "base" / "failures.py", *ROOT.glob("dagster_project/commands/endings.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    codes = set(re.findall(r"exit_code(?:: ClassVar\[int\])? = (\d+)", text)) | set(
        re.findall(r"^BUG = (\d+)", text, re.MULTILINE)
    )
    listed = set(re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE))
    assert {"1", "2", "3", "4", "70"} <= codes <= listed


def test_the_gates_of_deliveries_and_every_rule_of_its_own_file_are_explained() -> None:
    gates = PAGE[PAGE.index("\n## Gates") : PAGE.index("\n## Reasons")]
    assert EVERY_ONE_JUDGED in gates and f"gx.{SUITE}..." in gates
    for name in re.findall(r"`dbt\.(assert_[a-z_]+)`", gates):
        assert (ROOT / "dbt" / "tests" / f"{name}.sql").exists(), name
