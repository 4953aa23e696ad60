"""Months in UTC microseconds: where a time is cut into months, nothing is lost and nothing counted twice."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def month_of(at: int) -> date:
    return (EPOCH + at * MICROSECOND).date().replace(day=1)


def month_after(month: date) -> int:
    """The first microsecond that is not of this month any more."""
    return microseconds(datetime(month.year + month.month // 12, month.month % 12 + 1, 1, tzinfo=UTC))


def bounds(month: date) -> tuple[int, int]:
    return microseconds(datetime(month.year, month.month, 1, tzinfo=UTC)), month_after(month)


def by_month(start: int, end: int) -> Iterator[tuple[date, int, int]]:
    while start < end:
        month = month_of(start)
        stop = min(end, month_after(month))
        yield month, start, stop
        start = stop
