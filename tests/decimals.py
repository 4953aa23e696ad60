"""What becomes of exact figures in SQL by Spark's rules: which expressions give a type that has lost decimals.

decimal(38,12) + decimal(38,12) would need 39 digits, so Spark gives decimal(38,11), without a word; DuckDB stays at twelve.
Types are followed through every common table expression of a compiled model, from the raw tables to the marts. Only decimals
count: whole numbers and doubles are what they are on both engines.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema
from sqlglot.typing import EXPRESSION_METADATA

Digits = tuple[int, int]  # precision and scale
Tables = dict[str, dict[str, dict[str, str]]]  # schema, table, column -> type
MOST = 38
WHOLE = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20, "HUGEINT": 38, "INT128": 38}
CHOICES = (exp.Case, exp.Coalesce, exp.If, exp.Greatest, exp.Least, exp.Nullif)
OPERATIONS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
AGGREGATES = (exp.Sum, exp.Max, exp.Min, exp.AnyValue, exp.ArgMin, exp.ArgMax, exp.Lag, exp.Lead)
FIRST = (*AGGREGATES, exp.Abs, exp.Window, exp.Filter, exp.Neg)


def digits_of(node: exp.Expression) -> Digits | None:
    """Precision and scale of an exact number; None for what is none."""
    bare = node.unnest()
    if isinstance(bare, exp.Neg):
        return digits_of(bare.this)
    if isinstance(bare, exp.Literal) and not bare.is_string:
        whole, _, fraction = bare.name.partition(".")
        return None if "e" in bare.name.lower() else (len(whole.lstrip("0")) + len(fraction) or 1, len(fraction))
    return digits_of_type(bare.type)


def digits_of_type(kind: exp.DataType | None) -> Digits | None:
    """As digits_of, of a type; a decimal that does not say its digits counts as one of 18 and 3, as DuckDB has it."""
    if kind is None or kind.is_type("unknown"):
        return None
    if kind.is_type("decimal"):
        sizes = [int(size.name) for size in kind.expressions]
        return (sizes[0], sizes[1] if len(sizes) > 1 else 0) if sizes else (18, 3)
    return (WHOLE[kind.this.name], 0) if kind.this.name in WHOLE else None


def exact_result(node: exp.Expression, left: Digits, right: Digits) -> Digits:
    """The digits that hold every result, by Spark's rules, before it cuts them to 38."""
    (p1, s1), (p2, s2) = left, right
    if isinstance(node, exp.Mul):
        return p1 + p2 + 1, s1 + s2
    if isinstance(node, exp.Div):
        scale = max(6, s1 + p2 + 1)
        return p1 - s1 + s2 + scale, scale
    if isinstance(node, exp.Mod):
        return min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)
    return max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2)


def widest(digits: Iterable[Digits]) -> Digits:
    """The digits that hold every branch of a choice."""
    known = list(digits)
    scale = max(s for _, s in known)
    return max(p - s for p, s in known) + scale, scale


def spark_type(digits: Digits) -> Digits:
    """What Spark makes of digits that may be too many: it keeps those before the point and gives decimals away."""
    precision, scale = digits
    if precision <= MOST:
        return digits
    return MOST, max(MOST - (precision - scale), min(scale, 6))


