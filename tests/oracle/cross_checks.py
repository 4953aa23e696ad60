"""Another export of the same money beside the book: by cell and currency what it states, taken off what the book states."""

from collections import defaultdict
from collections.abc import Iterable

from .google_lines import GoogleLine
from .judgements import nine_decimals
from .lines import Line
from .numerals import MONEY, to_decimal

_ABSENT = dict.fromkeys(("runs_total", "residual_total", "quarantined_total", "modelled_total"))


def cross_check_rows(book: Iterable[Line | GoogleLine], others: Iterable[Line | GoogleLine]) -> dict[tuple, dict]:
    """Rows of fct_reconciliation; a cell that the book has not is compared with nothing."""
    stated: dict[tuple, int] = defaultdict(int)
    for line in book:
        stated[*line.cell[1:], line.currency] += line.billed + (line.promotion or 0)
    found: dict[tuple, int] = defaultdict(int)
    for line in others:
        found[line.source_name, *line.cell[1:], line.currency] += line.billed + (line.promotion or 0)
    rows = {}
    for (source_name, *cell, currency), other in found.items():
        total = stated.get((*cell, currency))
        difference = None if total is None else total - other
        rows[*cell, "billed_cost", currency, None, "cross_check", source_name] = {
            "provider_total": to_decimal(total, MONEY), "difference": to_decimal(difference, MONEY), **_ABSENT,
            "ratio": nine_decimals(other / total) if total else None,
        }  # fmt: skip
    return rows
