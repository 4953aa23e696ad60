"""MLPerf's folders of results: the log of a run, the power logs beside it and the description of its system, by their keys.

`<submitter>/results/<system>/<benchmark>/result_0.txt`, `.../<benchmark>/power/result_0/{node,sw}_0.txt` and
`<submitter>/systems/<system>.json`, with anything or nothing before them. Submitters count nodes from 0 or from 1.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from connectors.stores import ObjectInfo

_RESULT = re.compile(r"(?P<folder>(?:.*/)?)(?P<result>(?:[^/]*[-_])?result_[^/]+)\.(?:txt|log)")
_POWER = re.compile(r"(?P<folder>(?:.*/)?)power/(?P<result>result_[^/]+)/(?P<part>node|sw)_(?P<number>\d{1,6})\.(?:txt|log)")
_LONGEST = 63  # ids of runs are compared by so many characters


@dataclass(slots=True)
class Result:
    """One run: `name` is <system>/<benchmark>/<result>, as far as the key has them."""

    name: str
    log: ObjectInfo | None = None
    system: ObjectInfo | None = None
    nodes: dict[int, ObjectInfo] = field(default_factory=dict)
    switches: dict[int, ObjectInfo] = field(default_factory=dict)

    @property
    def objects(self) -> tuple[ObjectInfo, ...]:
        """All that is of the run, the log first."""
        parts = (self.log, self.system, *_in_order(self.nodes), *_in_order(self.switches))
        return tuple(info for info in parts if info is not None)

    def node_of(self, info: ObjectInfo) -> str:
        """The machine of a node's log: submitters who count from 1 mean the same machines as those who count from 0."""
        number = next(number for number, one in self.nodes.items() if one.key == info.key)
        return machine_of(self.name, number - min(min(self.nodes), 1))


def results_of(infos: Iterable[ObjectInfo]) -> list[Result]:
    """The runs of a listing, in the order of their keys."""
    listed = {info.key: info for info in infos}
    found: dict[tuple[str, str], Result] = {}

    def result(match: re.Match[str]) -> Result:
        place = match["folder"], match["result"]
        return found.setdefault(place, Result(_name_of(*place), system=_system_of(*place, listed)))

    for key, info in sorted(listed.items()):
        if match := _POWER.fullmatch(key):
            one = result(match)
            (one.nodes if match["part"] == "node" else one.switches)[int(match["number"])] = info
        elif (match := _RESULT.fullmatch(key)) and "/power/" not in f"/{key}":
            result(match).log = info
    return [found[place] for place in sorted(found)]


def machine_of(result: str, number: int) -> str:
    """The id of a machine of a run, counted from 0: every submission has a node_0."""
    return f"{result}/node_{number}"


def _name_of(folder: str, result: str) -> str:
    parts = [part for part in folder.split("/") if part]
    if "results" in parts:
        parts = parts[len(parts) - parts[::-1].index("results") :]
    name = "/".join([*parts[-2:], result])
    return name if len(name) <= _LONGEST else f"{name[:50]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _system_of(folder: str, result: str, listed: dict[str, ObjectInfo]) -> ObjectInfo | None:
    """The description named like a folder above the log, in `systems` or in a folder above; else `system.json` beside the log,
    or `<beginning of the log's name>_system.json`.
    """
    parts = [part for part in folder.split("/") if part]
    for depth in range(len(parts) - 1, -1, -1):
        above = "".join(f"{part}/" for part in parts[:depth])
        for part in parts[depth:]:
            for key in (f"{above}systems/{part}.json", f"{above}{part}.json"):
                if key in listed:
                    return listed[key]
    ends = (match.end() for match in re.finditer("[-_]", result))
    beside = [f"{folder}{result[:end]}system.json" for end in ends][::-1]
    return next((listed[key] for key in (*beside, f"{folder}system.json") if key in listed), None)


def is_system(key: str) -> bool:
    """Whether a JSON file describes a system, by its folder."""
    path = PurePosixPath(key)
    return path.parent.name == "systems" or re.fullmatch(r"(.*[-_])?system\.json", path.name) is not None


def _in_order(parts: dict[int, ObjectInfo]) -> Iterable[ObjectInfo]:
    return (parts[number] for number in sorted(parts))
