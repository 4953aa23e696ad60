"""What usage would have cost on demand: as the bill lists it, else hours of accelerators at a known price. None elsewhere.

The rules of docs/methodology/cost.md a second time. Known are the organisation's own prices, of the region before of every one,
and behind them what Google's list had on the day (google_prices.py).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

from .accelerators import named_by
from .google_lines import GoogleLine
from .lines import Line
from .numerals import MONEY, round_half_away
from .own_figures import rows_of_tables

OTHERWISE = re.compile(r"spot|preemptible|^dws|attached to dws|^reserved|calendar mode|^capacity optimized|^commitment")
HOURS = ("", "h", "hour", "hours")
BOARDS = ("v2", "v3", "v4")  # priced by boards of four chips


@dataclass(frozen=True)
class Price:
    place: tuple[str, str, str]  # provider, accelerator type, currency
    region: str | None
    starts: date
    ends: date
    value: Fraction
    is_list: bool = False  # Google's, and not the organisation's own

    def is_of(self, place: tuple[str, str, str], region: str, day: date) -> bool:
        return self.place == place and self.region in (None, region) and self.starts <= day < self.ends

    @property
    def strength(self) -> tuple[bool, bool, date]:
        return not self.is_list, self.region is not None, self.starts


def _price(row: dict[str, str]) -> Price:
    starts, ends = (row.get(name) or "" for name in ("valid_from", "valid_to"))
    return Price(
        (row["provider_name"], row["accelerator_type"], row["currency"]),
        row.get("region_id") or None,
        date.fromisoformat(starts) if starts else date.min,
        date.fromisoformat(ends) if ends else date.max,
        Fraction(row["price_per_hour"]),
    )


def read_prices(locations: list[Path], as_published: datetime | None = None) -> list[Price]:
    """Of two files that say the same of the same, the one published last."""
    found: dict[tuple, Price] = {}
    for row in rows_of_tables(locations, as_published):
        if "price_per_hour" in row and row["purchase_option"] == "on_demand":
            price = _price(row)
            found[price.place, price.region, price.starts] = price
    return list(found.values())


def _hours(line: Line | GoogleLine) -> Fraction | None:
    """Of instances on AWS, of chips on Google Cloud."""
    if isinstance(line, Line):
        return line.hours if line.service_code == "AmazonEC2" else None
    if line.stated_units is None or line.pricing_unit not in HOURS:
        return None
    return line.stated_units * (4 if line.generation in BOARDS else 1)


def _on_demand(line: Line | GoogleLine, prices: list[Price]) -> int | None:
    if not line.is_usage:
        return 0
    is_listed = isinstance(line, Line) or not OTHERWISE.search(line.sku.lower())
    if is_listed and line.list_cost is not None:
        return line.list_cost
    hours = _hours(line) if line.component == "accelerator" else None
    if hours is None:
        return None
    place, day = (line.provider_name, named_by(line), line.currency), datetime.fromtimestamp(line.start // 10**6, UTC).date()
    known = [price for price in prices if price.is_of(place, line.region_id, day)]
    return round_half_away(hours * max(known, key=lambda price: price.strength).value * 10**MONEY) if known else None


def price(lines: Iterable[Line | GoogleLine], prices: list[Price]) -> None:
    """Set what each row would have cost, once it is known which hours are of capacity blocks: those have no list price."""
    for line in lines:
        line.on_demand = _on_demand(line, prices)