class Types:
    """The types that a query's expressions have on Spark, found from the inside out; `cut` are those that lose decimals there."""

    def __init__(self) -> None:
        self.cut: list[str] = []
        own = {one: {"annotator": self.operation} for one in OPERATIONS} | {one: {"annotator": self.choice} for one in CHOICES}
        own |= {one: {"annotator": self.as_first} for one in FIRST} | {exp.Anonymous: {"annotator": self.function}}
        self.rules = dict(EXPRESSION_METADATA) | own

    def note(self, node: exp.Expression, digits: Digits, what: str) -> None:
        if digits[1] > spark_type(digits)[1]:
            self.cut.append(f"{what}: {node.sql('duckdb')[:160]}")

    def set_type(self, annotator: object, node: exp.Expression, digits: Digits | None, other: str = "unknown") -> None:
        kind = f"decimal({', '.join(map(str, spark_type(digits)))})" if digits else other
        annotator._set_type(node, exp.DataType.build(kind, dialect="duckdb"))

    def function(self, annotator: object, node: exp.Expression) -> None:
        self.set_type(annotator, node, None, "bigint" if node.name.lower() == "epoch_us" else "unknown")

    def operation(self, annotator: object, node: exp.Expression) -> None:
        if node.find_ancestor(exp.Lambda):  # of common_multiple, on whole numbers
            return self.set_type(annotator, node, None)
        sides = (node.left, node.right)
        left, right = map(digits_of, sides)
        if left is None or right is None:
            unknown = any(side.type is None or side.type.is_type("unknown") for side in sides)
            if unknown and not any(isinstance(side, exp.Interval) for side in sides):
                self.cut.append(f"of unknown type: {node.sql('duckdb')[:160]}")
            is_double = any(side.type and side.type.is_type("double", "float") for side in sides)
            return self.set_type(annotator, node, None, "double" if is_double else "unknown")
        if not (left[1] or right[1] or any(map(is_decimal, sides))):
            return self.set_type(annotator, node, None, "double" if isinstance(node, exp.Div) else "bigint")
        digits = exact_result(node, left, right)
        self.note(node, digits, "cut")
        if isinstance(node, exp.Div):
            self.cut.append(f"divided: {node.sql('duckdb')[:160]}")
        return self.set_type(annotator, node, digits)

    def choice(self, annotator: object, node: exp.Expression) -> None:
        there = [one for one in branches_of(node) if one is not None and not isinstance(one.unnest(), exp.Null)]
        digits = [digits_of(one) for one in there]
        if there and all(digits):
            wide = widest(one for one in digits if one)
            self.note(node, wide, "branches of different types")
            self.set_type(annotator, node, wide if wide[1] or any(map(is_decimal, there)) else None, "bigint")
        else:
            kind = next((one.type for one in there if one.type and not one.type.is_type("unknown")), None)
            annotator._set_type(node, kind)

    def as_first(self, annotator: object, node: exp.Expression) -> None:
        inner = node.this
        digits = digits_of(inner) if isinstance(node, exp.Sum) else None
        if digits and is_decimal(inner):
            self.set_type(annotator, node, (min(MOST, digits[0] + 10), digits[1]))
        elif digits:
            self.set_type(annotator, node, None, "bigint")
        else:
            annotator._set_type(node, inner.type)


def is_decimal(node: exp.Expression) -> bool:
    return bool(node.type and node.type.is_type("decimal"))


def branches_of(node: exp.Expression) -> list[exp.Expression | None]:
    """What a choice may give."""
    if isinstance(node, exp.Case):
        return [*(one.args["true"] for one in node.args["ifs"]), node.args.get("default")]
    if isinstance(node, exp.If):
        return [node.args["true"], node.args.get("false")]
    return [node.this] if isinstance(node, exp.Nullif) else [node.this, *node.expressions]


def cut_figures(sql: str, tables: Tables) -> tuple[list[str], dict[str, str]]:
    """The expressions of a compiled query that lose decimals on Spark, and the types of its columns there."""
    types = Types()
    schema = MappingSchema({"build": tables}, dialect="duckdb")
    query = qualify(
        sqlglot.parse_one(sql, dialect="duckdb"), dialect="duckdb", schema=schema, catalog="build", validate_qualify_columns=False
    )
    query = annotate_types(query, schema=schema, expression_metadata=types.rules, dialect="duckdb")
    for union in query.find_all(exp.SetOperation):
        for left, right in zip(union.left.selects, union.right.selects, strict=True):
            sides = [digits_of(side.unalias()) for side in (left, right)]
            if all(sides):
                types.note(left, widest(one for one in sides if one), f"union of {sides}")
    kinds = {column.alias_or_name: column.type for column in query.selects}
    known = {name: kind.sql("duckdb") if kind and not kind.is_type("unknown") else "unknown" for name, kind in kinds.items()}
    return types.cut, known


def misplaced_columns(text: str) -> list[str]:
    """Parts of a union that take all columns of a table they join by `using`. Spark puts the columns of `using` first, DuckDB
    leaves them where they are, and a union goes by place: costs would be read as regions."""
    unions = sqlglot.parse_one(text, read="duckdb").find_all(exp.SetOperation)
    parts = [part for union in unions for part in (union.left, union.right) if isinstance(part, exp.Select)]
    return [
        part.sql()[:200]
        for part in parts
        if any(join.args.get("using") for join in part.args.get("joins") or []) and any(one.is_star for one in part.expressions)
    ]
