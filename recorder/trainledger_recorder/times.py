"""Times as the recorder reads and writes them: aware, and in UTC."""

from __future__ import annotations

import os
from datetime import datetime, timezone


def now() -> datetime:
    """The current time, or TRAINLEDGER_NOW."""
    fixed = os.environ.get("TRAINLEDGER_NOW")
    return parsed(fixed) if fixed else datetime.now(timezone.utc)


def parsed(text: str) -> datetime:
    """A time of ISO 8601; without a zone it is UTC."""
    moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))  # Python 3.9 and 3.10 read no Z
    return moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment.astimezone(timezone.utc)


def stamp(moment: datetime) -> str:
    """A time as every line and record has it: UTC, milliseconds."""
    return f"{moment.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
