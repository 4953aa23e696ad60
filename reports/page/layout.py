"""From the rows of a table to the rows, headers and footnotes of the page.

Units are in the headers, each column has one number of decimals, null is a dash with a footnote.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby

from reports.door import Row
from reports.model import TEN, Column, Table
from reports.page.names import NAMES_A_PLATFORM, RUNS_ON, platform, shown
from reports.page.numbers import EN_DASH, TONNE, UNITS, grouped, scaled, significant
from reports.quarter import short_month_name

NOTE_MARKS = "abcdefghijklmnop"
UNITS_OF_ROWS = ("unit", "unit_or_currency", "billing_currency")
IN = "in"  # the heading over the units of rows
# a header shows what its numbers are in
UNITS_OF_KINDS = {
    "ratio": "%",
    "hours": "h",
    "count": "number",
    "ratio_of": "ratio",
}
PLACES = {"money": 2, "amount": 3, "mass": 3, "hours": 1, "ratio_of": 3}
Notes = dict[str, str]  # the words of a footnote and its mark, in the order they are first needed; the same words share a mark


@dataclass(frozen=True)
class Cell:
    text: str
    css: str
    mark: str = ""
    title: str = ""
    is_repeated: bool = False  # the name of the row above: read aloud, not printed again
    name: str = ""  # what people call the id in `text`: it comes first
    id: str = ""  # of a number: the figure's


@dataclass(frozen=True)
class Scale:
    """What a stored kilogram or kilowatt-hour is divided by on this page's table, and the unit it is then in."""

    divisor: Decimal
    unit: str
    greatest: Decimal


@dataclass(frozen=True)
class Header:
    label: str
    unit: str
    css: str


@dataclass(frozen=True)
class PageRow:
    cells: tuple[Cell, ...]
    is_total: bool
    is_group_start: bool


@dataclass(frozen=True)
class PageTable:
    """A table as the page shows it. `groups` are headings over so many columns, empty over columns of no group."""

    table: Table
    groups: tuple[tuple[str, int], ...]
    headers: tuple[Header, ...]
    rows: tuple[PageRow, ...]
    notes: tuple[tuple[str, str], ...]
    absent: str
    hidden_rows: int
    is_excerpt: bool = False  # the first ten of a ranked table, all of which is an appendix

    @property
    def is_narrow(self) -> bool:
        """Few short columns: the page does not stretch it."""
        return len(self.headers) <= 5 and all(len(cell.text) <= 70 for row in self.rows for cell in row.cells)

    @property
    def is_half(self) -> bool:
        """It may stand beside another one."""
        return len(self.headers) <= 6 and all(len(cell.text) <= 70 for row in self.rows for cell in row.cells)


def _scale(kind: str, small: str, table: Table) -> Scale:
    """Tonnes and MWh for the whole table once anything in it reaches 1,000 kg or kWh, so that its columns compare.

    On the pages for the board always: its tables stand beside each other.
    """
    values = [row[column.key] for column in table.spec.columns if column.kind == kind for row in table.rows]
    greatest = max((abs(value) for value in values if value is not None), default=Decimal(0))
    divisor, unit = scaled(max(greatest, TONNE) if table.spec.is_for_the_board else greatest, small)
    return Scale(divisor, unit, greatest / divisor)


def _decimals(column: Column, rows: tuple[Row, ...], scales: dict[str, Scale]) -> int:
    """Enough places for the column's longest value, at most six: 21.50 and 1.34375 in one column get five.

    Energy is modelled: as many places as leave about three figures of the table's greatest.
    """
    if column.kind == "energy":
        greatest = scales["energy"].greatest
        return 1 if greatest >= 100 else 2 if greatest >= 10 else 3
    if column.kind != "number":
        return PLACES.get(column.kind, 0)
    values = [row[column.key] for row in rows if isinstance(row[column.key], Decimal)]
    return min(6, max((max(0, -int(value.normalize().as_tuple().exponent)) for value in values), default=0))


