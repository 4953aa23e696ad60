"""Conversion by the oracle, with amounts a person can work out."""

from datetime import date
from fractions import Fraction
from pathlib import Path

from .rates import in_currency, read_rates

JUNE = date(2026, 6, 1)


def test_a_month_takes_the_last_rate_of_its_last_eight_days(tmp_path: Path) -> None:
    head = "rate_date,base_currency,quote_currency,rate\n"
    days = {"2026-06-22": "1.5", "2026-06-23": "1.25", "2026-07-01": "9"}
    (tmp_path / "fx.csv").write_text(head + "".join(f"{day},EUR,USD,{rate}\n" for day, rate in days.items()))
    rates = read_rates([tmp_path])
    assert in_currency(rates, 8, "EUR", "USD", JUNE) == (10, date(2026, 6, 23))
    assert in_currency(rates, 8, "EUR", "USD", date(2026, 7, 1)) == (None, None), "1 July is too early for the end of July"
    assert in_currency(rates, 8, "USD", "EUR", JUNE) == (None, None), "a pair is not turned round"
    assert in_currency(rates, 8, "USD", "USD", JUNE) == (8, None)


def test_half_a_unit_goes_away_from_zero() -> None:
    rates = {(date(2026, 6, 30), "EUR", "USD"): Fraction(9, 8)}
    assert [in_currency(rates, units, "EUR", "USD", JUNE)[0] for units in (4, -4, 3, -3)] == [5, -5, 3, -3]  # 4.5 and 3.375
