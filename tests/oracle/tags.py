"""The tags of an AWS bill row, from every place in which a bill may carry one, the narrowest place first."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from .rows import snake

# what is put on a resource, on who used it, on a rule of the payer, on a whole account
_RANKS = {"": 2, "resourceTags": 2, "iamPrincipal": 4, "userAttribute": 4, "costCategory": 6, "accountTag": 7}


class Tag(NamedTuple):
    rank: int
    name: str
    value: str

    def is_of(self, key: str) -> bool:
        """Names in the column of resources are in snake case already; elsewhere they may be as somebody wrote them."""
        return snake(key) in ({self.name} if self.rank in (0, 1, 3) else _readings(self.name))


@cache
def _readings(name: str) -> set[str]:
    return {snake(name), re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")}


def tags_of(row: dict) -> Iterator[Tag]:
    found = (tag for column in ("resource_tags", "tags", "cost_category") for tag in _entries(column, row.get(column) or {}))
    return (tag for tag in found if tag.value)


def _entries(column: str, entries: dict) -> Iterator[Tag]:
    for name, value in entries.items():
        before, _, key = name.rpartition("/")
        if column == "cost_category":
            yield Tag(5, name, value)
        elif column == "tags":
            if before in _RANKS:
                yield Tag(_RANKS[before], re.sub("^user[:_]", "", key), value)
                yield Tag(_RANKS[before], key, value)
        elif before == "userAttribute":
            yield Tag(3, snake(key), value)
        elif name.startswith("user_"):
            yield Tag(0, name.removeprefix("user_"), value)
            yield Tag(1, name, value)
        else:
            yield Tag(1, name, value)
