"""SQL text that turns a provider's number into an exact decimal, in Python for the control totals of the landing.

The formulas are those of dbt/macros (docs/methodology explains them): a double keeps 15 significant digits and at most `scale`
decimals, half away from zero; text is taken as written with the same rounding. Control totals are an independent sum of the
landed file, so this is a second writing of the same rule, not an import of the first.
"""

MONEY = 12


def double_to_decimal(x: str, scale: int) -> str:
    """A double, by IEEE steps only; null for NaN, infinity and what is too large."""
    steps = range(10)
    factor = "case" + "".join(f" when abs({x}) < 1e{15 - scale + i} then 1e{scale - i}" for i in steps) + " end"
    whole = "case" + "".join(f" when abs({x}) < 1e{15 - scale + i} then 1{'0' * i}" for i in steps) + " end"
    nearest = f"cast(case when {x} < 0 then ceil({x} * {factor} - 5e-1) else floor({x} * {factor} + 5e-1) end as bigint)"
    units = f"cast({nearest} as decimal(19,0)) * cast({whole} as decimal({scale + 1},0))"  # of 10^-scale
    unit = f"0.{'0' * (scale - 1)}1"
    return f"cast(cast({units} as decimal({37 - scale},0)) * cast({unit} as decimal({scale},{scale})) as decimal(38,{scale}))"


def string_to_decimal(x: str, scale: int) -> str:
    """Text as written; what is far below one unit is 0, whatever the engine thinks of its exponent."""
    return (
        f"case when abs(cast({x} as double)) < 2e-{scale + 1} then cast(0 as decimal(38,{scale})) "
        f"else cast({x} as decimal(38,{scale})) end"
    )


def exact(column: str, scale: int = MONEY) -> str:
    """A Number column of a raw view, which is a double or, beside it, text."""
    return f"coalesce({double_to_decimal(column, scale)}, {string_to_decimal(column + '__text', scale)})"
