"""Calendar months in UTC, written '2026-04', and when a provider has published its last word on one.

Which months have data, and what is known of each, is decided by election; here is only the calendar.
"""

import re
from datetime import UTC, date, datetime, timedelta

from dagster_project.base.failures import UsageError

MONTH = r"[12]\d{3}-(?:0[1-9]|1[0-2])"
MONTHS = re.compile(rf"{MONTH}(?:\.\.(?:{MONTH})?)?", re.ASCII)
BILL_CLOSES_AFTER = timedelta(days=14)
CARBON_IS_FINAL_AFTER = timedelta(days=21)
CARBON_EXPECTED_AFTER = timedelta(days=21)  # both publish month M between the 15th and the 21st of M + 1


def first_day(month: str) -> date:
    """The day a month begins with."""
    return date.fromisoformat(f"{month}-01")


def month_end(month: str) -> datetime:
    """The instant at which a month is over."""
    year, number = int(month[:4]), int(month[5:7])
    return datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)


def bill_closed_from(month: str, invoice_month: str) -> datetime:
    """When a provider has billed a month: some days after its end, and once the last invoice with rows of it is over."""
    return max(month_end(month) + BILL_CLOSES_AFTER, month_end(invoice_month))


def carbon_final_from(provider: str, month: str, published_at: datetime) -> datetime:
    """When a month of carbon counts as final.

    AWS no longer restates it once its yearly true-up is over, on 30 June of the next year; Google has no such day, so a
    delivery counts as final when it has stood for 21 days.
    """
    if provider == "Google Cloud":
        return published_at + CARBON_IS_FINAL_AFTER
    return datetime(int(month[:4]) + 1, 7, 1, tzinfo=UTC)


def months_between(first: str, last: str) -> list[str]:
    """Every month from the first to the last one; the first alone when the last is before it."""
    months = [first]
    while months[-1] < last:
        months.append(f"{month_end(months[-1]):%Y-%m}")
    return months


def months_back(month: str, count: int) -> list[str]:
    """A month and as many before it, the earliest first."""
    last = int(month[:4]) * 12 + int(month[5:7]) - 1
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(last - count, last + 1)]


def months_touched(start: datetime, end: datetime) -> set[str]:
    """The months of the half-open window [start, end); an empty window touches the month it is in."""
    return set(months_between(f"{start:%Y-%m}", f"{max(start, end - timedelta(microseconds=1)):%Y-%m}"))


def read_month(text: str, option: str) -> str:
    """The month that an option names, as it is written."""
    if not re.fullmatch(MONTH, text, re.ASCII):
        raise UsageError(f"{option} '{text}' is no month", remedy="Write it like 2026-04.")
    return text


def month_range(text: str, this_month: str) -> list[str]:
    """The months of '2026-04', of '2026-04..2026-06', or of '2026-04..', which ends with this month."""
    if not MONTHS.fullmatch(text):
        raise UsageError(f"'{text}' is no range of months", remedy="Write it as 2026-04, 2026-04.. or 2026-04..2026-06.")
    first, dots, last = text.partition("..")
    last = last or (this_month if dots else first)
    if first > last:
        raise UsageError(f"'{text}' holds no month: it ends before it begins", remedy=f"Write it as {last}..{first}.")
    return months_between(first, last)
