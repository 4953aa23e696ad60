"""What the page knows of a month: costs, energy and emissions by team, model and accelerator, what was lost, what no run carries.

A cell is one team, model and accelerator. A month with more than `MOST_CELLS` shows the rest of them as one, so that its file
stays small; sums over all cells stay those of the marts.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from reports import pages
from reports.door import Row
from reports.publication import Publication

MOST_CELLS = 400
OTHERS = ("(all others)", "(all others)", "(all others)", "none")
Document = dict[str, Any]

# Parts of a month: the page of each is called ledger_costs and the like. Rows that fall together among the others are added up,
# texts and counts alike.
IN_CELLS = ("costs", "figures", "emissions", "unknown", "lost")
OF_MONTHS = ("bill", "residuals", "coverage")
CELL_NAMES = ("team", "model", "chip", "family")


def month_documents(publication: Publication, months: Sequence[date], *, has_runs: bool) -> dict[date, Document]:
    """The document of each of these months; without `has_runs` what was lost is all that is summed of runs.

    A part of what is needed would leave out what is unknown, and half a total is not a total.
    """
    if not months:
        return {}
    cells: dict[date, dict[tuple[str, ...], int]] = {month: {} for month in months}
    documents: dict[date, Document] = {month: {"month": f"{month:%Y-%m}"} for month in months}
    asked = {"months": months}
    for part in IN_CELLS if has_runs else ("lost",):
        for month, rows in _by_month(pages.rows(publication, f"ledger_{part}", asked)).items():
            documents[month][part] = _folded(rows, cells[month])
    for part in OF_MONTHS:
        for month, rows in _by_month(pages.rows(publication, f"ledger_{part}", asked)).items():
            documents[month][part] = [[*row.values()] for row in rows]
    for month, known in cells.items():
        documents[month]["cells"] = [list(cell) for cell in known]
    return documents


def _by_month(rows: Iterable[Row]) -> dict[date, list[Row]]:
    """The rows of each month, without it."""
    found: dict[date, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.pop("usage_month")].append(row)
    return found


def _folded(rows: Sequence[Row], cells: dict[tuple[str, ...], int]) -> list[list[Any]]:
    """Each row as the number of its cell, then its columns; what falls together is added up. New cells get the next number."""
    added: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        cell = tuple(row.pop(name) for name in CELL_NAMES)
        if cell not in cells:
            if len(cells) >= MOST_CELLS:
                cell = OTHERS
            cells.setdefault(cell, len(cells))
        texts = (cells[cell], *(value for value in row.values() if not isinstance(value, Decimal | int)))
        numbers = [value for value in row.values() if isinstance(value, Decimal | int)]
        before = added.get(texts, [0] * len(numbers))
        added[texts] = [one + other for one, other in zip(before, numbers, strict=True)]
    return [[*texts, *numbers] for texts, numbers in added.items()]
