"""Capacity blocks: each fee bought up front, spread over the hours it bought. What is not used up yet stays prepaid.

A training plan of SageMaker is one as well. An extension is a fee under the same id, over the time that it adds: from its own
start, or from the end of the fee before it where it repeats the start of the reservation.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from .capacities import Capacity, key_of
from .exports import moment
from .facts import ACCELERATED
from .lines import Line
from .months import bounds, month_after
from .numerals import MONEY, units_of_text
from .records import microseconds
from .splitting import RESIDUAL, split

Term = tuple[int, int]
HOUR = 3_600_000_000
WASTED = "~wasted"


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
    known: Capacity | None = None  # as its owner or AWS states it, apart from the bill

    def term_of(self, fee: Line) -> Term | None:
        """As the fee states it; where no fee of the block states one, as its owner or AWS does."""
        is_dated = any(_term(other) for other in self.fees)
        return _term(fee) if is_dated or not self.known else self.known.term

    def amortise(self, landed_month: int) -> None:
        """Give every hour row its exact share of the fee of its span; hours after the last are of none.

        What of a plan was not used is on its first fee row, once the plan is over.
        """
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
        size = max([*seen, *self.stated], default=1)
        billed_until = max((hour.end for hour in self.hours), default=None)
        for span in spans:
            is_over = span.term is not None and billed_until is not None and billed_until >= span.term[1]
            if self.is_plan and span.term is not None:
                is_over |= (billed_until is not None and billed_until >= span.term[1] - HOUR) or landed_month >= span.term[1]
            paid = self.known.paid if self.known and self.is_plan and len(spans) == 1 else None
            unused = _amortise(span, _unbilled(span, size, paid), is_open=not is_over, is_wasted=self.is_plan and is_over)
            if unused and not self.is_blind:
                bought = [fee for fee in span.fees if fee.billed > 0]
                min(
                    bought, key=lambda fee: (fee.usage_month, fee.source_name, fee.source_object, fee.row_number)
                ).effective += unused

    def _spans(self) -> list[Span]:
        paid: dict[Term | None, int] = defaultdict(int)
        for fee in self.fees:
            paid[self.term_of(fee)] += fee.billed
        terms = sorted((term for term, amount in paid.items() if term and amount > 0), key=lambda term: (term[1], term[0]))
        first = min((start for start, _ in terms), default=0)
        spans = []
        for place, (start, end) in enumerate(terms):
            begins = terms[place - 1][1] if place and start == first else start
            spans.append(Span((begins, end), [fee for fee in self.fees if self.term_of(fee) == (start, end)]))
        spans = spans or [Span(None)]
        spans[0].fees += [fee for fee in self.fees if self.term_of(fee) not in terms]
        return spans

    @property
    def stated(self) -> list[int]:
        """Instances as its owner, AWS or fees state them: an extension is of those of its block."""
        if self.known:
            return [self.known.instances]
        return [units_of_text(fee.term[2], MONEY) // 10**MONEY for fee in self.fees if fee.term[2]]

    @property
    def is_plan(self) -> bool:
        return any(":training-plan/" in fee.reservation_arn for fee in self.fees)

    @property
    def is_blind(self) -> bool:
        """Whether neither a number nor an hour shows how large it is."""
        return not self.stated and not self.hours

    def is_unknown(self, landed_until: int) -> bool:
        """Whether nothing shows what of it is used up, and it may have begun."""
        starts = [term[0] for fee in self.fees if (term := self.term_of(fee))]
        is_begun = not starts or min(starts) < landed_until
        return sum(fee.billed for fee in self.fees) > 0 and self.is_blind and is_begun


def _unbilled(span: Span, size: int, paid: int | None) -> int:
    """Microseconds of instance time that were bought and are on no bill. A plan may be two blocks with a time between them."""
    if not span.term:
        return 0
    bought = (span.term[1] - span.term[0]) * max(size, 1) if paid is None else paid
    return max(bought - sum(hour.usage_us for hour in span.hours), 0)


def _amortise(span: Span, unbilled: int, is_open: bool, is_wasted: bool) -> int:
    """Share the fee among the hours; returns what of it was not used."""
    ordered = sorted(span.hours, key=lambda hour: (hour.start, hour.source_object, hour.row_number))
    weights: list[tuple[object, int]] = [(f"{place:012d}", hour.usage_us) for place, hour in enumerate(ordered)]
    rest = [(RESIDUAL, unbilled if is_open else 0), (WASTED, unbilled if is_wasted else 0)]
    shares = split(sum(fee.billed for fee in span.fees), [*weights, *rest])
    for place, hour in enumerate(ordered):
        hour.effective = hour.unblended + shares[f"{place:012d}"]
        hour.weight = hour.effective
    return shares[WASTED]


def unknown_blocks(blocks: dict[tuple[str, str], Block], lines: Iterable[Line]) -> set[tuple[str, str]]:
    """Ids and currencies of blocks whose balance is unknown."""
    landed = _landed(lines)
    return {
        name
        for name, block in blocks.items()
        if block.is_unknown(max(month_after(landed[fee.payer_account_id]) for fee in block.fees))
    }


def _landed(lines: Iterable[Line]) -> dict[str, date]:
    """The newest month of each payer."""
    found: dict[str, date] = {}
    for line in lines:
        found[line.payer_account_id] = max(found.get(line.payer_account_id, line.usage_month), line.usage_month)
    return found


def _plan_of_hour(line: Line, fees: dict[tuple[str, str], Block], plans_of_job: dict[str, set[str]]) -> str:
    """Of an hour that SageMaker bills at 0: the plan of its job's record, else the only plan that fits."""
    is_free = line.kind == "Usage" and line.billed == 0 and line.gross == 0 and line.has_amount and not line.is_pod
    if line.service_code != "AmazonSageMaker" or not is_free or line.component != "accelerator":
        return ""
    if len(named := plans_of_job.get(line.resource_id, ())) == 1:
        return next(iter(named))
    fitting = set()
    for (arn, currency), block in fees.items():
        terms = [term for fee in block.fees if (term := block.term_of(fee))]
        types = {fee.instance_type for fee in block.fees if ACCELERATED.match(fee.instance_type)}
        place = arn.split(":")[3:5]
        if ":training-plan/" in arn and place == [line.region_id, line.sub_account_id] and currency == line.currency and terms:
            is_then = line.end > min(term[0] for term in terms) and line.start < max(term[1] for term in terms)
            if is_then and (not types or max(types) == line.instance_type):
                fitting.add(arn)
    return fitting.pop() if len(fitting) == 1 else ""


