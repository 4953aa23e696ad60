"""What counts: one generation per partition, one book per payer and month, one carbon model version.

A partition that is a month covers that month; one that is a day covers the months its rows are used in. The rules are those of
winners.py and books.py; here they are put together, and the elected carbon model version is found: the highest known one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial

from dagster_project.base import clock
from dagster_project.base.kinds import Fact
from dagster_project.election.books import Key, books_of, keys_of
from dagster_project.election.winners import Elected, View, newest_of, winners_of
from dagster_project.landing.deriving.contents import Contents, version_order
from dagster_project.landing.judging.judge import Candidate, judge
from dagster_project.landing.land import Landing
from dagster_project.landing.records import Generation, RefusalRecord
from dagster_project.landing.restated import Restated, read_restated
from dagster_project.landing.store import SourceLanding
from dagster_project.settings import SourceSettings

NOW = View()
ContentsOf = Callable[[SourceSettings, Generation], Contents]


@dataclass(frozen=True)
class Election:
    """What counts at one instant, in the order of source names and partitions."""

    members: tuple[Elected, ...]
    refusals: tuple[RefusalRecord, ...]  # in force: the newest delivery of its partition was not taken
    at: datetime  # flags such as 'closed' are as of this instant
    view: View = NOW
    restated: tuple[Restated, ...] = ()  # what issued reports are known as; an earlier view cannot know

    def of_fact(self, fact: Fact) -> list[Elected]:
        """The members that carry one kind of fact."""
        return self._by_fact.get(fact, [])

    @cached_property
    def _by_fact(self) -> dict[Fact, list[Elected]]:
        """Asked for every month of every provider: of 20,000 members and 36 months that must not be a look at each."""
        found: dict[Fact, list[Elected]] = {}
        for member in self.members:
            found.setdefault(member.fact, []).append(member)
        return found


def elect(
    sources: Iterable[SourceSettings],
    landing: Landing,
    view: View = NOW,
    contents_of: ContentsOf | None = None,
    landed: Mapping[str, SourceLanding] | None = None,
) -> Election:
    """Elect over everything landed, or over what was landed or published by an instant.

    What our code made of a generation is asked of `contents_of`; by default that is `landing.contents`, which derives again what
    is missing, and what was not judged yet is. `landed` has records that the caller has just read.
    """
    winners: list[Elected] = []
    refusals: list[RefusalRecord] = []
    ordered = sorted(sources, key=lambda source: source.name)
    records = {source.name: (landed or {}).get(source.name) or landing.read(source.name) for source in ordered}
    contents_of = contents_of or _judged(landing, [(source, records[source.name]) for source in ordered], view)
    for source in ordered:
        found, refused = winners_of(source, records[source.name], partial(contents_of, source), view)
        winners += found
        refusals += refused
    restated = read_restated(landing.cache.parent) if view.instant is None else ()
    return Election(tuple(_flagged(winners)), tuple(refusals), view.instant or clock.now(), view, restated)


def _judged(landing: Landing, records: Iterable[tuple[SourceSettings, SourceLanding]], view: View) -> ContentsOf:
    """What our code makes of a generation, with its verdict: it decides whether the generation may count.

    The newest of every export that lack one, which another version of the code landed, are judged together.
    """
    newest = [(source, generation) for source, landed in records for generation in newest_of(landed, view)]
    known = judge(landing, [Candidate(source, generation, landing.contents(source, generation)) for source, generation in newest])

    def contents_of(source: SourceSettings, generation: Generation) -> Contents:
        if generation.path not in known:
            known.update(judge(landing, [Candidate(source, generation, landing.contents(source, generation))]))
        return known[generation.path]

    return contents_of


def _flagged(winners: list[Elected]) -> list[Elected]:
    payers_of_source: dict[str, set[str]] = {}
    for winner in winners:
        payers_of_source.setdefault(winner.source.name, set()).update(winner.contents.controls.payers)
    # A month without rows still belongs to the payers seen in this source's other months: otherwise an empty June would leave
    # payer 123 without a June, and its runs would wait for a bill that has come.
    payers = {source: frozenset(found) for source, found in payers_of_source.items()}
    members = [
        replace(w, payers=frozenset(w.contents.controls.payers) or payers[w.source.name]) if payers[w.source.name] else w
        for w in winners
    ]
    books = books_of(members)
    versions: dict[Key, str] = {}
    covered = [[key for key in keys_of(member) if books[(member.fact, key)] == member.source.name] for member in members]
    for member, mine in zip(members, covered, strict=True):
        for key in mine if member.fact == "carbon" else ():
            versions[key] = max(versions.get(key, ""), member.version(key[1]), key=version_order)
    return [
        replace(
            member,
            book=frozenset(key[1:] for key in mine),
            version_payers=frozenset(key[1] for key in mine if versions.get(key) == member.version(key[1])),
        )
        if mine
        else member
        for member, mine in zip(members, covered, strict=True)
    ]
