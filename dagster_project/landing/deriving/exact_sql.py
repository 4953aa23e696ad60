"""SQL text that turns a provider's number into an exact decimal, in Python for the control totals of the landing.

The formulas are those of dbt/macros (docs/methodology explains them): a double keeps 15 significant digits and at most `scale`
decimals, half away from zero; text is taken as written with the same rounding. Control totals are an independent sum of the
landed file, so this is a second writing of the same rule, not an import of the first.
"""

MONEY = 12
UNITS, OTHERS = "__units", "__others"  # behind the name of a sum
DIGITS = 24  # before the point of a figure with no decimals; a decimal takes one of them


def double_to_decimal(x: str, scale: int) -> str:
    """A double, by IEEE steps only; null for NaN, infinity and what is too large."""
    steps = range(10)
    factor = "case" + "".join(f" when abs({x}) < 1e{15 - scale + i} then 1e{scale - i}" for i in steps) + " end"
    whole = "case" + "".join(f" when abs({x}) < 1e{15 - scale + i} then 1{'0' * i}" for i in steps) + " end"
    nearest = f"cast(case when {x} < 0 then ceil({x} * {factor} - 5e-1) else floor({x} * {factor} + 5e-1) end as bigint)"
    units = f"cast({nearest} as decimal(19,0)) * cast({whole} as decimal({max(scale + 1, len(steps))},0))"  # of 10^-scale
    unit = f"0.{'0' * (scale - 1)}1"
    return f"cast(cast({units} as decimal({37 - scale},0)) * cast({unit} as decimal({scale},{scale})) as decimal(38,{scale}))"


def string_to_decimal(x: str, scale: int) -> str:
    """Text as written; what is far below one unit is 0, whatever the engine thinks of its exponent."""
    return (
        f"case when abs(cast({x} as double)) < 2e-{scale + 1} then cast(0 as decimal(38,{scale})) "
        f"else cast({x} as decimal(38,{scale})) end"
    )


def exact_sums(name: str, x: str, text: str, scale: int) -> dict[str, str]:
    """Two aggregates, of which `exact_total` makes the exact sum of a Number, which is a double `x` or a `text`.

    Doubles below 1,000 (of 12 decimals) are whole numbers of units after one multiplication: the sum of their decimals is
    that of these whole numbers, at a fifth of the work. The others are added as they are; what is too large is left out.
    """
    small, large = 15 - scale, DIGITS - scale
    rounded = f"CASE WHEN {x} < 0 THEN ceil({x} * 1e{scale} - 5e-1) ELSE floor({x} * 1e{scale} + 5e-1) END"
    return {
        name + UNITS: f"sum(CASE WHEN abs({x}) < 1e{small} THEN CAST({rounded} AS BIGINT) END)",
        name + OTHERS: f"sum(CASE WHEN abs({x}) >= 1e{small} AND abs({x}) < 1e{large} THEN {double_to_decimal(x, scale)} "
        f"WHEN abs(CAST({text} AS DOUBLE)) < 1e{large} THEN {string_to_decimal(text, scale)} END)",
    }


def exact_total(name: str, scale: int) -> str:
    """The exact sum over groups that have `exact_sums`; null where no value was small enough for an exact figure."""
    units, others = (f'sum("{name}{which}")' for which in (UNITS, OTHERS))
    unit = f"CAST(0.{'0' * (scale - 1)}1 AS DECIMAL({scale},{scale}))"
    both = f"coalesce(CAST({units} AS DECIMAL({38 - scale},0)) * {unit}, 0) + coalesce({others}, 0)"
    return f"CASE WHEN {units} IS NOT NULL OR {others} IS NOT NULL THEN CAST({both} AS DECIMAL(38,{scale})) END"
