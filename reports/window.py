"""A span of dates in UTC that somebody asks about: from a first day to a day that is no longer in it."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from string import Template

from reports.errors import WindowError
from reports.quarter import MONTHS


def day_name(day: date) -> str:
    """2026-09-30 -> 30 September 2026."""
    return f"{day.day} {MONTHS.split()[day.month - 1]} {day.year}"


def read_day(text: str, option: str) -> date:
    """Read 2026-10-01."""
    try:
        if re.fullmatch(r"[12]\d{3}-\d\d-\d\d", text, re.ASCII):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise WindowError(f"{option} {text!r} is not a day. Write it like 2026-10-01.")


def months_before(day: date, count: int) -> date:
    """The first day of the month that is `count` months before that of `day`."""
    months = day.year * 12 + day.month - 1 - count
    return date(months // 12, months % 12 + 1, 1)


@dataclass(frozen=True)
class Window:
    """Days from `start` on; `end` is excluded, so that two windows that meet share no run."""

    start: date
    end: date

    def __post_init__(self) -> None:
        if self.start >= self.end:
            what = f"There is no day from {self.start} to {self.end}: --to is the day after the last"
            raise WindowError(f"{what}, as in --from 2026-04-01 --to 2026-10-01.")

    @property
    def name(self) -> str:
        return f"{self.start}_{self.end}"

    @property
    def words(self) -> str:
        return f"{day_name(self.start)} to {day_name(self.end - timedelta(days=1))}"

    def fill(self, text: str) -> str:
        """A query or sentence with the marks of a quarter as one of this window: `$start` becomes date '2025-10-01'."""
        return Template(text).substitute(start=f"date '{self.start}'", end=f"date '{self.end}'", quarter=self.words)
