"""Which generation of a partition counts, by what was landed or published by an instant, and which refusals are in force.

Per (source, partition) the greatest published_at wins, ties by content hash; a generation that the present code refuses is passed
over. The answer depends on what was landed, never on the order in which it was.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from dagster_project.base.failures import SourceError, UsageError
from dagster_project.base.kinds import Fact
from dagster_project.landing.deriving.contents import BillMonth, Contents
from dagster_project.landing.records import Generation, RefusalRecord
from dagster_project.landing.store import SourceLanding
from dagster_project.settings import SourceSettings

Name = tuple[str, str, datetime, str]  # source, partition, time of publication in UTC without a zone, content hash


def name_of(generation: Generation) -> Name:
    """What ops.dim_deliveries calls a generation by."""
    published_at = generation.published_at.astimezone(UTC).replace(tzinfo=None)
    return (generation.source, generation.partition, published_at, generation.content_hash)


@dataclass(frozen=True, slots=True)
class View:
    """What an election may know: everything, what had been landed by an instant, or what providers had published by then."""

    as_of: datetime | None = None
    as_published: datetime | None = None
    named: frozenset[Name] | None = None  # nothing but these deliveries: those an issued report names

    def __post_init__(self) -> None:
        if self.as_of and self.as_published:
            what = "--as-of and --as-published exclude each other: they ask two different questions"
            raise UsageError(what, remedy="Give one of them.")

    @property
    def instant(self) -> datetime | None:
        """The instant that is asked about; None is now."""
        return self.as_of or self.as_published

    def has(self, landed_at: datetime, published_at: datetime) -> bool:
        """Whether something landed and published at these times was known."""
        return (self.as_of is None or landed_at <= self.as_of) and (
            self.as_published is None or published_at <= self.as_published
        )

    def has_generation(self, generation: Generation) -> bool:
        """Whether a generation was known."""
        if self.named is not None:
            return name_of(generation) in self.named
        return self.has(generation.landed_at, generation.published_at)


@dataclass(frozen=True)
class Elected:
    """The generation that counts in its partition. Flags are by payer, for one export may hold several, and given by elect()."""

    source: SourceSettings
    generation: Generation
    contents: Contents
    payers: frozenset[str] = frozenset()
    book: frozenset[tuple[str, str]] = frozenset()  # the payers and months of which it is the book
    version_payers: frozenset[str] = frozenset()  # carbon: where its model version, or its rows' highest one, is the elected one

    @property
    def fact(self) -> Fact:
        """The kind of fact it carries."""
        return self.source.facts.fact

    @property
    def provider_name(self) -> str | None:
        """Its provider; None for kinds of both or neither."""
        return self.source.facts.provider_name

    def version(self, payer: str) -> str:
        """Carbon: the model version of a payer's rows."""
        controls = self.contents.controls
        return controls.payer_versions.get(payer, controls.model_version or "")

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
        totals = self.contents.controls.months
        if self.generation.month is None:
            return [total for total in totals if (total.payer_account_id, total.usage_month) in self.book]
        payers = self.book_payers
        return [total for total in totals if total.payer_account_id in payers]


def winners_of(
    source: SourceSettings, landed: SourceLanding, contents_of: Callable[[Generation], Contents], view: View
) -> tuple[list[Elected], list[RefusalRecord]]:
    """The winner of each partition of a source, and the refusals in force, also of what the present code refuses."""
    partitions: dict[str, list[Generation]] = {}  # removed generations among the others: that one is missing must be known
    for generation in [*landed.generations, *(tombstone.generation for tombstone in landed.tombstones)]:
        if view.has_generation(generation):
            partitions.setdefault(generation.partition, []).append(generation)
    winners: list[Elected] = []
    refused: list[RefusalRecord] = []
    removed = {id(tombstone.generation) for tombstone in landed.tombstones}
    for _, candidates in sorted(partitions.items()):
        _must_be_of_its_kind(source, candidates[0])
        winner = _winner(source, candidates, removed, contents_of, refused)
        if winner is not None:
            winners.append(winner)
    return winners, [*in_force(landed, view), *refused]


def winner_of(generations: Iterable[Generation]) -> Generation:
    """The generation that counts among those of one partition.

    Where the last ones have the same bytes, the first of them: so landing a repeat, or not, elects the same.
    """
    newest_first = sorted(generations, key=lambda generation: generation.order, reverse=True)
    *_, winner = takewhile(lambda generation: generation.content_hash == newest_first[0].content_hash, newest_first)
    return winner


def _winner(
    source: SourceSettings,
    candidates: list[Generation],
    removed: set[int],
    contents_of: Callable[[Generation], Contents],
    refused: list[RefusalRecord],
) -> Elected | None:
    """The generation of one partition that counts; one that the present code refuses is recorded, and the one before it asked."""
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
            return Elected(source, winner, contents)
        refused.append(  # as if it were refused when it was landed
            RefusalRecord(
                source=winner.source,
                kind=winner.kind,
                partition=winner.partition,
                identity=winner.identity,
                connector_version=contents.connector_version,
                published_at=winner.published_at,
                refused_at=winner.landed_at,
                refusals=contents.refusals,
            )
        )
        candidates = [generation for generation in candidates if generation.content_hash != winner.content_hash]
    return None


def in_force(landed: SourceLanding, view: View) -> list[RefusalRecord]:
    """The refusals that still stand: not withdrawn, and nothing newer of their partition was landed."""
    known: dict[str, list[Generation]] = {record.partition: [] for record in landed.refusals}
    for generation in landed.generations:
        if generation.partition in known and view.has_generation(generation):
            known[generation.partition].append(generation)
    standing = []
    for record in landed.refusals:
        is_withdrawn = record.withdrawn_at is not None and (view.as_of is None or record.withdrawn_at <= view.as_of)
        if is_withdrawn or not view.has(record.refused_at, record.published_at or record.refused_at):
            continue
        if not any(_supersedes(generation, record) for generation in known[record.partition]):
            standing.append(record)
    return standing


def _supersedes(generation: Generation, record: RefusalRecord) -> bool:
    """Whether a generation of its partition came after a refusal."""
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
