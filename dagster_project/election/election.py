"""What counts: one generation per partition, one book per payer and month, one carbon model version.

A partition that is a month covers that month; one that is a day covers the months its rows are used in. Which generations win is
found in winners.py. Of several sources of one provider, payer, month and kind of fact one is the book: `book:` in the
configuration decides first, then the precedence of kinds; two books for one key are an error of the configuration. Carbon of a
quarter or a year is the book of all its months or of none (periods.py). The elected model version of carbon is the highest known.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial

from dagster_project.base import clock
from dagster_project.base.failures import UsageError
from dagster_project.base.kinds import Fact
from dagster_project.election.periods import Key, compared_only
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
    contents_of = contents_of or _contents_of(landing, [(source, records[source.name]) for source in ordered], view)
    for source in ordered:
        found, refused = winners_of(source, records[source.name], partial(contents_of, source), view)
        winners += found
        refusals += refused
    restated = read_restated(landing.cache.parent) if view.instant is None else ()
    return Election(tuple(_flagged(winners)), tuple(refusals), view.instant or clock.now(), view, restated)


def _contents_of(landing: Landing, records: Iterable[tuple[SourceSettings, SourceLanding]], view: View) -> ContentsOf:
    """What our code makes of a generation, with its verdict: it decides whether the generation may count.

    The newest of every export that lack one, which another version of the code landed, are judged together. Named deliveries are
    not judged: they counted, and count here whatever the verdict.
    """
    newest = [(source, [*newest_of(landed, view)]) for source, landed in records]
    for source, generations in newest:
        landing.derive_missing(source, generations)
    if view.named is not None:
        return landing.contents
    candidates = [Candidate(source, one, landing.contents(source, one)) for source, generations in newest for one in generations]
    known = judge(landing, candidates)

    def contents_of(source: SourceSettings, generation: Generation) -> Contents:
        if generation.path not in known:
            known.update(judge(landing, [Candidate(source, generation, landing.contents(source, generation))]))
        return known[generation.path]

    return contents_of


def _flagged(winners: list[Elected]) -> list[Elected]:
    payers: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for winner in winners:
        payers[winner.source.name] |= winner.payers
    # A month without rows still belongs to the payers seen in this source's other months: otherwise an empty June would leave
    # payer 123 without a June, and its runs would wait for a bill that has come.
    members = [
        replace(one, payers=payers[one.source.name]) if payers[one.source.name] and not one.payers else one for one in winners
    ]
    covered = _books_of(members)
    versions: dict[Key, str] = {}
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


def _books_of(winners: list[Elected]) -> list[list[Key]]:
    """The providers, payers and months of which each generation's source is the book."""
    keys = [_keys_of(winner) for winner in winners]
    compared = compared_only(winners, keys)
    keys = [[] if place in compared else mine for place, mine in enumerate(keys)]
    candidates: defaultdict[tuple[Fact, Key], dict[str, SourceSettings]] = defaultdict(dict)
    for winner, mine in zip(winners, keys, strict=True):
        for key in mine:
            candidates[winner.fact, key][winner.source.name] = winner.source
    ranks = _book_ranks(winners)
    books = {place: _book(place[1], sources, ranks) for place, sources in candidates.items()}
    return [
        [key for key in mine if books[winner.fact, key] == winner.source.name] for winner, mine in zip(winners, keys, strict=True)
    ]


def _keys_of(winner: Elected) -> list[Key]:
    """The provider, payer and months that a generation covers; only bills and carbon have a book."""
    provider = winner.provider_name
    if provider is None or winner.fact not in ("bill", "carbon"):
        return []
    month = winner.generation.month
    if month is not None:
        return [(provider, payer, month) for payer in sorted(winner.payers)]
    places = {(total.payer_account_id, total.usage_month) for total in winner.contents.controls.months}
    # late rows of a day may be of a month that this source is not to read
    return [(provider, payer, used) for payer, used in sorted(places) if winner.source.reads_month(used)]


def _book_ranks(winners: list[Elected]) -> dict[str, int]:
    """The rank of each source: its kind's, and one lower for an export that has the kind's detail in none of its partitions."""
    columns: dict[str, set[str]] = {}
    for winner in winners:
        columns.setdefault(winner.source.name, set()).update(name for part in winner.contents.parts for name in part.columns)
    facts = {winner.source.name: winner.source.facts for winner in winners}
    return {
        name: facts[name].book_rank + bool(facts[name].detail_columns and found.isdisjoint(facts[name].detail_columns))
        for name, found in columns.items()
    }


def _book(key: Key, sources: dict[str, SourceSettings], ranks: dict[str, int]) -> str | None:
    """The book source of a payer's month: `book: true` first, then the precedence of kinds; `book: false` never."""
    allowed = [source for _, source in sorted(sources.items()) if source.book is not False]
    chosen = [source for source in allowed if source.book] or allowed
    if not chosen:
        return None
    rank = min(ranks[source.name] for source in chosen)
    best = [source.name for source in chosen if ranks[source.name] == rank]
    if len(best) > 1:
        provider, payer, month = key
        raise UsageError(
            f"sources {' and '.join(best)} both are the book of {provider} payer {payer} in {month}",
            where="trainledger.yaml",
            remedy="Set `book: true` on the one that counts, or `book: false` on the others.",
        )
    return best[0]
