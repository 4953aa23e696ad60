"""Exchange rates as the organisation gave them, and a month's cost in another currency by the last rate of the month's end."""

import csv
import gzip
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

from .numerals import round_half_away

WITHIN = timedelta(days=7)
Rates = dict[tuple[date, str, str], Fraction]


def read_rates(locations: Iterable[Path], as_published: datetime | None = None) -> Rates:
    """By day, base and quote. Of two files the one written later speaks last."""
    files = []
    for place in locations:
        found = [place] if place.is_file() else [path for path in place.rglob("*") if path.name.endswith((".csv", ".csv.gz"))]
        files += [(datetime.fromtimestamp(path.stat().st_mtime, UTC), path) for path in found]
    rates: Rates = {}
    for written, path in sorted(files):
        if as_published is not None and written > as_published:
            continue
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as text:
            for row in csv.DictReader(text):
                rates[date.fromisoformat(row["rate_date"]), row["base_currency"], row["quote_currency"]] = Fraction(row["rate"])
    return rates


def in_currency(rates: Rates, amount: int, currency: str, wanted: str, month: date) -> tuple[int | None, date | None]:
    """The amount in units of 1e-12 and the day of its rate: itself without a day where nothing is to convert."""
    if currency == wanted:
        return amount, None
    last = month.replace(day=monthrange(month.year, month.month)[1])
    days = [day for day, *pair in rates if pair == [currency, wanted] and last - WITHIN <= day <= last]
    if not days:
        return None, None
    return round_half_away(amount * rates[max(days), currency, wanted]), max(days)
