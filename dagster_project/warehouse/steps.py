"""What a refresh reports: one event as each of its steps ends, with what came of it.

Whoever refreshes reads them: the command line draws its progress of them, Dagster shows each as a materialisation or a check.
An event decides nothing; what a step does is building.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dagster_project.landing.missing import Missing, missing_of
from dagster_project.landing.planning import Problem, refusal_problems

if TYPE_CHECKING:
    from dagster_project.election.election import Election
    from dagster_project.landing.compacting import Compacted
    from dagster_project.landing.land import Landed
    from dagster_project.settings import Settings, SourceSettings
    from dagster_project.warehouse.builds import Build
    from dagster_project.warehouse.nodes import NodeResult


class Looked(NamedTuple):
    """Sources were looked at: what was landed, what could not be read or was not taken, and what of that fails the refresh."""

    sources: Sequence[SourceSettings]  # that were looked at
    landed: Sequence[Landed]
    problems: Sequence[Problem]
    missing: Missing


def look_of(
    settings: Settings, sources: Sequence[SourceSettings], landed: Sequence[Landed], unread: Sequence[Problem], election: Election
) -> Looked:
    """A look at sources, with what was refused earlier and still is."""
    problems = [*unread, *refusal_problems(election.refusals)]
    elected = {member.generation.source for member in election.members}
    return Looked(sources, landed, problems, missing_of(settings, (source.name for source in sources), problems, elected))


class Elected(NamedTuple):
    """It is known what counts. Nothing follows where the publication is of exactly that."""

    election: Election


class Started(NamedTuple):
    """It is decided what to build, and the marker of the build is left."""

    build: Build


class RawCreated(NamedTuple):
    """The views that SQL reads are there."""

    build: Build
    election: Election
    seconds: float


class NodeEnded(NamedTuple):
    """One model or seed is built or broken, or one test has run; of no build where somebody runs it by hand."""

    build: Build | None
    node: NodeResult
    number: int  # of as many as there are: of tests, or of models and seeds
    total: int


def counted(build: Build | None, nodes: Iterable[NodeResult], are_tests: Iterable[bool]) -> Iterator[NodeEnded]:
    """An event for each node as it ends; tests are counted by themselves, and models with seeds."""
    totals, done = Counter(are_tests), Counter[bool]()
    for node in nodes:
        done[node.is_test] += 1
        yield NodeEnded(build, node, done[node.is_test], totals[node.is_test])


class Allowed(NamedTuple):
    """Every expected gate has passed, so the build may be published."""

    build: Build
    gates: int


class Published(NamedTuple):
    """Readers have the new publication; `record` is its PUBLICATION.json."""

    build: Build
    record: dict[str, Any]
    seconds: float


class BroughtToBucket(NamedTuple):
    """The Parquet of the publication is in the bucket of `publish_to`, or why it is not; readers at home have it either way."""

    location: str
    files: int  # that were new there
    problem: str | None

    def __str__(self) -> str:
        if self.problem:
            return f"Not brought to {self.location}, where the publication before stays: {self.problem}"
        return f"Brought to {self.location}: {self.files} new files."


class Bundled(NamedTuple):
    """Small deliveries of a source were many, so that those of a day became one file."""

    made: Compacted

    def __str__(self) -> str:
        return f"{self.made}."


Step = Looked | Elected | Started | RawCreated | NodeEnded | Allowed | Published | Bundled | BroughtToBucket