def _text(column: Column, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return short_month_name(value) if column.kind == "month" else value.isoformat()
    text = shown(str(value))
    if column.key in NAMES_A_PLATFORM or text.startswith(RUNS_ON):
        text = platform(text)
    if column.key == "source":  # a source is named on the page, never linked
        text = text.replace("https://", "").replace("http://", "")
    return text[:12] if column.kind == "digest" else text.replace("_", " ") if column.kind == "state" else text


def _number(column: Column, value: Decimal | float, places: int, scales: dict[str, Scale]) -> str:
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if number == 0:  # a true zero is bare: 0.000 is something that rounds to nothing
        return "0"
    if column.kind in scales:
        number /= scales[column.kind].divisor
    if column.kind == "ratio":  # all but all is not all
        return ">99.9" if Decimal("0.9995") <= number < 1 else grouped(number * 100, 1)
    if column.kind == "statistic":  # rows of several units: as many figures, not as many places
        return grouped(number, 0) if number == number.to_integral_value() else significant(number)
    return str(number) if column.kind == "year" else grouped(number, places)


def _length(column: Column, text: str) -> str:
    """Short names are never broken; phrases and sentences get room before numbers do."""
    if len(text) <= (24 if column.kind == "code" else 14):
        return " short"
    return "" if column.kind != "text" else " long" if len(text) > 48 else " phrase" if len(text) > 24 else ""


def _cell(column: Column, row: Row, places: int, scales: dict[str, Scale], notes: Notes) -> Cell:
    value, css = row[column.key], f"kind-{column.kind}{'' if column.is_text else ' number'}"
    if value is None and row.get("is_total") and column.is_text:
        return Cell("", css)
    if value is None or value == "":  # no region, no project
        return Cell(EN_DASH, css + " unknown", notes.setdefault(column.note, NOTE_MARKS[len(notes) % len(NOTE_MARKS)]))
    if column.kind == "flag":
        return Cell(_text(column, value), css + (" good" if value else " bad"))
    if column.kind == "state":
        return Cell(_text(column, value), f"{css} is-{value}" if str(value).isidentifier() else css)
    if column.is_text:
        text = _text(column, value)
        name = shown(str(row[column.name] or "")) if column.name and row[column.name] != value else ""
        css = css.replace("kind-code", "kind-text") if name else f"{css}{_length(column, text)}"
        return Cell(text, css, title=str(value) if column.kind == "digest" else "", name=name)
    number = _number(column, value, places, scales)
    ends = [row[key] for key in column.bounds]
    if not ends or None in ends:
        return Cell(number, css)
    low, high = (_number(column, end, places, scales) for end in ends)
    return Cell(f"{number} ({low}-{high})", f"{css} bounded")


def _page_row(
    row: Row,
    above: Row | None,
    columns: list[Column],
    places: dict[str, int],
    scales: dict[str, Scale],
    notes: Notes,
    row_id: str,
) -> PageRow:
    cells = [_cell(column, row, places[column.key], scales, notes) for column in columns]
    if row_id:
        ids = ["" if column.is_text else f"{row_id}/{column.key}" for column in columns]
        cells = [replace(cell, id=id) for cell, id in zip(cells, ids, strict=True)]
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


def _currencies(table: Table) -> list[str]:
    return sorted({str(row["billing_currency"]) for row in table.rows if row.get("billing_currency") is not None})


def _one_unit(table: Table) -> str:
    """What the numbers of all rows are in, where a column of the row has it and all have the same."""
    name = next((name for name in UNITS_OF_ROWS if table.rows and name in table.rows[0]), "")
    found = {row[name] for row in table.rows} if name else set()
    return str(found.pop()) if len(found) == 1 and None not in found else ""


def _of_rows(table: Table, columns: list[Column]) -> dict[str, str]:
    """What numbers of several units are in: the one unit of all rows, or that of the row, where a column states it."""
    is_beside = any(column.label == IN for column in columns)  # each row has its own, in words
    shown = any(column.key in UNITS_OF_ROWS for column in columns)
    return dict.fromkeys(("statistic", "amount"), _one_unit(table) or ("in the row's unit" if shown and not is_beside else ""))


def excerpt(table: Table) -> PageTable | None:
    """The ten largest of a long table with its total, to stand where the table would; the whole is an appendix."""
    if not table.spec.is_ranked or len(_currencies(table)) > 1:
        return None
    first = [row for row in table.rows if not row.get("is_total")][:TEN]
    return page_table(table, (*first, *(row for row in table.rows if row.get("is_total"))))


def page_table(table: Table, excerpt: tuple[Row, ...] = ()) -> PageTable:
    """Lay one table out, or an excerpt of it. A single currency moves from its column into the headers, and so does a unit."""
    currencies, unit = _currencies(table), _one_unit(table)
    currency = currencies[0] if len(currencies) == 1 else ""
    scales = {kind: _scale(kind, small, table) for kind, (small, _) in UNITS.items()}
    columns = [
        column
        for column in table.spec.columns
        if not column.is_data_only
        and not (currency and column.key == "billing_currency")
        and not (unit and column.label == IN)
        and not (column.is_dropped_when_empty and all(row[column.key] is None for row in table.rows))
        and not (column.is_dropped_when_zero and not any(row[column.key] for row in table.rows))
    ]
    places = {column.key: _decimals(column, table.rows, scales) for column in columns}
    units = (
        UNITS_OF_KINDS
        | _of_rows(table, columns)
        | {"money": currency or "in its currency", **{k: scale.unit for k, scale in scales.items()}}
    )
    notes: Notes = {}
    rows = excerpt or table.rows[: table.spec.page_rows]
    ids = [table.row_id(row) if table.quarter and not excerpt else "" for row in rows]
    groups = tuple((label, len(list(members))) for label, members in groupby(column.group for column in columns))
    return PageTable(
        table,
        groups if any(label for label, _ in groups) else (),
        tuple(Header(c.label, c.unit or units.get(c.kind, ""), "" if c.is_text else "number") for c in columns),
        tuple(
            _page_row(row, above, columns, places, scales, notes, id)
            for above, row, id in zip((None, *rows), rows, ids, strict=False)
        ),
        tuple((mark, words) for words, mark in notes.items()),
        table.absent or ("" if table.rows else table.spec.empty),
        0 if excerpt else len(table.rows) - len(rows),
        bool(excerpt),
    )
