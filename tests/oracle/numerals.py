"""Provider numbers to whole units and back. Nothing after this module sees a binary float.

A double keeps 15 significant digits, at most `scale` decimals, half away from zero, by the IEEE steps the ledger prescribes (so
that exact ties are settled by the double itself). Text is taken as written and rounded the same way.
"""

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

MONEY = 12
MASS = 9
HOUR_US = 3_600_000_000

# ROUND_HALF_UP of the decimal module rounds a tie away from zero, for both signs.
_EXACT = Context(prec=120, rounding=ROUND_HALF_UP)


class OracleError(Exception):
    """The exports hold something the oracle cannot take at its word."""


def units_of_double(value: float, scale: int) -> int:
    size = abs(value)
    if not size < 10.0 ** (24 - scale):
        raise OracleError(f"{value!r} does not fit the number rule at {scale} decimals")
    decimals = scale
    while size >= float(10 ** (15 - decimals)):
        decimals -= 1
    digits = math.floor(size * float(f"1e{decimals}") + 0.5)
    return (-digits if value < 0 else digits) * 10 ** (scale - decimals)


def units_of_text(text: str, scale: int) -> int:
    return units_of_decimal(Decimal(text.strip()), scale)


def units_of_decimal(value: Decimal, scale: int) -> int:
    if not value.is_finite():
        raise OracleError(f"{value} is not a number")
    return int(value.scaleb(scale, _EXACT).to_integral_value(ROUND_HALF_UP, _EXACT))


def units(value: object, scale: int = MONEY) -> int | None:
    """Whole units of 10**-scale; None and empty text are unknown."""
    if value is None or value == "":
        return None
    if isinstance(value, float):
        return units_of_double(value, scale)
    if isinstance(value, str):
        return units_of_text(value, scale)
    if isinstance(value, Decimal):
        return units_of_decimal(value, scale)
    if isinstance(value, int):
        return value * 10**scale
    raise OracleError(f"{value!r} is not a number")


def to_decimal(amount: int | None, scale: int) -> Decimal | None:
    return None if amount is None else Decimal(amount).scaleb(-scale, _EXACT)


def round_half_away(value: Fraction) -> int:
    doubled = abs(value.numerator) * 2 + value.denominator
    size = doubled // (2 * value.denominator)
    return -size if value < 0 else size


def hours_to_microseconds(hour_units: int) -> int:
    """An amount of hours, in units of 1e-12, as whole microseconds."""
    return round_half_away(Fraction(hour_units * HOUR_US, 10**MONEY))
