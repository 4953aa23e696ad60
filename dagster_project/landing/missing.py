"""Which sources a refresh goes without: those that end it as failed, and those that the configuration expects to be missing.

A source is in when it could be read and its newest deliveries count. One of `expected_missing` that is not in is named, and fails
nothing. What could not be read or was not taken is planning.py's matter.
"""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from dagster_project.base import durable
from dagster_project.landing.planning import Problem
from dagster_project.settings import Settings

SHOWN = 20
NOTE = "missing.json"


class Missing(NamedTuple):
    """What a refresh goes without; the rest of it is published."""

    problems: list[Problem]  # each of them is exit code 3, and a failed run in Dagster
    expected: list[str]  # a line for each source that is expected to be missing

    def __str__(self) -> str:
        """Each problem with its remedy, for the person who reads why a run failed."""
        lines = [str(problem) for problem in self.problems[:SHOWN]]
        more = len(self.problems) - SHOWN
        return "\n".join([*lines, f"and {more} more: `trainledger status` lists them"] if more > 0 else lines)

    def is_noted(self, cache: Path) -> bool:
        """Whether the last run that Dagster lists went without the same: then a look without news has nothing to add."""
        note = cache / NOTE
        return self._note() == (note.read_bytes() if note.exists() else b"[]")

    def note(self, cache: Path) -> None:
        """Keep what the run went without that Dagster lists last."""
        if not self.is_noted(cache):
            durable.put(cache / NOTE, self._note())

    def _note(self) -> bytes:
        return json.dumps(sorted({(one.source, one.partition, one.reason) for one in self.problems})).encode()


def missing_of(settings: Settings, looked: Iterable[str], problems: Iterable[Problem], elected: Collection[str]) -> Missing:
    """Of the sources that were looked at; `elected` are those of which at least one delivery counts."""
    names, found = settings.expected_missing, list(dict.fromkeys(problems))
    lines = list[str]()
    for name in (name for name in looked if name in names):
        own = [problem for problem in found if problem.source == name]
        if own:
            more = f" And {len(own) - 1} more." if len(own) > 1 else ""
            lines.append(f"Expected to be missing: {own[0]}{more}")
        elif name in elected:
            lines.append(f"{name} is in again: take it off `expected_missing` in {settings.path}.")
        else:
            lines.append(f"Expected to be missing: {name}: it delivered nothing yet.")
    return Missing([problem for problem in found if problem.source not in names], lines)
