"""Carbon of a quarter or a year: of which payers it can be the book, and which it is only compared with.

It is the book of all its months or of none. It needs a bill of each, by which its emissions are divided among them, and no other
carbon of any: a finer figure of one month and a share of the quarter would count that month twice. So months go before quarters
and quarters before years, whichever sources they are of and whatever `book: true` names.
"""

from collections.abc import Iterable, Sequence

from dagster_project.base.months import months_between
from dagster_project.election.winners import Elected

Key = tuple[str, str, str]  # provider, payer, month
Period = tuple[str, str]  # first and last month


def compared_only(winners: Sequence[Elected], keys: Sequence[list[Key]]) -> set[int]:
    """The places of those that are of several months and of which no book can be made; `keys` are what each covers."""
    bills, taken = set[Key](), dict[Key, Period]()
    of_several: dict[Period, list[int]] = {}
    for place, (winner, mine) in enumerate(zip(winners, keys, strict=True)):
        if winner.fact == "carbon" and (period := winner.generation.period):
            of_several.setdefault(period, []).append(place)
        elif winner.source.book is not False:
            bills |= set(mine) if winner.fact == "bill" else set()
            taken |= {key: (key[2], key[2]) for key in mine} if winner.fact == "carbon" else {}
    found = set[int]()
    for period in sorted(of_several, key=lambda one: (len(months_between(*one)), one)):
        months = months_between(*period)
        whole = _whole([(place, winners[place]) for place in of_several[period]], len(months))
        places = {place: {(*key[:2], month) for key in keys[place] for month in months} for place in of_several[period]}
        free = {
            place
            for place, covered in places.items()
            if place in whole and covered <= bills and all(taken.get(key, period) == period for key in covered)
        }
        found |= places.keys() - free
        for place in free:
            if winners[place].source.book is not False:
                taken |= dict.fromkeys(places[place], period)
    return found


def _whole(of_period: Iterable[tuple[int, Elected]], count: int) -> set[int]:
    """Those of which every month has the same bytes: a newer file may have reached some months and not yet the others."""
    same: dict[tuple[object, ...], list[int]] = {}
    for place, member in of_period:
        partition, objects = member.generation.partition, member.generation.objects
        same.setdefault((member.source.name, partition[7:], *(one.sha256 for one in objects)), []).append(place)
    return {place for places in same.values() if len(places) == count for place in places}
