"""Which machine a name in a run record means: one name may be of machines in several projects and zones."""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from .google_clusters import Place, means, place_of, wider_name
from .google_lines import GoogleLine
from .records import Runs

_PATH = re.compile(r"projects/([^/]+)/(?:(?:zones|locations)/([^/]+)/)?(?:nodes|instances)/[^/]+$")
_BEFORE = re.compile(r"^.*/(nodes|instances)/")


def bare(name: str) -> str:
    """A machine's name without the path before it."""
    return _BEFORE.sub("", name)


def _means(recorded: str, line: GoogleLine) -> bool:
    """Project and zone are compared where both sides say them."""
    stated = _PATH.search(recorded)
    if not stated:
        return True
    number, project_id, zone = line.place
    return stated[1] in (number, project_id) and (not stated[2] or zone in ("", stated[2]))


def tell_machines_apart(lines: list[GoogleLine], runs: Runs) -> None:
    """Gives every row the names of records that mean its machine; a name that fits two machines in a month means neither."""
    recorded: dict[str, set[str]] = defaultdict(set)
    for name in (*runs.windows, *(window.resource_id for window in runs.unknown)):
        recorded[wider_name(name) or bare(name)].add(name)
    found: dict[tuple[date, str], list[tuple[GoogleLine, int, Place]]] = defaultdict(list)
    for line in lines:
        for name in {each for own in line.resources for each in recorded.get(bare(own), ()) if _means(each, line)}:
            found[line.usage_month, name].append((line, 0, line.place))
        for breadth, name, location, lent_by in line.allocation.wider if line.is_usage and not line.is_unused else ():
            place = place_of(line.place, location, lent_by)
            for each in recorded.get(name, ()):
                if means(each, place):
                    found[line.usage_month, each].append((line, breadth, place))
    for (_, name), of_name in found.items():
        if _are_one(place for _, _, place in of_name):
            for line, breadth, _ in of_name:
                if breadth:
                    line.wider[name] = breadth
                else:
                    line.machines |= {name}


def _are_one(places: Iterable[Place]) -> bool:
    numbers, _, zones = (set(column) for column in zip(*places, strict=True))
    return len(numbers - {""}) <= 1 and len(zones - {""}) <= 1
