"""Which months are billed for good, and what that leaves of the time records hold a machine: no more than it was billed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime

from .google_lines import GoogleLine
from .holdings import Hold
from .lines import Line
from .months import month_after
from .open_ends import Stretch, Times
from .records import microseconds

_FORTNIGHT = 14 * 24 * 3_600_000_000
Closed = set[tuple[str, str, date]]  # provider, payer, month


def closed_months(lines: Iterable[Line | GoogleLine], now: datetime) -> Closed:
    """Every row has its invoice, the month ended 14 days ago, and the last month that invoices rows of it is over."""
    invoices: dict[tuple[str, str, date], set[str]] = defaultdict(set)
    for line in lines:
        invoices[line.provider_name, line.payer_account_id, line.usage_month].add(line.invoice)
    return {
        place for place, named in invoices.items()
        if "" not in named
        and microseconds(now) >= month_after(place[2]) + _FORTNIGHT
        and (place[0] == "AWS" or microseconds(now) >= max(month_after(_month(invoice)) for invoice in named))
    }  # fmt: skip


def _month(invoice: str) -> date:
    """Google writes 202604."""
    return date(int(invoice[:4]), int(invoice[4:]), 1)


def _billed(held: list[tuple[int, int]], stretches: list[Stretch]) -> Iterator[tuple[int, int]]:
    """Of every stretch of billed hours the first that somebody held, as many as were billed."""
    for stretch in stretches:
        left = stretch.billed
        for start, end in held:
            first, last = max(start, stretch.start), min(end, stretch.end)
            if first < last and left > 0:
                yield first, min(last, first + left)
                left -= last - first


def cut(holds: Iterable[Hold], times: Times, closed: Closed) -> Iterator[Hold]:
    """Holds as they count: of a machine that one payer is billed for in a closed month no more than was billed."""
    machines: dict[tuple[str, date], list[Hold]] = defaultdict(list)
    for hold in holds:
        machines[hold.resource_id, hold.month].append(hold)
    for (name, month), of_machine in machines.items():
        payers = times.get((name, month), {})
        if len(payers) != 1 or (*next(iter(payers)), month) not in closed:
            yield from of_machine
            continue
        [stretches] = payers.values()
        for first, last in _billed(sorted({(hold.start, hold.end) for hold in of_machine}), stretches):
            for hold in of_machine:
                if hold.start <= first and last <= hold.end:
                    yield replace(hold, start=first, end=last)
