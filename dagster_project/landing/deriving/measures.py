"""Control totals of every measure that a kind's connector declares: how many values a delivery has, and their exact sum.

Taken once from what landing reads; a gate holds them against what a build reads. Generic over kinds: which columns are
measures stands beside each SCHEMA. What is too large for an exact figure is counted and not summed.
"""

from collections.abc import Mapping

import duckdb

from connectors.formats.schema import Schema
from dagster_project.landing.deriving.contents import MeasureTotal
from dagster_project.landing.deriving.exact_sql import exact_sum
from dagster_project.landing.deriving.typed_select import TEXT_SUFFIX, literal, quoted

COUNT, TOTAL = "__count", "__total"  # behind the name of a measure


def measure_columns(schema: Schema, measures: Mapping[str, int]) -> dict[str, str]:
    """Name and aggregate of a number of values and an exact sum for each measure of a typed row."""
    columns: dict[str, str] = {}
    for column in schema:
        if column.name not in measures:
            continue
        x = quoted(column.name)
        text = quoted(column.name + TEXT_SUFFIX) if column.type == "Number" else "CAST(NULL AS VARCHAR)"
        decimals = measures[column.name]
        if decimals == 0:  # whole, or of many digits, such as floating-point operations: a double has no decimals there
            number = f"coalesce(CAST({text} AS DOUBLE), {x})" if column.type == "Number" else x
            total = f"CAST(sum(TRY_CAST({number} AS DECIMAL(38, 0))) AS DECIMAL(38, 0))"
        else:
            total = exact_sum(x, text, decimals)
        columns |= {column.name + COUNT: f"count({x}) + count({text})", column.name + TOTAL: total}
    return columns


def measure_totals(
    con: duckdb.DuckDBPyConnection, relation: str, schema: Schema, measures: Mapping[str, int]
) -> list[MeasureTotal]:
    """The totals of groups with `measure_columns`; measures without any value are left out."""
    types = {column.name: column.type for column in schema}
    selects = [
        f"SELECT {literal(name)} AS name, {literal(types[name])}, {decimals}, CAST(sum({quoted(name + COUNT)}) AS BIGINT) AS n, "
        f"CAST(CAST(sum({quoted(name + TOTAL)}) AS DECIMAL(38, {decimals})) AS VARCHAR) FROM {relation} HAVING n > 0"
        for name, decimals in measures.items()
    ]
    found = con.execute(" UNION ALL ".join(selects)).fetchall() if selects else []
    order = list(measures)
    return sorted((MeasureTotal(*row) for row in found), key=lambda total: order.index(total.name))
