"""Capacity blocks: the fee bought up front, spread over the hours it bought. What is not used up yet stays prepaid."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from .exports import moment
from .lines import Line
from .numerals import MONEY, units_of_text
from .records import microseconds
from .splitting import RESIDUAL, split


@dataclass
class Block:
    fees: list[Line] = field(default_factory=list)
    hours: list[Line] = field(default_factory=list)

    def unbilled_term(self) -> int:
        """Microseconds of instance time that were bought and not billed yet; none once the block's end is on a bill."""
        terms = [fee.term for fee in self.fees if fee.term[0] and fee.term[1]]
        if not terms:
            return 0
        start = min(microseconds(moment(start)) for start, _, _ in terms)
        end = max(microseconds(moment(end)) for _, end, _ in terms)
        if any(hour.end >= end for hour in self.hours):
            return 0
        instances = max(units_of_text(number or "1", MONEY) for _, _, number in terms)
        return max((end - start) * instances // 10**MONEY - sum(hour.usage_us for hour in self.hours), 0)

    def amortise(self) -> None:
        """Give every hour row its exact share of the fee; refunds have reduced it."""
        fee = sum(line.billed for line in self.fees)
        ordered = sorted(self.hours, key=lambda hour: (hour.start, hour.source_object, hour.row_number))
        weights: list[tuple[object, int]] = [(f"{place:012d}", hour.usage_us) for place, hour in enumerate(ordered)]
        shares = split(fee, [*weights, (RESIDUAL, self.unbilled_term())])
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
            line.is_block_hour = True
            line.list_cost = None
            blocks[line.block_arn, line.currency].hours.append(line)
    for block in blocks.values():
        block.amortise()
    return dict(blocks)
