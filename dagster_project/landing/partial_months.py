"""Which past months of a bill by days are half exported: for `status` and `doctor`, in one wording.

Told from the days of partitions and the times at which they were exported, which every way of reading knows: folders of Parquet
or JSON lines, local or in a bucket, and tables. Google does not say whether a partition's day is that of use or of export; both
questions hold for either. Nothing is held back: the figures of such a month are what is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

from dagster_project.base.months import first_day, month_end, months_between
from dagster_project.landing.records import partition_day
from dagster_project.settings import SourceSettings

SHOWN = 5
REASON = "partial_month"
LAST_ROWS_AFTER = timedelta(days=2)  # rows of a month's last day come within a day or two of it
REMEDY = (
    "Wait a day or two for late rows. If they do not come, see whether the export was switched off (Billing, Billing export);"
    " export again what the files lack, and ask Google for what the table itself lacks. A day without any use has no partition."
)


@dataclass(frozen=True, slots=True)
class PartialMonth:
    """A past month of which something is missing: days without a partition, or the exports after its end."""

    month: str
    missing_days: tuple[date, ...]
    newest_export: datetime | None = None  # where none came late enough

    def __str__(self) -> str:
        said = [f"{self.month} has no partition of {', '.join(_ranges(self.missing_days))}"] if self.missing_days else []
        if self.newest_export:
            late = month_end(self.month) + LAST_ROWS_AFTER
            seen = f"{self.newest_export:%Y-%m-%d %H:%M} UTC"
            said.append(f"nothing was exported after {seen}, but the last rows of {self.month} come until {late:%Y-%m-%d}")
        return "; ".join(said)

    def facts(self) -> dict[str, Any]:
        """The same for programs."""
        newest = self.newest_export.isoformat() if self.newest_export else None
        return {"month": self.month, "missing_days": [day.isoformat() for day in self.missing_days], "newest_export": newest}


def in_words(months: Sequence[PartialMonth]) -> str:
    """The first of them, and how many there are more."""
    more = f"; and {len(months) - SHOWN} more months" if len(months) > SHOWN else ""
    return "; ".join(map(str, months[:SHOWN])) + more


def partial_months(source: SourceSettings, exported: Mapping[str, datetime], now: datetime) -> list[PartialMonth]:
    """The half-exported ones among the months of a source, by its partitions and when each was exported.

    A day counts as missing between the first and the last partition of the source: an export that was off from 20 April to
    5 May lacks days of both months. A month was exported to its end if anything was exported two days after it.
    """
    times = {day: at for partition, at in exported.items() if (day := partition_day(partition))}
    if source.facts.fact != "bill" or not times:
        return []
    found = []
    first, last = min(times), max(times)
    for month in months_between(f"{first:%Y-%m}", f"{last:%Y-%m}"):
        end = month_end(month)
        if end > now or not source.reads_month(month):
            continue
        days = (date.fromordinal(number) for number in range(first_day(month).toordinal(), end.date().toordinal()))
        missing = tuple(day for day in days if first < day < last and day not in times)
        newest = max(at for day, at in times.items() if day >= first_day(month))
        is_early = newest < end + LAST_ROWS_AFTER <= now
        if missing or is_early:
            found.append(PartialMonth(month, missing, newest if is_early else None))
    return found


def _ranges(days: tuple[date, ...]) -> list[str]:
    """Days in order, those that follow each other as one: 2026-04-03, 2026-04-05..2026-04-08."""
    runs = [[day for _, day in group] for _, group in groupby(enumerate(days), key=lambda pair: pair[1].toordinal() - pair[0])]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs]
