"""What each of Google's invoices asks for, beside the cost of the use of the same month: rows of the reconciliation.

A row is on the invoice that it names, whatever it is and whenever it was used.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from .google_lines import GoogleLine
from .numerals import MONEY, to_decimal

UNCOMPARED = ("runs_total", "residual_total", "quarantined_total", "modelled_total")


def month_of(invoice: str) -> date | None:
    """202607 as a day; None for what is no month."""
    if len(invoice) != 6 or not invoice.isdecimal() or not 1 <= int(invoice[4:]) <= 12:
        return None
    return date(int(invoice[:4]), int(invoice[4:]), 1)


def invoice_rows(lines: Iterable[GoogleLine]) -> dict[tuple, dict]:
    asked: dict[tuple, int] = defaultdict(int)
    used: dict[tuple, int] = defaultdict(int)
    late: dict[tuple, int] = defaultdict(int)
    elsewhere: dict[tuple, int] = defaultdict(int)
    for line in lines:
        of_line = line.source_name, line.payer_account_id, line.currency
        amount, month = line.billed + (line.promotion or 0), month_of(line.invoice)
        used[*of_line, line.usage_month] += amount
        if month is not None:
            asked[*of_line, month] += amount
            late[*of_line, month] += month != line.usage_month
        elsewhere[*of_line, line.usage_month] += month != line.usage_month
    rows = {}
    for place, amount in asked.items():
        source_name, payer, currency, month = place
        key = ("Google Cloud", payer, "", "", "", month, "invoiced_cost", currency, None, "cross_check", source_name)
        rows[key] = dict.fromkeys(UNCOMPARED) | {
            "provider_total": to_decimal(amount, MONEY),
            "difference": to_decimal(amount - used[place], MONEY),
            "reason": f"invoice month {month:%Y-%m}: {late[place]} rows of other usage months on it, "
            f"{elsewhere[place]} rows of this usage month not on it",
        }
    return rows
