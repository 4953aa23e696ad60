"""Which generation of each partition counts, and which source is the book where several cover the same.

Per (source, partition) the greatest published_at wins, ties by content hash. Among bills, and among carbon files, one source
per provider, payer and month is the book; among model versions of carbon the highest one known. A partition that is a month
speaks for that month; one that is a day speaks for the months its rows are used in. The answer depends on what
was landed, never on the order in which it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dagster_project import clock
from dagster_project.failures import SourceError, UsageError
from dagster_project.kinds import Fact
from dagster_project.landing.records import BillMonth, Generation, RefusalRecord
from dagster_project.landing.versions import version_order
from dagster_project.settings import Settings, SourceSettings

if TYPE_CHECKING:
    from dagster_project.landing.land import Landing
    from dagster_project.landing.store import SourceLanding

Key = tuple[str, str, str]  # provider, payer, month


@dataclass(frozen=True)
class Elected:
    """The generation that counts in its partition. Flags are by payer: one export may hold several."""

    generation: Generation
    fact: Fact
    provider_name: str | None
    payers: frozenset[str]
    book: frozenset[tuple[str, str]]  # the payers and months of which it is the book
    version_payers: frozenset[str]  # carbon: where its model version, or its rows' highest one, is the elected one

    @property
    def book_payers(self) -> frozenset[str]:
        """The payers of which it is the book in some month."""
        return frozenset(payer for payer, _ in self.book)

    @property
    def is_book(self) -> bool:
        """Whether its rows count, as far as they are of its book payers and months; run records always do."""
        return self.fact not in ("bill", "carbon") or bool(self.book)

    @property
    def totals(self) -> list[BillMonth]:
        """The control totals of what is in the book. A month's delivery counts whole, a day's by the months it is used in."""
        totals = self.generation.controls.months
        if self.generation.month is None:
            return [total for total in totals if (total.payer_account_id, total.usage_month) in self.book]
        payers = self.book_payers
        return [total for total in totals if total.payer_account_id in payers]

    @property
    def is_elected_version(self) -> bool:
        """Whether its model version is the elected one for a payer."""
        return bool(self.version_payers)


@dataclass(frozen=True)
class Election:
    """What counts at one instant, in the order of source names and partitions."""

    members: tuple[Elected, ...]
    refusals: tuple[RefusalRecord, ...]  # in force: the newest delivery of its partition was not taken
    at: datetime  # flags such as 'closed' are as of this instant
    as_of: datetime | None = None
    as_published: datetime | None = None

    def of_fact(self, fact: Fact) -> list[Elected]:
        """The members that carry one kind of fact."""
        return [member for member in self.members if member.fact == fact]


def elect(
    settings: Settings, landing: Landing, *, as_of: datetime | None = None, as_published: datetime | None = None
) -> Election:
    """Elect over everything landed, or over what was landed or published by an instant."""
    if as_of and as_published:
        raise UsageError("--as-of and --as-published exclude each other", remedy="Give one of them.")
    winners: list[tuple[SourceSettings, Generation]] = []
    refusals: list[RefusalRecord] = []
    for source in sorted(settings.sources, key=lambda source: source.name):
        landed = landing.read(source.name)
        chosen = _winners(landed, as_of, as_published)
        for generation in chosen:
            _must_be_of_its_kind(settings, source, generation)
        winners += [(source, generation) for generation in chosen]
        refusals += in_force(landed, as_of, as_published)
    members = _flagged(settings, winners)
    return Election(tuple(members), tuple(refusals), as_of or as_published or clock.now(), as_of, as_published)


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


def _winners(landed: SourceLanding, as_of: datetime | None, as_published: datetime | None) -> list[Generation]:
    removed = {id(tombstone.generation) for tombstone in landed.tombstones}
    partitions: dict[str, list[Generation]] = {}
    for generation in [*landed.generations, *(tombstone.generation for tombstone in landed.tombstones)]:
        if _was(generation.landed_at, as_of) and _was(generation.published_at, as_published):
            partitions.setdefault(generation.partition, []).append(generation)
    winners = []
    for _, generations in sorted(partitions.items()):
        winner = winner_of(generations)
        alike = [g for g in generations if g.content_hash == winner.content_hash and id(g) not in removed]
        if id(winner) in removed and not alike:
            raise SourceError(
                f"generation {winner.name} of partition {winner.partition} was removed by retention and this election needs it",
                where=f"source {winner.source}, landed {winner.landed_at:%Y-%m-%dT%H:%M:%SZ}",
                remedy="Ask for an instant at which a kept generation counts (`trainledger status` lists them), "
                f"or land the bytes with hash {winner.content_hash} again.",
            )
        winners.append(winner if id(winner) not in removed else min(alike, key=lambda g: g.order))
    return winners


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


def _must_be_of_its_kind(settings: Settings, source: SourceSettings, generation: Generation) -> None:
    if generation.kind != source.kind:
        raise UsageError(
            f"source '{source.name}' is {source.kind}, but its landing holds {generation.kind}",
            where=str(settings.path),
            remedy="Give the new source another name: a landing is never mixed.",
        )


def _flagged(settings: Settings, winners: list[tuple[SourceSettings, Generation]]) -> list[Elected]:
    payers_of: dict[str, set[str]] = {}
    for source, generation in winners:
        payers_of.setdefault(source.name, set()).update(generation.controls.payers)

    def payers(source: SourceSettings, generation: Generation) -> frozenset[str]:
        # an empty month speaks for the payers its source has in other months
        return frozenset(generation.controls.payers or payers_of[source.name])

    books: dict[tuple[str, Key], set[str]] = {}
    for source, generation in winners:
        for key in _keys(source, generation, payers(source, generation)):
            books.setdefault((source.facts.fact, key), set()).add(source.name)
    ranks = _book_ranks(winners)
    book = {place: _book(settings, place[1], names, ranks) for place, names in books.items()}
    versions: dict[Key, str] = {}
    members = []
    for source, generation in winners:
        for key in _keys(source, generation, payers(source, generation)):
            if source.facts.fact == "carbon" and book[("carbon", key)] == source.name:
                versions[key] = max(versions.get(key, ""), _version(generation, key[1]), key=version_order)
    for source, generation in winners:
        keys = _keys(source, generation, payers(source, generation))
        mine = [key for key in keys if book[(source.facts.fact, key)] == source.name]
        elected = [key for key in mine if key in versions and versions[key] == _version(generation, key[1])]
        members.append(
            Elected(
                generation, source.facts.fact, source.facts.provider_name, payers(source, generation),
                frozenset(key[1:] for key in mine), frozenset(key[1] for key in elected),
            )
        )  # fmt: skip
    return members


def _version(generation: Generation, payer: str) -> str:
    controls = generation.controls
    return controls.payer_versions.get(payer, controls.model_version or "")


def _keys(source: SourceSettings, generation: Generation, payers: frozenset[str]) -> list[Key]:
    provider, month = source.facts.provider_name, generation.month
    if provider is None or source.facts.fact not in ("bill", "carbon"):
        return []
    if month is not None:
        return [(provider, payer, month) for payer in sorted(payers)]
    places = {(total.payer_account_id, total.usage_month) for total in generation.controls.months}
    # late rows of a day may be of a month that this source is not to read
    return [(provider, payer, used) for payer, used in sorted(places) if source.reads_month(used)]


def _book_ranks(winners: list[tuple[SourceSettings, Generation]]) -> dict[str, int]:
    """The rank of each source: its kind's, and one lower for an export that has the kind's detail in none of its partitions."""
    columns: dict[str, set[str]] = {}
    for source, generation in winners:
        columns.setdefault(source.name, set()).update(name for part in generation.parts for name in part.columns)
    facts = {source.name: source.facts for source, _ in winners}
    return {
        name: facts[name].book_rank + bool(facts[name].detail_columns and found.isdisjoint(facts[name].detail_columns))
        for name, found in columns.items()
    }


def _book(settings: Settings, key: Key, names: set[str], ranks: dict[str, int]) -> str | None:
    """The book source of a payer's month: `book: true` first, then the precedence of kinds; `book: false` never."""
    sources = [settings.by_name[name] for name in sorted(names) if settings.by_name[name].book is not False]
    chosen = [source for source in sources if source.book] or sources
    if not chosen:
        return None
    rank = min(ranks[source.name] for source in chosen)
    best = [source.name for source in chosen if ranks[source.name] == rank]
    if len(best) > 1:
        provider, payer, month = key
        raise UsageError(
            f"sources {' and '.join(best)} both are the book of {provider} payer {payer} in {month}",
            where=str(settings.path),
            remedy="Set `book: true` on the one that counts, or `book: false` on the others.",
        )
    return best[0]
