"""Which tables were loaded whole, so that a look may ask for the last days alone.

A first load that dies half-way must not lose the days that the look-back leaves out from then on. So the look-back holds only
after one load of all days that left nothing behind. The mark is a cache: without it all days are asked for again, and what is
known is not read again.
"""

from __future__ import annotations

from dagster_project.base import durable
from dagster_project.landing.land import Landing
from dagster_project.settings import SourceSettings


def is_loaded(landing: Landing, source: SourceSettings) -> bool:
    """Whether all that the source has of its `months` was landed once, in this landing and from this location."""
    try:
        return (landing.cache / _name(source)).read_bytes() == _load(landing, source)
    except FileNotFoundError:
        return False


def mark_loaded(landing: Landing, source: SourceSettings) -> None:
    """Keep that a load of all days left nothing behind."""
    path = landing.cache / _name(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.write(path, _load(landing, source))


def _name(source: SourceSettings) -> str:
    return f"listed/{source.name}.whole"


def _load(landing: Landing, source: SourceSettings) -> bytes:
    """What the mark is of: other months, another table and another landing were not loaded by it."""
    return f"{source.location}\n{source.months or 'all months'}\n{landing.store.uri}\n".encode()
