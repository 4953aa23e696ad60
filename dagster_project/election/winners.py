"""Which generation of a partition counts, by what was landed or published by an instant, and which refusals are in force.

Per (source, partition) the greatest published_at wins, ties by content hash; a generation that the present code refuses is passed
over. The answer depends on what was landed, never on the order in which it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from dagster_project.failures import SourceError, UsageError
from dagster_project.kinds import Fact
from dagster_project.landing.deriving.contents import Contents
from dagster_project.landing.records import Generation, RefusalRecord
from dagster_project.landing.store import SourceLanding
from dagster_project.settings import SourceSettings


@dataclass(frozen=True)
class Winner:
    """The generation that counts in its partition, before anybody asked which source is the book."""

    source: SourceSettings
    generation: Generation
    contents: Contents

    @property
    def fact(self) -> Fact:
        """The kind of fact it carries."""
        return self.source.facts.fact

    def version(self, payer: str) -> str:
        """Carbon: the model version of a payer's rows."""
        controls = self.contents.controls
        return controls.payer_versions.get(payer, controls.model_version or "")


def winners_of(
    source: SourceSettings,
    landed: SourceLanding,
    contents_of: Callable[[Generation], Contents],
    as_of: datetime | None,
    as_published: datetime | None,
) -> tuple[list[Winner], list[RefusalRecord]]:
    """The winner of each partition of a source, and the refusals in force, also of what the present code refuses."""
    winners: list[Winner] = []
    refused: list[RefusalRecord] = []
    for candidates in _candidates(landed, as_of, as_published):
        _must_be_of_its_kind(source, candidates[0])
        winner = _winner(source, candidates, landed, contents_of, refused)
        if winner is not None:
            winners.append(winner)
    return winners, [*in_force(landed, as_of, as_published), *refused]


def winner_of(generations: Iterable[Generation]) -> Generation:
    """The generation that counts among those of one partition.

    Where the last ones have the same bytes, the first of them: so landing a repeat, or not, elects the same.
    """
    ordered = sorted(generations, key=lambda generation: generation.order)
    winner = ordered[-1]
    for generation in reversed(ordered):
        if generation.content_hash != winner.content_hash:
            break
        winner = generation
    return winner


def _candidates(landed: SourceLanding, as_of: datetime | None, as_published: datetime | None) -> list[list[Generation]]:
    """The generations of each partition that had been landed and published by then, removed ones among them."""
    partitions: dict[str, list[Generation]] = {}
    for generation in [*landed.generations, *(tombstone.generation for tombstone in landed.tombstones)]:
        if _was(generation.landed_at, as_of) and _was(generation.published_at, as_published):
            partitions.setdefault(generation.partition, []).append(generation)
    return [generations for _, generations in sorted(partitions.items())]


def _winner(
    source: SourceSettings,
    candidates: list[Generation],
    landed: SourceLanding,
    contents_of: Callable[[Generation], Contents],
    refused: list[RefusalRecord],
) -> Winner | None:
    """The generation of one partition that counts; one that the present code refuses is recorded, and the one before it asked."""
    removed = {id(tombstone.generation) for tombstone in landed.tombstones}
    while candidates:
        winner = winner_of(candidates)
        alike = [g for g in candidates if g.content_hash == winner.content_hash and id(g) not in removed]
        if id(winner) in removed and not alike:
            raise SourceError(
                f"generation {winner.name} of partition {winner.partition} was removed by retention and this election needs it",
                where=f"source {winner.source}, landed {winner.landed_at:%Y-%m-%dT%H:%M:%SZ}",
                remedy="Ask for an instant at which a kept generation counts (`trainledger status` lists them), "
                f"or land the bytes with hash {winner.content_hash} again.",
            )
        if id(winner) in removed:
            winner = min(alike, key=lambda g: g.order)
        contents = contents_of(winner)
        if contents.is_taken:
            return Winner(source, winner, contents)
        refused.append(_refusal_of(winner, contents))
        candidates = [generation for generation in candidates if generation.content_hash != winner.content_hash]
    return None


def _refusal_of(generation: Generation, contents: Contents) -> RefusalRecord:
    """A landed generation that the present code refuses, as if it were refused when it was landed."""
    return RefusalRecord(
        source=generation.source,
        kind=generation.kind,
        partition=generation.partition,
        identity=generation.identity,
        connector_version=contents.connector_version,
        published_at=generation.published_at,
        refused_at=generation.landed_at,
        refusals=contents.refusals,
    )


def _was(instant: datetime, limit: datetime | None) -> bool:
    return limit is None or instant <= limit


def in_force(landed: SourceLanding, as_of: datetime | None = None, as_published: datetime | None = None) -> list[RefusalRecord]:
    """The refusals that still stand: not withdrawn, and nothing newer of their partition was landed."""
    standing = []
    for record in landed.refusals:
        if not (_was(record.refused_at, as_of) and _was(record.published_at or record.refused_at, as_published)):
            continue
        if record.withdrawn_at is not None and _was(record.withdrawn_at, as_of):
            continue
        if not any(_supersedes(generation, record, as_of, as_published) for generation in landed.generations):
            standing.append(record)
    return standing


def _supersedes(generation: Generation, record: RefusalRecord, as_of: datetime | None, as_published: datetime | None) -> bool:
    if generation.partition != record.partition:
        return False
    if not (_was(generation.landed_at, as_of) and _was(generation.published_at, as_published)):
        return False
    if record.published_at is None:
        return generation.landed_at > record.refused_at
    return generation.published_at >= record.published_at


def _must_be_of_its_kind(source: SourceSettings, generation: Generation) -> None:
    if generation.kind != source.kind:
        raise UsageError(
            f"source '{source.name}' is {source.kind}, but its landing holds {generation.kind}",
            where="trainledger.yaml",
            remedy="Give the new source another name: a landing is never mixed.",
        )
