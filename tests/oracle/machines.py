"""Which machine a name in a run record means: one name may be of machines in several projects and zones."""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from .google_lines import GoogleLine
from .records import Runs

_PATH = re.compile(r"projects/([^/]+)/(?:(?:zones|locations)/([^/]+)/)?(?:nodes|instances)/[^/]+$")
_BEFORE = re.compile(r"^.*/(nodes|instances)/")


def bare(name: str) -> str:
    """A machine's name without the path before it."""
    return _BEFORE.sub("", name)


def _means(recorded: str, line: GoogleLine) -> bool:
    """Project and zone are compared where both sides say them."""
    said = _PATH.search(recorded)
    if not said:
        return True
    number, project_id, zone = line.place
    return said[1] in (number, project_id) and (not said[2] or zone in ("", said[2]))


def tell_machines_apart(lines: list[GoogleLine], runs: Runs) -> None:
    """Gives every row the names of records that mean its machine; a name that fits two machines in a month means neither."""
    recorded: dict[str, set[str]] = defaultdict(set)
    for name in (*runs.windows, *(window.resource_id for window in runs.unknown)):
        recorded[bare(name)].add(name)
    found: dict[tuple[date, str], list[GoogleLine]] = defaultdict(list)
    for line in lines:
        for name in {each for own in line.resources for each in recorded.get(bare(own), ()) if _means(each, line)}:
            found[line.usage_month, name].append(line)
    for (_, name), of_name in found.items():
        if _are_one(of_name):
            for line in of_name:
                line.machines |= {name}


def _are_one(lines: Iterable[GoogleLine]) -> bool:
    numbers, _, zones = (set(column) for column in zip(*(line.place for line in lines), strict=True))
    return len(numbers - {""}) <= 1 and len(zones - {""}) <= 1
