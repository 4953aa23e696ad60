"""The time that a report is about, in UTC, and its words: a calendar quarter, a fiscal year, or dates that somebody asks about.

Month names are English and fixed, so that no locale reaches a report.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from string import Template

from reports.errors import QuarterError, WindowError

MONTHS = "January February March April May June July August September October November December"


def month_name(month: date) -> str:
    """2026-09-01 -> September 2026."""
    return f"{MONTHS.split()[month.month - 1]} {month.year}"


def short_month_name(month: date) -> str:
    """2026-09-01 -> Sep 2026."""
    return f"{MONTHS.split()[month.month - 1][:3]} {month.year}"


def listed(words: list[str]) -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


@dataclass(frozen=True)
class Quarter:
    """Three calendar months; `end` is excluded."""

    year: int
    number: int

    @classmethod
    def parse(cls, text: str) -> "Quarter":
        """Read 2026Q3."""
        match = re.fullmatch(r"([1-9][0-9]{3})Q([1-4])", text)
        if match is None:
            raise QuarterError(f"{text!r} is not a quarter. Write a year, Q and 1 to 4, for example 2026Q3.")
        return cls(int(match[1]), int(match[2]))

    @property
    def name(self) -> str:
        return f"{self.year}Q{self.number}"

    @property
    def start(self) -> date:
        return date(self.year, self.number * 3 - 2, 1)

    @property
    def end(self) -> date:
        return date(self.year + self.number // 4, self.number * 3 % 12 + 1, 1)

    @property
    def months(self) -> list[date]:
        return [date(self.year, self.number * 3 - back, 1) for back in (2, 1, 0)]

    @property
    def previous(self) -> "Quarter":
        return Quarter(self.year - 1, 4) if self.number == 1 else Quarter(self.year, self.number - 1)

    @property
    def arguments(self) -> dict[str, str | date | None]:
        """What the rows of a page are chosen by: `$quarter`, `$start` ... in its declaration. A year ends with the quarter."""
        months = {f"month_{n}": month for n, month in enumerate(self.months, 1)}
        days = {"before": self.previous.start, "start": self.start, "end": self.end, "year": months_before(self.end, 12)}
        return {"quarter": self.name, "reports": None, **days, **months}

    def fill(self, text: str) -> str:
        """A heading or sentence of any quarter as one of this: `$quarter` becomes 2026Q3, `$month_1_short` Jul 2026.

        A mark that is none of these is a KeyError; `$$` is a dollar.
        """
        months = {f"month_{n}": month for n, month in enumerate(self.months, 1)}
        return Template(text).substitute(
            {f"{name}_name": month_name(month) for name, month in months.items()},
            **{f"{name}_short": short_month_name(month) for name, month in months.items()},
            quarter=self.name,
            last_quarter=self.previous.name,
        )


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

    @property
    def arguments(self) -> dict[str, str | date]:
        """What the rows of a page are chosen by; where a quarter has a year these dates have themselves."""
        return {"start": self.start, "end": self.end, "year": self.start}

    def fill(self, text: str) -> str:
        """A sentence with the mark of a quarter as one of this window: `$quarter` becomes its days in words."""
        return Template(text).substitute(quarter=self.words)


def is_year(name: str) -> bool:
    """Whether a report is named by a fiscal year; all others are to be quarters."""
    return bool(re.fullmatch("[0-9]{4}", name, re.ASCII))


@dataclass(frozen=True)
class FiscalYear:
    """Twelve months, named by the calendar year in which they end; `end` is excluded."""

    name: str
    start: date
    end: date

    @property
    def words(self) -> str:
        return f"fiscal year {self.name}, {day_name(self.start)} to {day_name(self.end - timedelta(days=1))}"

    @property
    def arguments(self) -> dict[str, str | date]:
        """What the rows of a page are chosen by."""
        return {"fiscal_year": self.name, "reports": f"{self.name}-", "start": self.start, "end": self.end}

    def fill(self, text: str) -> str:
        """A sentence with the mark of a quarter as one of this year: `$quarter` becomes its days in words."""
        return Template(text).substitute(quarter=self.words)
