"""Times and months as providers write them. All become UTC, and a time without a zone is UTC, as our providers document."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

YEARS = range(2006, 2100)  # from the first cloud bill to before the sentinel dates that writers put for "never"

_ZERO_TIMES = (datetime(1, 1, 1), datetime(1970, 1, 1))  # noqa: DTZ001 - compared in UTC
_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9}))?\s?(Z|z|UTC|[+-]\d{2}:?(?:\d{2})?)?)?", re.ASCII
)
_OFFSET = re.compile(r"([+-]\d\d):?(\d\d)", re.ASCII)
_MONTH = re.compile(r"(?!0000|9999)\d{4}-(0[1-9]|1[0-2])", re.ASCII)  # the month after it must be one as well


def parse_utc(text: str) -> datetime:
    """Return a provider's time as an aware UTC datetime; ValueError when it is none. Digits below a microsecond are cut."""
    match = _TIME.fullmatch(text)
    if not match:
        raise ValueError("not a time of the form 2026-04-01T00:00:00Z")
    day, clock, fraction, zone = match.groups()
    zone = "+00:00" if zone in {None, "Z", "z", "UTC"} else zone
    digits = (fraction or "").ljust(6, "0")[:6]
    moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{':00' if len(clock or '00:00') == 5 else ''}.{digits}{zone}")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("outside the years 1 to 9999") from error


def recorded_time(moment: datetime) -> datetime | None:
    """Return an aware time of a record or sample; None for a mark of "no time"; ValueError outside YEARS.

    Go writes 0001-01-01T00:00:00Z and C the second 0 for a time that was never set; 9999-12-31 and the last nanosecond of 64 bits
    (2262-04-11) say "still open".
    """
    day = (moment.year, moment.month, moment.day)
    if moment.year == 9999 or day == (2262, 4, 11) or moment.replace(tzinfo=None) in _ZERO_TIMES:
        return None
    if moment.year not in YEARS:
        raise ValueError(f"outside the years {YEARS[0]} to {YEARS[-1]}")
    return moment


def zone_named(name: str) -> tzinfo:
    """The zone of a name such as Europe/Paris or +02:00; ValueError where it is none."""
    try:
        if match := _OFFSET.fullmatch(name):
            return datetime.fromisoformat(f"2026-01-01T00:00:00{match[1]}:{match[2]}").tzinfo or UTC
        return ZoneInfo(name)
    except (OSError, KeyError) as error:  # an unknown zone is a KeyError, and a folder of zones an OSError
        raise ValueError("no zone") from error


def is_month(text: str) -> bool:
    """Whether a text is a month of the form 2026-04."""
    return _MONTH.fullmatch(text) is not None


def execution_time(folder: str) -> datetime | None:
    """Return the time in the name of an execution's folder, or None when the folder is named by an id alone.

    Data Exports write 2024-04-02T13:14:43.337Z-<uuid>, legacy reports 20230103T125721Z or a bare uuid.
    """
    match = re.match(r"(\d{4}-?\d{2}-?\d{2}T\d{2}:?\d{2}:?\d{2}(?:\.\d+)?)Z(?:-|$)", folder, re.ASCII)
    try:
        return datetime.fromisoformat(f"{match[1]}Z") if match else None
    except ValueError:
        return None
