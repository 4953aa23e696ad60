"""Fields of other systems' records, read by their types: every refusal names the field and the value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from connectors.runs.run_records import Document, RecordError, time_of
from connectors.times import recorded_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECONDS, MILLISECONDS = 1_000_000, 1_000  # microseconds of one
RUN_LABELS = ("training_run_id", "training-run-id", "trainledger_run_id")


def text(document: Document, field: str) -> str | None:
    """A text, or None where there is none."""
    value = document.get(field)
    if value is not None and not isinstance(value, str):
        raise RecordError("is no text", field=field, value=value)
    return value or None


def needed(document: Document, field: str) -> str:
    """A text that must be there."""
    value = text(document, field)
    if value is None or not value.strip():
        raise RecordError("is missing", field=field, reason="missing_value")
    return value


def inner(document: Document, *fields: str) -> Document:
    """An object in an object; an empty one where it is absent."""
    for number, field in enumerate(fields):
        value = document.get(field)
        if value is not None and not isinstance(value, dict):
            raise RecordError("is no object", field=".".join(fields[: number + 1]), value=value)
        document = value or {}
    return document


def listed(document: Document, *fields: str) -> list[Document]:
    """A list of objects, also one in an object; an empty one where it is absent."""
    value = inner(document, *fields[:-1]).get(fields[-1]) or []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise RecordError("is no list of objects", field=".".join(fields))
    return value


def texts(document: Document, field: str) -> list[str]:
    """A list of texts; an empty one where it is absent."""
    value = document.get(field) or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise RecordError("is no list of texts", field=field, value=value)
    return value


def whole(digits: str, field: str) -> int:
    """A whole number that a text is; Python itself refuses to read one of thousands of digits."""
    if len(digits) > 18:
        raise RecordError("is no count", field=field, value=digits)
    return int(digits)


def number(document: Document, field: str) -> float | None:
    """A number, also one written as text; NaN and infinity are none."""
    value = document.get(field)
    if value is None or value == "":
        return None
    try:
        found = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (OverflowError, ValueError):
        found = None
    if found is None or not math.isfinite(found):
        raise RecordError("is no number", field=field, value=value)
    return found


def count(document: Document, field: str) -> int | None:
    """A count. Google's and Kubernetes' interfaces write some as text."""
    found = number(document, field)
    if found is not None and (found < 0 or found != int(found) or found >= 2**63):
        raise RecordError("is no count", field=field, value=document[field])
    return None if found is None else int(found)


def moment(document: Document, field: str, unit: int = SECONDS) -> datetime | None:
    """A time as text, or as a number of `unit` since 1970. None where there is none, and for a zero time."""
    value = document.get(field)
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise RecordError("is no time", field=field, value=value)
    if isinstance(value, str) and not re.fullmatch(r"\d{9,}(\.\d+)?", value, re.ASCII):
        return time_of(value or None, field)
    if not value:
        return None
    try:
        found = recorded_time(_EPOCH + timedelta(microseconds=round(float(value) * unit)))
    except (OverflowError, ValueError) as error:
        raise RecordError("is no time", field=field, value=value) from error
    return found and found.replace(tzinfo=None)


def labelled_run(labels: Document) -> str | None:
    """The run that labels, tags or metadata name."""
    return next((value for name in RUN_LABELS if isinstance(value := labels.get(name), str) and value.strip()), None)


def first(moments: Iterable[datetime | None]) -> datetime | None:
    """The earliest of some times."""
    return min((one for one in moments if one), default=None)


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """The latest of some times."""
    return max((one for one in moments if one), default=None)


def last(moments: Iterable[datetime | None]) -> datetime | None:
    """The latest of some times, or None where one of them is open."""
    found = list(moments)
    return latest(found) if all(found) else None
