"""What a refresh reports: one event as each of its steps ends, with what came of it.

Whoever refreshes reads them: the command line draws its progress of them, Dagster shows each as a materialisation or a check.
An event decides nothing; what a step does is building.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dagster_project.election.election import Election
    from dagster_project.landing.land import Landed
    from dagster_project.landing.planning import Problem
    from dagster_project.warehouse.builds import Build
    from dagster_project.warehouse.nodes import NodeResult


class Looked(NamedTuple):
    """Every source was looked at: what was landed, and what could not be read or was not taken."""

    landed: Sequence[Landed]
    problems: Sequence[Problem]


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
    number: int  # of as many as there are
    total: int


class Allowed(NamedTuple):
    """Every expected gate has passed, so the build may be published."""

    build: Build
    gates: int


class Published(NamedTuple):
    """Readers have the new publication; `record` is its PUBLICATION.json."""

    build: Build
    record: dict[str, Any]
    seconds: float


Step = Looked | Elected | Started | RawCreated | NodeEnded | Allowed | Published
