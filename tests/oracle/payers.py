"""One hour of an accelerator on the bills of two payers is one money twice: nothing is worked out until it is stated who pays."""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from .facts import ACCELERATED
from .lines import USAGE, Line
from .numerals import OracleError

BEYOND = 1 + Fraction(1, 10**9)  # parts of an hour, as of an account that moves, add up to one


def refuse_hours_of_two(lines: Iterable[Line]) -> None:
    hours: dict[tuple, list[Line]] = defaultdict(list)
    for line in lines:
        if line.kind in USAGE and not line.is_pod and line.resource_id and ACCELERATED.match(line.instance_type):
            hours[line.usage_month, line.sub_account_id, line.resource_id, line.usage_type, line.start].append(line)
    for (month, account, resource, _, _), rows in sorted(hours.items()):
        payers = {row.payer_account_id for row in rows}
        hour = Fraction(max(row.end - row.start for row in rows), 3_600_000_000)
        if len(payers) > 1 and sum(row.amount for row in rows) > hour * BEYOND:
            raise OracleError(f"an hour of {resource} of account {account} in {month} is on the bills of {sorted(payers)}")
