"""Quarters and years of reports and answers: which months they are of, and how their deliveries are named.

What is of several months is a delivery of each of them, with all rows of the period and the period itself, so that every month
finds what there is of it. How much of a row is a month's is no question of its bytes: SQL divides it by what was billed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from connectors.times import YEARS

QUARTER, YEAR = "usage_quarter", "usage_year"
EXAMPLES = {QUARTER: "2026-Q2", YEAR: "2026"}
PUBLISHED_AFTER = timedelta(days=21)  # AWS publishes a month between the 15th and the 21st of the month after

_QUARTER = re.compile(r"(?P<year>\d{4})[ -]?Q(?P<quarter>[1-4])|Q(?P<quarter_first>[1-4])[ -]?(?P<year_last>\d{4})", re.I | re.A)
_YEAR = re.compile(r"\d{4}", re.ASCII)
_FISCAL = re.compile(r"FY|fiscal", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class Period:
    """Whole months in a row."""

    first: str
    last: str

    @classmethod
    def of(cls, year: int, month: int, count: int) -> Period:
        """So many months from one on."""
        last = year * 12 + month + count - 2
        return cls(f"{year:04d}-{month:02d}", f"{last // 12:04d}-{last % 12 + 1:02d}")

    @property
    def months(self) -> list[str]:
        """Its months, the earliest first."""
        first, last = (int(month[:4]) * 12 + int(month[5:]) - 1 for month in (self.first, self.last))
        return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(first, last + 1)]

    @property
    def start(self) -> datetime:
        """Its first instant, in UTC and without a zone, as landed Parquet has times."""
        return datetime.fromisoformat(f"{self.first}-01")

    @property
    def end(self) -> datetime:
        """The instant at which it is over."""
        return (datetime.fromisoformat(f"{self.last}-01") + timedelta(days=31)).replace(day=1)

    def is_published(self, at: datetime) -> bool:
        """Whether all its months were published at an instant: what is written before has only some of them and names none."""
        return at >= self.end.replace(tzinfo=UTC) + PUBLISHED_AFTER

    def partitions(self, version: str, account: str) -> list[str]:
        """The names of its deliveries: of a month alone, or of each month of a longer period."""
        of_period = f"~{self.first}..{self.last}" if self.first < self.last else ""
        return [f"{month}@{version}~{account}{of_period}" for month in self.months]


def period_of(partition: str) -> tuple[str, Period]:
    """The month and the period of a delivery by its name."""
    month, *_, last = partition.replace("@", "~").split("~")
    first, dots, end = last.partition("..")
    return month, Period(first, end) if dots else Period(month, month)


def calendar_period(column: str, text: str) -> Period | None:
    """The calendar quarter or year that a report names; None where it is none."""
    if column == YEAR:
        return Period.of(int(text), 1, 12) if _YEAR.fullmatch(text) and int(text) in YEARS else None
    if (match := _QUARTER.fullmatch(text)) is None:
        return None
    year, quarter = int(match["year"] or match["year_last"]), int(match["quarter"] or match["quarter_first"])
    return Period.of(year, 3 * quarter - 2, 3) if year in YEARS else None


def is_fiscal(text: str) -> bool:
    """Whether a report names a fiscal period, which does not state its months."""
    return _FISCAL.match(text) is not None
