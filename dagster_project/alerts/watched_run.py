"""One run as alerts see it: what it looked at, and how it ended. Light: every refresh makes one, with alerts or without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dagster_project.landing.planning import Problem

Say = Callable[[str], None]


class Failed(NamedTuple):
    """How a run failed."""

    text: str
    remedy: str
    gates: tuple[str, ...] = ()  # those that did not pass, where this is why


@dataclass(slots=True)
class Watched:
    """One run of a job; `refresh` is a job of the command line too."""

    job: str
    looked: frozenset[str] = frozenset()  # sources of which all that could not be taken is in `problems`
    problems: Sequence[Problem] = ()
    is_done: bool = False  # it came to its end; neither done nor failed: it never began, or a person ended it
    failed: Failed | None = None

    def look(self, sources: Iterable[str], problems: Sequence[Problem]) -> None:
        """Every one of these sources was looked at, with these problems."""
        self.looked, self.problems = frozenset(sources), problems
