"""The demo's time: a fixed now, the usage months, and the conversions every writer needs. Epoch seconds or microseconds, UTC."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime
from functools import cache

HOUR = 3_600
DAY = 24 * HOUR
MICRO = 1_000_000
MONTHS = ("2026-04", "2026-05", "2026-06", "2026-07", "2026-08", "2026-09")
HISTORY = ("2025-11", "2025-12", "2026-01", "2026-02", "2026-03")  # of which only the comparisons' pairs are billed
OPEN_MONTH = "2026-09"  # billed, but without an invoice yet


def micros(text: str) -> int:
    """Epoch microseconds of a UTC time such as 2026-06-24T11:30:00.250."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * MICRO)


def seconds(text: str) -> int:
    return micros(text) // MICRO


NOW = seconds("2026-10-10T00:00:00")


@cache
def month_bounds(month: str) -> tuple[int, int]:
    """First second of the month and first second of the next."""
    start = seconds(f"{month}-01")
    return start, start + calendar.monthrange(*map(int, month.split("-")))[1] * DAY


def month_of(second: int) -> str:
    return iso(second)[:7]


def days_after_month(month: str, days: int, clock: str) -> int:
    """A time on the given day of the following month; day 1 is 1."""
    return month_bounds(month)[1] + (days - 1) * DAY + seconds(f"1970-01-01T{clock}")


@cache
def iso(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@cache
def iso_milli(second: int) -> str:
    return iso(second).replace("Z", ".000Z")


def iso_micro(microsecond: int) -> str:
    """As short as the value allows: most of our times are whole seconds."""
    second, rest = divmod(microsecond, MICRO)
    return iso(second) if rest == 0 else f"{iso(second)[:-1]}.{rest:06d}Z"


def hours_between(start: int, end: int, month: str) -> list[tuple[int, int]]:
    """The clock hours of [start, end) inside the month, each with the seconds of it that are covered."""
    first, last = month_bounds(month)
    start, end = max(start, first), min(end, last)
    return [(hour, min(end, hour + HOUR) - max(start, hour)) for hour in range(start - start % HOUR, end, HOUR)]