def prepare_blocks(
    lines: Iterable[Line], plans_of_job: dict[str, set[str]], capacities: dict[str, Capacity]
) -> dict[tuple[str, str], Block]:
    """Find the blocks and plans among all lines and amortise them in place, across bills and months."""
    blocks: dict[tuple[str, str], Block] = defaultdict(Block)
    lines = list(lines)
    for line in lines:
        if line.is_block_fee:
            blocks[line.reservation_arn, line.currency].fees.append(line)
            blocks[line.reservation_arn, line.currency].known = capacities.get(key_of(line.reservation_arn))
    plans = {name: block for name, block in blocks.items() if block.is_plan}
    for line in lines:
        if line.block_arn == line.resource_id and ":training-plan/" not in line.block_arn:
            line.block_arn = _plan_of_hour(line, plans, plans_of_job) or line.block_arn
        if line.kind == "Usage" and (line.block_arn, line.currency) in blocks and not line.is_block_fee and not line.is_pod:
            blocks[line.block_arn, line.currency].hours.append(line)
    for block in blocks.values():  # its reserved time as a whole is the same time again
        block.hours = [hour for hour in block.hours if not hour.is_reserved_time] or block.hours
    landed = _landed(lines)
    for block in blocks.values():
        block.amortise(max(bounds(landed[fee.payer_account_id])[0] for fee in block.fees))
    return dict(blocks)
