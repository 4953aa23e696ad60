"""The roll-forward of money paid ahead: capacity blocks, Savings Plans, reservations. What is not used up closes the month."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from .accelerators import UNNAMED, family_of, named_by
from .lines import Line
from .numerals import MONEY, to_decimal


@dataclass
class Flow:
    purchased: int = 0
    refunded: int = 0
    used: int = 0
    unused: int = 0
    stated: int = 0  # rows whose amounts AWS has rounded
    kind: str = ""
    bought_for: set[str] = field(default_factory=set)  # accelerators that rows of the month name

    def pay(self, billed: int, is_discount: bool = False) -> None:
        """A discount of the purchase lowers it; whatever else comes back is a refund."""
        self.purchased += billed if is_discount else max(billed, 0)
        self.refunded += 0 if is_discount else max(-billed, 0)


# AWS writes amounts with ten places, at most four of them in a row; ours have twelve
OFF_PER_ROW = 4 * 10**2 // 2
Flows = dict[tuple[str, str, str, str], dict[date, Flow]]  # provider, payer, commitment, currency -> month


def _commitment_id(line: Line) -> str | None:
    """The commitment a row pays for or uses up; a row without an ARN counts under the empty id of its kind."""
    if line.is_block_fee:
        return line.reservation_arn
    if line.is_block_hour:
        return line.block_arn
    if line.is_pod or line.kind == "SavingsPlanNegation":
        return None
    if line.kind.startswith("SavingsPlan") or line.purchase == "savings_plan":
        return line.savings_plan_arn or line.told_plan
    if line.kind in ("RIFee", "DiscountedUsage") or line.purchase or (line.kind == "Fee" and line.reservation_arn):
        return line.reservation_arn
    return None


def _kind(line: Line) -> str:
    if line.is_block_fee or line.is_block_hour:
        return "capacity_block"
    return "savings_plan" if line.kind.startswith("SavingsPlan") or line.purchase == "savings_plan" else "reservation"


def _book(flow: Flow, line: Line) -> None:
    if line.is_block_hour or not line.is_usage:  # a plan or a reservation may cover use of other types than it was bought for
        flow.bought_for.add(named_by(line))
    if line.is_block_hour:
        share = line.effective - line.unblended
        if line.is_unused:
            flow.unused += share
        else:
            flow.used += share
        return
    flow.stated += 0 if line.is_block_fee else 1
    flow.pay(line.billed, is_discount=line.kind.endswith("Discount"))
    if line.is_usage:
        flow.used += line.effective
    else:
        flow.unused += line.effective


def aws_flows(lines: Iterable[Line]) -> Flows:
    flows: Flows = defaultdict(lambda: defaultdict(Flow))
    arns: dict[tuple[str, str], tuple[date, str]] = {}  # of the plans that a payer's bills have named so far, by their last part
    for line in sorted(lines, key=lambda line: line.usage_month):
        if "/" in line.savings_plan_arn:
            plan = line.payer_account_id, line.savings_plan_arn.rsplit("/", 1)[1]
            arns.setdefault(plan, (line.usage_month, line.savings_plan_arn))
    for line in lines:
        commitment_id = _commitment_id(line)
        if commitment_id is not None:
            first_month, arn = arns.get((line.payer_account_id, commitment_id), (line.usage_month, commitment_id))
            named = arn if first_month <= line.usage_month else commitment_id
            flow = flows["AWS", line.payer_account_id, named, line.currency][line.usage_month]
            flow.kind = max(flow.kind, _kind(line))  # rows without an id share the empty one, whatever they are of
            _book(flow, line)
    return flows


def prepaid_rows(flows: Flows, unknown: set[tuple[str, str]]) -> dict[tuple, dict]:
    """fct_prepaid: opening + purchased - refunded - used - unused = closing, for the months in which something moved."""
    rows = {}
    for (provider, payer, commitment_id, currency), months in flows.items():
        opening, is_known, stated = 0, (commitment_id, currency) not in unknown, 0
        bought_for: set[str] = set()
        for month in sorted(months):
            flow = months[month]
            closing = opening + flow.purchased - flow.refunded - flow.used - flow.unused
            stated += flow.stated
            bought_for |= flow.bought_for - {""}
            name = min(bought_for) if len(bought_for) == 1 else ""
            is_known = is_known and closing >= -OFF_PER_ROW * stated  # else it was bought before the first landed month
            amounts = {
                "opening_cost": opening if is_known else None,
                "purchased_cost": flow.purchased,
                "refunded_cost": flow.refunded,
                "amortised_used_cost": flow.used,
                "amortised_unused_cost": flow.unused,
                "closing_cost": closing if is_known else None,
            }
            rows[provider, payer, commitment_id, month, currency] = {
                name: to_decimal(amount, MONEY) for name, amount in amounts.items()
            } | {
                "commitment_kind": flow.kind or "committed_use",  # Google's
                "accelerator_type": None if name in ("", *UNNAMED) else name,
                "accelerator_family": family_of(name),
            }
            opening = closing
    return rows
