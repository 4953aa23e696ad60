"""The region that telemetry names, by itself or by a zone in it; what has the shape of neither names none.

`us-east-1a` lies in `us-east-1`, `us-central2-b` and `us-central1-ai1a` in their part before the last hyphen. Local zones of AWS
(`us-west-2-lax-1a`), multi-regions (`us`) and words of users (`a`, `berlin`) are passed over: a wrong region is worse than none.
"""

from __future__ import annotations

import re
from functools import lru_cache

_AWS = r"(?P<aws>[a-z]+(?:-[a-z]+)+-\d+)[a-z]?"
_CONTINENT = "africa|asia|australia|europe|me|northamerica|southamerica|us"
_GOOGLE = rf"(?P<google>(?:{_CONTINENT})-(?:north|south|east|west|central)+\d+)(?:-(?:[a-z]|ai\d[a-z]))?"
_PLACE = re.compile(f"{_AWS}|{_GOOGLE}", re.ASCII)


@lru_cache(maxsize=256)
def region_of(*places: str | None) -> str | None:
    """The region of the first that is a region or a zone."""
    found = next(filter(None, (_PLACE.fullmatch(place or "") for place in places)), None)
    return found and (found["aws"] or found["google"])


def region_in(name: str) -> str | None:
    """The one region whose zones stand before the last part of a machine's path: `us-central2-b/n-1`."""
    found = set(filter(None, map(region_of, name.split("/")[:-1])))
    return found.pop() if len(found) == 1 else None
