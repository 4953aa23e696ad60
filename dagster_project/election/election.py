"""What counts: one generation per partition, one book per payer and month, one carbon model version.

A partition that is a month covers that month; one that is a day covers the months its rows are used in. The rules are those of
winners.py and books.py; here they are put together, and the elected carbon model version is found: the highest known one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from dagster_project import clock
from dagster_project.election.books import Key, books_of, keys_of
from dagster_project.election.winners import Winner, winners_of
from dagster_project.failures import UsageError
from dagster_project.kinds import Fact
from dagster_project.landing.deriving.contents import BillMonth, Contents
from dagster_project.landing.deriving.model_versions import version_order
from dagster_project.landing.land import Landing
from dagster_project.landing.records import Generation, RefusalRecord
from dagster_project.settings import SourceSettings

ContentsOf = Callable[[SourceSettings, Generation], Contents]


@dataclass(frozen=True)
class Elected:
    """The generation that counts in its partition. Flags are by payer: one export may hold several."""

    generation: Generation
    contents: Contents
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
        totals = self.contents.controls.months
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
    sources: Iterable[SourceSettings],
    landing: Landing,
    *,
    as_of: datetime | None = None,
    as_published: datetime | None = None,
    contents_of: ContentsOf | None = None,
) -> Election:
    """Elect over everything landed, or over what was landed or published by an instant.

    What our code made of a generation is asked of `contents_of`; by default that is `landing.contents`, which derives again what
    is missing.
    """
    if as_of and as_published:
        raise UsageError("--as-of and --as-published exclude each other", remedy="Give one of them.")
    winners: list[Winner] = []
    refusals: list[RefusalRecord] = []
    for source in sorted(sources, key=lambda source: source.name):
        contents = partial(contents_of or landing.contents, source)
        found, refused = winners_of(source, landing.read(source.name), contents, as_of, as_published)
        winners += found
        refusals += refused
    members = _flagged(winners)
    return Election(tuple(members), tuple(refusals), as_of or as_published or clock.now(), as_of, as_published)


def _flagged(winners: list[Winner]) -> list[Elected]:
    payers_of_source: dict[str, set[str]] = {}
    for winner in winners:
        payers_of_source.setdefault(winner.source.name, set()).update(winner.contents.controls.payers)

    def payers(winner: Winner) -> frozenset[str]:
        # A month without rows still belongs to the payers seen in this source's other months: otherwise an empty June would
        # leave payer 123 without a June, and its runs would wait for a bill that has come.
        return frozenset(winner.contents.controls.payers or payers_of_source[winner.source.name])

    keys = [keys_of(winner, payers(winner)) for winner in winners]
    books = books_of(winners, keys)
    versions: dict[Key, str] = {}
    for winner, own in zip(winners, keys, strict=True):
        for key in own:
            if winner.fact == "carbon" and books[("carbon", key)] == winner.source.name:
                versions[key] = max(versions.get(key, ""), winner.version(key[1]), key=version_order)
    members = []
    for winner, own in zip(winners, keys, strict=True):
        mine = [key for key in own if books[(winner.fact, key)] == winner.source.name]
        elected = [key for key in mine if key in versions and versions[key] == winner.version(key[1])]
        members.append(
            Elected(
                generation=winner.generation,
                contents=winner.contents,
                fact=winner.fact,
                provider_name=winner.source.facts.provider_name,
                payers=payers(winner),
                book=frozenset(key[1:] for key in mine),
                version_payers=frozenset(key[1] for key in elected),
            )
        )
    return members
