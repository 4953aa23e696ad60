"""The only clock of the product: TRAINLEDGER_NOW, or the system's. No other module asks for the time."""

import os
from datetime import UTC, datetime

from dagster_project.base.failures import UsageError


def now() -> datetime:
    """The current time, aware and in UTC."""
    fixed = os.environ.get("TRAINLEDGER_NOW")
    if not fixed:
        return datetime.now(UTC)
    return parse_instant(fixed, "TRAINLEDGER_NOW")


def parse_instant(text: str, where: str) -> datetime:
    """Read an ISO 8601 instant or date; a time without zone is UTC. `where` names the setting or option in the error."""
    try:
        instant = datetime.fromisoformat(text.strip())
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):  # a time zone may lead out of the years there are
        raise UsageError(
            f"'{text}' is not a time", where=where, remedy="Write it as 2026-10-10T00:00:00Z or as a date, in UTC."
        ) from None


def parse_past(text: str, option: str) -> datetime:
    """The same of an instant whose knowledge is asked for: what will be known is not."""
    instant = parse_instant(text, option)
    if instant > (present := now()):
        raise UsageError(
            f"{option} {text} is in the future", remedy=f"It is {present:%Y-%m-%dT%H:%M:%SZ}: name an earlier instant."
        )
    return instant
