"""Capacity blocks: each fee bought up front, spread over the hours it bought. What is not used up yet stays prepaid.

An extension is a fee under the same id, over the time that it adds: from its own start, or from the end of the fee before it
where it repeats the start of the reservation.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from .exports import moment
from .lines import Line
from .numerals import MONEY, units_of_text
from .records import microseconds
from .splitting import RESIDUAL, split

Term = tuple[int, int]


def _term(fee: Line) -> Term | None:
    start, end, _ = fee.term
    return (microseconds(moment(start)), microseconds(moment(end))) if start and end else None


@dataclass
class Span:
    term: Term | None
    fees: list[Line] = field(default_factory=list)
    hours: list[Line] = field(default_factory=list)


@dataclass
class Block:
    fees: list[Line] = field(default_factory=list)
    hours: list[Line] = field(default_factory=list)

    def _spans(self) -> list[Span]:
        paid: dict[Term | None, int] = defaultdict(int)
        for fee in self.fees:
            paid[_term(fee)] += fee.billed
        terms = sorted((term for term, amount in paid.items() if term and amount > 0), key=lambda term: (term[1], term[0]))
        first = min((start for start, _ in terms), default=0)
        spans = []
        for place, (start, end) in enumerate(terms):
            begins = terms[place - 1][1] if place and start == first else start
            spans.append(Span((begins, end), [fee for fee in self.fees if _term(fee) == (start, end)]))
        spans = spans or [Span(None)]
        spans[0].fees += [fee for fee in self.fees if _term(fee) not in terms]
        return spans

    def amortise(self) -> None:
        """Give every hour row its exact share of the fee of its span; hours after the last are of none."""
        spans = self._spans()
        for hour in self.hours:
            begun = [span for span in spans[1:] if span.term and hour.start >= span.term[0]]
            span = begun[-1] if begun else spans[0]
            last = spans[-1].term
            if last is None or span is not spans[-1] or hour.start < last[1]:
                span.hours.append(hour)
                hour.is_block_hour, hour.list_cost, hour.contracted = True, None, None
        at_once: dict[int, list[Line]] = defaultdict(list)
        for hour in self.hours:
            at_once[hour.start].append(hour)
        seen = [-(-sum(row.usage_us for row in rows) // max(row.end - row.start for row in rows)) for rows in at_once.values()]
        billed_until = max((hour.end for hour in self.hours), default=None)
        for span in spans:
            _amortise(span, max(seen, default=1), billed_until)


def _unbilled(span: Span, seen: int, billed_until: int | None) -> int:
    """Microseconds of instance time that were bought and not billed yet; none once the span's end is on a bill."""
    if not span.term or (billed_until is not None and billed_until >= span.term[1]):
        return 0
    stated = max((units_of_text(fee.term[2] or "1", MONEY) // 10**MONEY for fee in span.fees), default=1)
    length = span.term[1] - span.term[0]
    return max(length * max(stated, seen) - sum(hour.usage_us for hour in span.hours), 0)


def _amortise(span: Span, seen: int, billed_until: int | None) -> None:
    ordered = sorted(span.hours, key=lambda hour: (hour.start, hour.source_object, hour.row_number))
    weights: list[tuple[object, int]] = [(f"{place:012d}", hour.usage_us) for place, hour in enumerate(ordered)]
    shares = split(sum(fee.billed for fee in span.fees), [*weights, (RESIDUAL, _unbilled(span, seen, billed_until))])
    for place, hour in enumerate(ordered):
        hour.effective = hour.unblended + shares[f"{place:012d}"]
        hour.weight = hour.effective


def prepare_blocks(lines: Iterable[Line]) -> dict[tuple[str, str], Block]:
    """Find the blocks among all lines and amortise them in place, across bills and months."""
    blocks: dict[tuple[str, str], Block] = defaultdict(Block)
    lines = list(lines)
    for line in lines:
        if line.is_block_fee:
            blocks[line.reservation_arn, line.currency].fees.append(line)
    for line in lines:
        if line.kind == "Usage" and (line.block_arn, line.currency) in blocks and not line.is_block_fee and not line.is_pod:
            blocks[line.block_arn, line.currency].hours.append(line)
    for block in blocks.values():
        block.amortise()
    return dict(blocks)
