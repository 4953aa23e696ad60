"""Control totals of every measure that a kind's connector declares: how many values a delivery has, and their exact sum.

Taken once from what landing reads; a gate holds them against what a build reads. Generic over kinds: which columns are
measures stands beside each SCHEMA. What is too large for an exact figure is counted and not summed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from connectors.formats.schema import Schema
from dagster_project.landing.deriving.contents import MeasureTotal
from dagster_project.landing.deriving.exact_sql import OTHERS, exact_sums, exact_total
from dagster_project.landing.deriving.typed_select import TEXT_SUFFIX, quoted

ROW_COUNT = ("row_count", "Rows", 0)  # name, type and decimals under which the rows themselves are among the control totals
COUNT = "__count"  # behind the name of a measure


def measure_columns(schema: Schema, measures: Mapping[str, int]) -> dict[str, str]:
    """Name and aggregate of a number of values and of what makes an exact sum, for each measure of a typed row."""
    columns: dict[str, str] = {}
    for column in schema:
        if column.name not in measures:
            continue
        x = quoted(column.name)
        text = quoted(column.name + TEXT_SUFFIX) if column.type == "Number" else "CAST(NULL AS VARCHAR)"
        decimals = measures[column.name]
        if decimals == 0:  # whole, or of many digits, such as floating-point operations: a double has no decimals there
            number = f"coalesce(CAST({text} AS DOUBLE), {x})" if column.type == "Number" else x
            columns[column.name + OTHERS] = f"CAST(sum(TRY_CAST({number} AS DECIMAL(38, 0))) AS DECIMAL(38, 0))"
        else:
            columns |= exact_sums(column.name, x, text, decimals)
        columns[column.name + COUNT] = f"count({x}) + count({text})"
    return columns


def total_columns(measures: Mapping[str, int]) -> list[str]:
    """Over groups with `measure_columns`: the number of values and the exact sum of each measure."""
    return [
        expression
        for name, decimals in measures.items()
        for expression in (
            f"CAST(sum({quoted(name + COUNT)}) AS BIGINT)",
            f"CAST({exact_total(name, decimals) if decimals else f'sum({quoted(name + OTHERS)})'} AS VARCHAR)",
        )
    ]


def measure_totals(schema: Schema, measures: Mapping[str, int], values: Sequence[Any]) -> list[MeasureTotal]:
    """The totals from the values of `total_columns`; measures without any value are left out."""
    types = {column.name: column.type for column in schema}
    pairs = zip(measures.items(), zip(values[::2], values[1::2], strict=True), strict=True)
    return [MeasureTotal(name, types[name], decimals, count, total) for (name, decimals), (count, total) in pairs if count]
