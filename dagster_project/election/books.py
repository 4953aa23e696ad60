"""Which source is the book where several cover the same: one per provider, payer, month and kind of fact.

`book:` in the configuration decides first, then the precedence of kinds. Two books for one key are an error of the configuration.
"""

from dagster_project.base.failures import UsageError
from dagster_project.base.kinds import Fact
from dagster_project.election.winners import Elected
from dagster_project.settings import SourceSettings

Key = tuple[str, str, str]  # provider, payer, month


def keys_of(winner: Elected) -> list[Key]:
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


def books_of(winners: list[Elected]) -> dict[tuple[Fact, Key], str | None]:
    """The book source of each kind of fact, provider, payer and month."""
    candidates: dict[tuple[Fact, Key], dict[str, SourceSettings]] = {}
    for winner in winners:
        for key in keys_of(winner):
            candidates.setdefault((winner.fact, key), {})[winner.source.name] = winner.source
    ranks = _book_ranks(winners)
    return {place: _book(place[1], sources, ranks) for place, sources in candidates.items()}


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
