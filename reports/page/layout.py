"""From the rows of a table to the rows, headers and footnotes of the page.

Units are in the headers, each column has one number of decimals, null is a dash with a footnote.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby

from reports.model import Column, Table
from reports.page.cells import Cell, Notes, Scale, cell_of, decimals, scales_of
from reports.publication import Row


@dataclass(frozen=True)
class Header:
    label: str
    unit: str
    css: str


@dataclass(frozen=True)
class Group:
    """A heading over `span` columns; empty over columns of no group."""

    label: str
    span: int


@dataclass(frozen=True)
class PageRow:
    cells: tuple[Cell, ...]
    is_total: bool
    is_group_start: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table as the page shows it."""

    table: Table
    groups: tuple[Group, ...]
    headers: tuple[Header, ...]
    rows: tuple[PageRow, ...]
    notes: tuple[tuple[str, str], ...]
    absent: str
    hidden_rows: int

    @property
    def is_narrow(self) -> bool:
        """Few short columns: the page does not stretch it, and may set it beside its chart."""
        return len(self.headers) <= 5 and all(len(cell.text) <= 70 for row in self.rows for cell in row.cells)


def _currency(table: Table) -> str:
    """The only currency of the table, or nothing when there are several."""
    currencies = (
        {str(row["billing_currency"]) for row in table.rows}
        if any(c.key == "billing_currency" for c in table.spec.columns)
        else set()
    )
    return currencies.pop() if len(currencies) == 1 else ""


def _cells(
    row: Row, above: Row | None, columns: list[Column], places: dict[str, int], scales: dict[str, Scale], notes: Notes
) -> PageRow:
    cells = [cell_of(column, row, places[column.key], scales, notes) for column in columns]
    is_total = bool(row.get("is_total"))
    if is_total:
        empty = next((n for n, cell in enumerate(cells) if not cell.text), None)
        if empty is not None:
            cells[empty] = Cell("Total" if empty == 0 else "total", cells[empty].css.replace("kind-code", "kind-text"))
    quiet = [n for n, column in enumerate(columns) if column.is_quiet_when_repeated]
    repeated = [n for n in quiet if above is not None and above[columns[n].key] == row[columns[n].key]]
    for n in repeated:
        cells[n] = replace(cells[n], is_repeated=True)
    return PageRow(tuple(cells), is_total, bool(quiet) and above is not None and not repeated)


def page_table(table: Table) -> PageTable:
    """Lay one table out. A single currency moves from its column into the headers."""
    currency, scales = _currency(table), scales_of(table.spec.columns, table.rows)
    columns = [
        column
        for column in table.spec.columns
        if not column.is_data_only
        and not (currency and column.key == "billing_currency")
        and not (column.is_dropped_when_empty and all(row[column.key] is None for row in table.rows))
        and not (column.is_dropped_when_zero and not any(row[column.key] for row in table.rows))
    ]
    values = {column.key: [row[column.key] for row in table.rows if isinstance(row[column.key], Decimal)] for column in columns}
    places = {column.key: decimals(column, values[column.key], scales) for column in columns}
    units = {"money": currency or "in its currency", "ratio": "%", "hours": "h", **{k: scale.unit for k, scale in scales.items()}}
    notes = Notes()
    rows = table.rows[: table.spec.page_rows]
    shown = tuple(_cells(row, above, columns, places, scales, notes) for above, row in zip((None, *rows), rows, strict=False))
    headers = tuple(
        Header(c.label, c.unit or units.get(c.kind, ""), "number" if not c.is_text and c.kind != "digest" else "")
        for c in columns
    )
    absent = table.absent or ("" if table.rows else table.spec.empty)
    groups = tuple(Group(label, len(list(members))) for label, members in groupby(c.group for c in columns))
    groups = groups if any(group.label for group in groups) else ()
    marked = tuple((mark, words) for words, mark in notes.marks.items())
    return PageTable(table, groups, headers, shown, marked, absent, len(table.rows) - len(shown))
