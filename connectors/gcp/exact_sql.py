"""Amounts of BigQuery as the exact figures that dbt/macros/exact.sql makes of them: texts of GoogleSQL, and no rule.

A double becomes whole units by one product and one sum of doubles, which are the same bits in every engine; what is exact there,
NUMERIC and BIGNUMERIC, is rounded as it is, half away from zero.
"""

from __future__ import annotations


def in_units(x: str, kind: str, decimals: int) -> str:
    """An amount in whole units of its last decimal, half away from zero; null where it is too large for an exact figure.

    A double keeps 15 significant digits, by one product and one sum of doubles: dbt/macros/exact.sql.
    """
    most = 24 - decimals
    if kind == "FLOAT64":
        steps = (
            f"WHEN ABS({x}) < 1e{15 - decimals + i}"
            f" THEN CAST(SIGN({x}) * FLOOR(ABS({x}) * 1e{decimals - i} + 5e-1) AS BIGNUMERIC) * {10**i}"
            for i in range(10)
        )
        return f"CASE {' '.join(steps)} END"
    exact = f"CAST({x} AS BIGNUMERIC)"
    return f"CASE WHEN ABS({exact}) < BIGNUMERIC '1e{most}' THEN ROUND({exact} * BIGNUMERIC '1e{decimals}') END"


def figure_of(units: str, decimals: int) -> str:
    """Whole units as the figure that they are."""
    return f"{units} * BIGNUMERIC '1e-{decimals}'"


def figure_of_row(x: str, kind: str, decimals: int, most: float) -> str:
    """The exact figure of one row's amount, as a rule asks of it: whether there is one, its sign, and its digits.

    Far below half a unit an amount is 0 as a figure and not as an amount, and a tenth of a unit is that too. What landing refuses
    stays too large for it: then the delivery is refused as it would be of the rows themselves.
    """
    is_bad = (
        f"IS_NAN({x}) OR ABS({x}) >= 1e{len(str(int(most))) - 1}" if kind == "FLOAT64" else f"ABS({x}) >= BIGNUMERIC '{most:.0f}'"
    )
    units = in_units(x, kind, decimals)
    large = f"BIGNUMERIC '{most:.0f}'"
    tenth = f"CAST(SIGN({x}) AS BIGNUMERIC) * BIGNUMERIC '1e-{decimals + 1}'"
    return f"CASE WHEN {is_bad} THEN {large} WHEN {x} <> 0 AND {units} = 0 THEN {tenth} ELSE {figure_of(units, decimals)} END"


def is_refused(x: str, kind: str, most: float) -> str:
    """Whether landing refuses an amount; false of null."""
    if kind == "FLOAT64":
        return f"IFNULL(IS_NAN({x}) OR ABS({x}) >= 1e{len(str(int(most))) - 1}, FALSE)"
    return f"IFNULL(ABS({x}) >= BIGNUMERIC '{most:.0f}', FALSE)"
