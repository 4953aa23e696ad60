"""Discounts on rows of their own beside net columns are one money twice: where a bill adds up only without them they count 0."""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from .lines import Line
from .numerals import MONEY


def _is_near(amount: int, stated: int) -> bool:
    """To a cent, or to a ten millionth where that is more."""
    return abs(amount - stated) <= max(Fraction(10**MONEY, 100), Fraction(abs(stated), 10**7))


def _is_of_plan(line: Line) -> bool:
    return line.kind.startswith("SavingsPlan") or line.savings_plan_arn != "" or line.service_code.endswith("SavingsPlans")


def count_discounts_once(lines: Iterable[Line]) -> None:
    bills: dict[tuple, list[Line]] = defaultdict(list)
    for line in lines:
        if not _is_of_plan(line):
            bills[line.source_name, line.payer_account_id, line.seller, line.usage_month, line.currency].append(line)
    for rows in bills.values():
        discounts = [row for row in rows if row.kind.endswith("Discount")]
        gross, net = sum(row.gross for row in rows), sum(row.unblended for row in rows)
        if discounts and not _is_near(net, gross) and _is_near(net - sum(row.unblended for row in discounts), gross):
            for row in discounts:
                row.unblended = row.billed = row.effective = 0
