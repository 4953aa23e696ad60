"""Control totals of every measure that a kind's connector declares: how many values a delivery has, and their exact sum.

Taken once from what landing reads; a gate holds them against what a build reads. Generic over kinds: which columns are
measures stands beside each SCHEMA. What is too large for an exact figure is counted and not summed.
"""

from collections.abc import Mapping

import duckdb

from connectors.formats.schema import Column, Schema
from dagster_project.landing.deriving.contents import MeasureTotal
from dagster_project.landing.deriving.exact_sql import exact
from dagster_project.landing.deriving.typed_select import TEXT_SUFFIX, quoted

DIGITS = 24  # before the point of a figure with no decimals; a decimal takes one of them


def measure_totals(
    con: duckdb.DuckDBPyConnection, relation: str, schema: Schema, measures: Mapping[str, int]
) -> list[MeasureTotal]:
    """The totals of a relation with the columns of a typed SELECT; measures without any value are left out."""
    columns = {column.name: column for column in schema if column.name in measures}
    if not columns:
        return []
    sums = [text for name, column in columns.items() for text in _sums(column, measures[name])]
    found = con.execute(f"SELECT {', '.join(sums)} FROM {relation}").fetchall()[0]
    return [
        MeasureTotal(name=name, column_type=column.type, decimals=measures[name], value_count=count, total=total)
        for (name, column), count, total in zip(columns.items(), found[::2], found[1::2], strict=True)
        if count
    ]


def _sums(column: Column, decimals: int) -> tuple[str, str]:
    """Number of values and sum, both as SQL."""
    name, text = quoted(column.name), quoted(column.name + TEXT_SUFFIX)
    if column.type != "Number":
        count, figure = f"count({name})", f"CAST({name} AS DECIMAL(38, 0))"
    else:
        number = f"coalesce(CAST({text} AS DOUBLE), {name})"
        count = f"count({number})"
        if decimals == 0:  # of many digits, such as floating-point operations: a double has no decimals there
            figure = f"TRY_CAST({number} AS DECIMAL(38, 0))"
        else:
            figure = f"CASE WHEN abs({number}) < 1e{DIGITS - decimals} THEN {exact(column.name, decimals)} END"
    return count, f"CAST(CAST(sum({figure}) AS DECIMAL(38, {decimals})) AS VARCHAR)"
