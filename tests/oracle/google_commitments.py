"""Commitments on Google Cloud: a month's fee spread over the usage it covers; what was bought and not used stays with the fee."""

from collections import defaultdict
from collections.abc import Iterable

from .google_lines import GoogleLine
from .prepaid import Flow, Flows
from .splitting import RESIDUAL, split


def _month_of(line: GoogleLine) -> tuple:
    return line.payer_account_id, line.currency, line.usage_month


def _is_covered(line: GoogleLine, fee: GoogleLine) -> bool:
    if not line.is_usage or line.pricing_units <= 0 or line.generation != fee.generation:
        return False
    if fee.region_id and line.region_id != fee.region_id:
        return False
    if line.subscription and fee.subscription:
        return line.subscription == fee.subscription
    return line.has_commitment_credit


def _spread(fees: list[GoogleLine], lines: list[GoogleLine], flow: Flow) -> None:
    """The fee rows of one cell and TPU generation over the rows they cover, by covered amounts."""
    covered = [line for line in lines if _is_covered(line, fees[0])]
    covered.sort(key=lambda line: (line.start, line.source_object, line.row_number))
    bought = sum(fee.pricing_units for fee in fees)
    unused = max(bought - sum(line.pricing_units for line in covered), 0)
    weights: list[tuple[str, int]] = [(f"{place:012d}", line.pricing_units) for place, line in enumerate(covered)]
    shares = split(sum(fee.billed for fee in fees), [*weights, (RESIDUAL, unused)])
    for line, (place, _) in zip(covered, weights, strict=True):
        line.effective += shares[place]
        flow.used += shares[place]
    for fee in fees:
        fee.effective = 0
    fees[0].effective = shares[RESIDUAL]
    flow.unused += shares[RESIDUAL]


def amortise(lines: Iterable[GoogleLine]) -> Flows:
    """Change the effective costs in place and tell what moved by commitment and month."""
    months: dict[tuple, list[GoogleLine]] = defaultdict(list)
    for line in lines:
        months[_month_of(line)].append(line)
    flows: Flows = defaultdict(lambda: defaultdict(Flow))
    for (_, currency, month), in_month in months.items():
        commitments: dict[str, list[GoogleLine]] = defaultdict(list)
        for line in in_month:
            if line.is_fee:
                commitments[line.commitment_id].append(line)
        for commitment_id, fees in commitments.items():
            flow = flows["Google Cloud", commitment_id, currency][month]
            for fee in fees:
                flow.pay(fee.billed)
            if any(fee.has_fee_offset for fee in fees):  # usage carries its discounted cost already, so what is left is waste
                flow.unused += sum(fee.billed for fee in fees)
                continue
            cells: dict[tuple, list[GoogleLine]] = defaultdict(list)
            for fee in fees:
                cells[*fee.cell, fee.generation].append(fee)
            for of_cell in cells.values():
                _spread(of_cell, in_month, flow)
    return flows
