"""Commitments on Google Cloud: a month's fee spread over the usage it covers; what was bought and not used stays with the fee."""

from collections import defaultdict
from collections.abc import Iterable

from . import google_facts as facts
from .accelerators import named_by
from .google_clusters import CLUSTER, POOL, RESERVATION
from .google_ladder import jobs_of, label_of
from .google_lines import GoogleLine
from .prepaid import Flow, Flows
from .splitting import RESIDUAL, split


def _month_of(line: GoogleLine) -> tuple:
    return line.payer_account_id, line.currency, line.usage_month


def _is_covered(line: GoogleLine, fee: GoogleLine) -> bool:
    if not line.is_usage or (fee.region_id and line.region_id != fee.region_id):
        return False
    if fee.is_spend_based:
        return line.spend_credit < 0 and fee.originating_sku in ("", line.sku_id)
    if line.pricing_units <= 0 or line.generation != fee.generation or _is_accelerator(line) != _is_accelerator(fee):
        return False
    if line.pricing_unit and fee.pricing_unit and line.pricing_unit != fee.pricing_unit:
        return False
    if line.subscription and fee.subscription:
        return line.subscription == fee.subscription
    return line.has_resource_credit or (fee.generation != "" and line.has_commitment_credit)


def _is_accelerator(line: GoogleLine) -> bool:
    return facts.usage_component(line.sku, "") == "accelerator"


def _order(line: GoogleLine, tag_keys: list[str]) -> tuple:
    """Rows that nothing distinguishes are worth the same, so the order of a file decides about no cent."""
    names = [name for name in (line.resource_name, line.global_name.rsplit("/", 1)[-1]) if name]
    job, reason = next(iter(jobs_of(line)), ""), "unused_commitment" if line.is_unused else ""
    what = "|".join(line.place), line.service_code, line.region_id, line.component, line.generation
    which = names[0] if names else "", names[1] if len(set(names)) == 2 else "", job, label_of(line, tag_keys), reason
    at_list = (line.list_cost is None, line.list_cost or 0)
    return (
        line.start,
        *what,
        *which,
        *_in_cluster(line),
        line.end,
        line.billed,
        at_list,
        line.spend_credit,
        line.pricing_units,
        line.covered_units,
    )


def _in_cluster(line: GoogleLine) -> tuple[str, ...]:
    stated, (number, project_id, zone) = line.allocation, line.place
    account = [f"{line.sub_account_id}/{name}" if name else "" for name in (stated.workload, stated.jobset)]
    named = {breadth: name for breadth, name, _, _ in stated.wider}
    is_lent = stated.lent_by not in ("", project_id)
    lender = f"|{stated.lent_by}" if is_lent else f"{number}|{project_id}"
    places = (f"{number}|{project_id}|{stated.location}", f"{lender}|{zone}")
    return (stated.kind, *account, stated.pipeline, named.get(CLUSTER, ""), named.get(POOL, ""), places[0],
            named.get(RESERVATION, ""), places[1])  # fmt: skip


def _spread(fees: list[GoogleLine], lines: list[GoogleLine], flow: Flow, tag_keys: list[str], *, is_used: bool) -> None:
    """The fee rows of one cell and kind of resource over the rows they cover, by covered amounts."""
    covered = [line for line in lines if is_used and _is_covered(line, fees[0])]
    covered.sort(key=lambda line: _order(line, tag_keys))
    if fees[0].is_spend_based:
        amounts, bought = [-line.spend_credit for line in covered], 0
    else:
        amounts, bought = [line.covered_units for line in covered], sum(fee.pricing_units for fee in fees)
    unused = max(bought - sum(amounts), 0)
    weights: list[tuple[str, int]] = [(f"{place:012d}", amount) for place, amount in enumerate(amounts)]
    shares = split(sum(fee.billed for fee in fees), [*weights, (RESIDUAL, unused)])
    for line, (place, _) in zip(covered, weights, strict=True):
        line.effective += shares[place]
        flow.used += shares[place]
    for fee in fees:
        fee.effective = 0
    fees[0].effective = shares[RESIDUAL]
    flow.unused += shares[RESIDUAL]


def amortise(lines: Iterable[GoogleLine], tag_keys: list[str]) -> Flows:
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
        is_told = any(fee.originating_sku for fees in commitments.values() for fee in fees)
        for commitment_id, fees in commitments.items():
            flow = flows["Google Cloud", fees[0].payer_account_id, commitment_id, currency][month]
            for fee in fees:
                flow.pay(fee.billed)
                flow.bought_for.add(named_by(fee))
            # usage carries its discounted cost already, so what is left is waste; rows of committed spend speak for themselves
            is_offset = any(fee.has_fee_offset for fee in fees)
            kept = [fee for fee in fees if (fee.has_fee_offset if fee.is_spend_based else is_offset)]
            flow.unused += sum(fee.billed for fee in kept)
            cells: dict[tuple, list[GoogleLine]] = defaultdict(list)
            for fee in (fee for fee in fees if fee not in kept):
                cells[*fee.cell, fee.generation, _is_accelerator(fee), fee.pricing_unit, fee.originating_sku].append(fee)
            for of_cell in cells.values():
                names_nothing = of_cell[0].is_spend_based and not of_cell[0].originating_sku
                _spread(of_cell, in_month, flow, tag_keys, is_used=not (is_told and names_nothing))
    return flows
