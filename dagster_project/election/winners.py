"""Which generations of a partition count, by what was landed or published by an instant, and which refusals are in force.

Per source, partition and export the greatest published_at wins; of one bill as rows and as groups, which another engine made of
them, and of groups with and without these rows beside them, what the source is configured for; then the content hash. A
generation that the present code refuses is passed over, and one that is unlike the one it would replace, until a person accepts
it. A file that registers pairs of a comparison counts as it was first published: a later version names pairs whose costs may
have been seen. Of two exports of one partition both count where their payers differ, else one. The answer depends on what was
landed, never on the order in which it was.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from dagster_project.base.failures import SourceError, UsageError
from dagster_project.base.kinds import Fact
from dagster_project.landing.deriving.contents import BillMonth, Contents
from dagster_project.landing.judging.rules import unlike
from dagster_project.landing.records import Generation, RefusalRecord, RowRefusal
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
    payers: frozenset[str] = frozenset()  # of its rows; where it has none, those of its source's other generations
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

    @property
    def is_registration(self) -> bool:
        """Whether it registers pairs of a comparison, so that its time counts."""
        return registers(self.source, self.generation)

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
    """The winners of each partition of a source, one for each export whose payers no other has; and the refusals in force."""
    gone = [tombstone.generation for tombstone in landed.tombstones]
    removed = {id(generation) for generation in gone}
    acceptances = [one for one in landed.acceptances if view.as_of is None or one.accepted_at <= view.as_of]
    accepted = {one.content_hash for one in acceptances}
    if view.named is not None:  # they counted when the report was issued, also before a delivery could be held back
        accepted = {content_hash for *_, content_hash in view.named}
    winners: list[Elected] = []
    refused: list[RefusalRecord] = []
    # removed generations among the others: that one is missing must be known
    for partition, exports in sorted(_by_export([*landed.generations, *gone], view).items()):
        found: list[Elected] = []
        preferred = [*exports] if view.named is not None else [one.export for one in acceptances if one.partition == partition]
        for export in _by_precedence(exports, source.book, preferred):
            _must_be_of_its_kind(source, exports[export][0])
            winner, passed_over = _winner(source, exports[export], removed, contents_of, accepted)
            refused += passed_over
            if winner is None:
                continue
            other = next((one for one in found if one.payers & winner.payers), None)
            if other is None:
                found.append(winner)
            elif other.generation.export not in (source.book, *preferred):
                refused.append(_of_two_exports(winner, other))
        winners += found
    return winners, [*in_force(landed, view), *refused]


def _by_export(generations: Iterable[Generation], view: View) -> dict[str, dict[str, list[Generation]]]:
    """The generations that were known, by partition and export."""
    found: dict[str, dict[str, list[Generation]]] = {}
    for generation in generations:
        if view.has_generation(generation):
            found.setdefault(generation.partition, {}).setdefault(generation.export, []).append(generation)
    return found


def _by_precedence(exports: dict[str, list[Generation]], book: bool | str | None, accepted: Sequence[str]) -> list[str]:
    """The exports of a partition: the one that `book:` names, those a person accepted, the last first, then the oldest first."""

    def place(export: str) -> tuple[bool, int, tuple[datetime, str]]:
        last = max((number for number, one in enumerate(accepted, 1) if one == export), default=0)
        return export != book, -last, min(generation.order for generation in exports[export])

    return sorted(exports, key=place)


def _refused(generation: Generation, contents: Contents, refusals: list[RowRefusal]) -> RefusalRecord:
    """A generation that does not count, as if it were refused when it was landed."""
    version, at = contents.connector_version, generation.landed_at
    return RefusalRecord.of(generation, generation.source, generation.kind, version, at, refusals)


def _held(generation: Generation, found: Iterable[str]) -> RowRefusal:
    """Why a delivery does not replace the one before it."""
    return RowRefusal(
        source_object=generation.objects[0].key,
        value=generation.export or None,
        reason="unlike_its_predecessor",
        message=f"This delivery is unlike the one that it would replace ({'; '.join(found)}), so that one still counts.",
        remedy="Find out what changed. Where the delivery is right: "
        f"`trainledger accept {generation.source} {generation.partition}`.",
    )


def _of_two_exports(winner: Elected, other: Elected) -> RefusalRecord:
    """Why an export does not count beside another one of its payer."""
    mine, theirs = winner.generation, other.generation
    payers = ", ".join(sorted(winner.payers & other.payers))
    refusal = RowRefusal(
        source_object=mine.objects[0].key,
        value=mine.export,
        reason="two_exports",
        message=f"The exports '{theirs.export}' and '{mine.export}' of one location both have {mine.partition} of payer "
        f"{payers}: '{theirs.export}' counts and '{mine.export}' does not.",
        remedy=f"Set `book: {theirs.export}` or `book: {mine.export}`, the one that counts, or where '{mine.export}' took the "
        f"other's place: `trainledger accept {mine.source} {mine.partition} --export {mine.export}`.",
    )
    return _refused(mine, winner.contents, [refusal])


def newest_of(landed: SourceLanding, view: View) -> Iterator[Generation]:
    """Of each partition and export the landed generation that counts, if nothing speaks against it."""
    for exports in _by_export(landed.generations, view).values():
        yield from map(winner_of, exports.values())


def registers(source: SourceSettings, generation: Generation) -> bool:
    """Whether a generation is a file that registers pairs of a comparison."""
    return any(source.facts.is_registration(landed.key) for landed in generation.objects)


def winner_of(generations: Iterable[Generation], *, grouped: bool = False, kept: bool = False) -> Generation:
    """The generation that counts among those of one partition; `grouped`: of the same rows rather the groups made elsewhere.

    `kept`: of the same groups rather those with the rows beside them.

    Where the last ones have the same bytes, the first of them: so landing a repeat, or not, elects the same.
    """

    def precedence(one: Generation) -> tuple[datetime, bool, bool, str]:
        return one.published_at, (one.query is not None) == grouped, bool(one.raw) == kept, one.content_hash

    newest_first = sorted(generations, key=precedence, reverse=True)
    *_, winner = takewhile(lambda generation: generation.content_hash == newest_first[0].content_hash, newest_first)
    return winner


def _winner(
    source: SourceSettings,
    candidates: list[Generation],
    removed: set[int],
    contents_of: Callable[[Generation], Contents],
    accepted: Collection[str],
) -> tuple[Elected | None, list[RefusalRecord]]:
    """The generation of one export that counts, and those that are refused or held back: the one before each is asked."""
    passed_over: list[RefusalRecord] = []
    while candidates:
        if registers(source, candidates[0]):
            winner = min(candidates, key=lambda generation: generation.order)
        else:
            winner = winner_of(candidates, grouped=source.engine is not None, kept=source.keep is not None)
        if id(winner) in removed:
            alike = [g for g in candidates if g.content_hash == winner.content_hash and id(g) not in removed]
            if not alike:
                raise SourceError(
                    f"generation {winner.name} of partition {winner.partition} was removed by retention"
                    " and this election needs it",
                    where=f"source {winner.source}, landed {winner.landed_at:%Y-%m-%dT%H:%M:%SZ}",
                    remedy="Ask for an instant at which a kept generation counts (`trainledger status` lists them), "
                    f"or land the bytes with hash {winner.content_hash} again.",
                )
            winner = min(alike, key=lambda g: g.order)
        contents = contents_of(winner)
        found = {} if winner.content_hash in accepted else unlike(contents)
        if contents.is_taken and not found:
            return Elected(source, winner, contents, frozenset(contents.controls.payers)), passed_over
        reasons = [_held(winner, found.values())] if contents.is_taken else contents.refusals
        passed_over.append(_refused(winner, contents, reasons))
        candidates = [generation for generation in candidates if generation.content_hash != winner.content_hash]
    return None, passed_over


def in_force(landed: SourceLanding, view: View) -> list[RefusalRecord]:
    """The refusals that still stand: not withdrawn, and nothing newer of their partition was landed."""
    known: dict[str, list[Generation]] = {record.partition: [] for record in landed.refusals}
    for generation in landed.generations:
        if generation.partition in known and view.has_generation(generation):
            known[generation.partition].append(generation)
    return [
        record
        for record in landed.refusals
        if view.has(record.refused_at, record.published_at or record.refused_at)
        and not (record.withdrawn_at and (view.as_of is None or record.withdrawn_at <= view.as_of))
        and not any(_supersedes(generation, record) for generation in known[record.partition])
    ]


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
