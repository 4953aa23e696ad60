"""Control totals of every measure that a kind's connector declares: how many values a delivery has, and their exact sum.

Taken once from what landing reads; a gate holds them against what a build reads. Generic over kinds: which columns are
measures stands beside each SCHEMA. What is too large for an exact figure is counted and not summed.
"""

from collections.abc import Mapping

import duckdb

from connectors.formats.schema import Schema
from dagster_project.landing.deriving.contents import MeasureTotal
from dagster_project.landing.deriving.exact_sql import exact
from dagster_project.landing.deriving.typed_select import TEXT_SUFFIX, literal, quoted

DIGITS = 24  # before the point of a figure with no decimals; a decimal takes one of them


def measure_totals(
    con: duckdb.DuckDBPyConnection, relation: str, schema: Schema, measures: Mapping[str, int]
) -> list[MeasureTotal]:
    """The totals of a relation with the columns of a typed SELECT; measures without any value are left out."""
    groups: dict[tuple[str, int], list[str]] = {}
    for column in schema:
        if column.name in measures:
            groups.setdefault((column.type, measures[column.name]), []).append(column.name)
    selects = [_sums(relation, names, *group) for group, names in groups.items()]
    found = con.execute(" UNION ALL ".join(selects)).fetchall() if selects else []
    order = list(measures)
    return sorted((MeasureTotal(*row) for row in found if row[3]), key=lambda total: order.index(total.name))


def _sums(relation: str, names: list[str], type_: str, decimals: int) -> str:
    """A row per measure of one type and number of decimals. Side by side they need the long text of the exact cast once."""
    texts = [quoted(name + TEXT_SUFFIX) if type_ == "Number" else "CAST(NULL AS VARCHAR)" for name in names]
    sides = (", ".join(column) for column in ([literal(name) for name in names], [quoted(name) for name in names], texts))
    rows = "SELECT " + ", ".join(
        f"unnest([{side}]) AS {name}" for side, name in zip(sides, ("name", "x", "x__text"), strict=True)
    )
    number = "coalesce(CAST(x__text AS DOUBLE), x)" if type_ == "Number" else "x"
    if decimals == 0:  # whole, or of many digits, such as floating-point operations: a double has no decimals there
        figure = f"TRY_CAST({number} AS DECIMAL(38, 0))"
    else:
        figure = f"CASE WHEN abs({number}) < 1e{DIGITS - decimals} THEN {exact('x', decimals)} END"
    total = f"CAST(CAST(sum({figure}) AS DECIMAL(38, {decimals})) AS VARCHAR)"
    return f"SELECT name, {literal(type_)}, {decimals}, count({number}), {total} FROM ({rows} FROM {relation}) GROUP BY name"
