"""From a table's values to the words in its cells.

Units stand in headers, each column has one number of decimals, null is a dash with a footnote.
"""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby

from reports.model import Column, Figure, Table
from reports.numbers import EN_DASH, grouped, significant
from reports.publication import Row
from reports.quarter import short_month_name

TONNE = Decimal(1000)
NOTE_MARKS = "abcdefghijklmnop"


@dataclass(frozen=True)
class Cell:
    text: str
    css: str
    mark: str = ""
    title: str = ""


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


@dataclass(frozen=True)
class PageTable:
    """A table as the page shows it."""

    id: str
    code: str
    title: str
    method: str
    groups: tuple[Group, ...]
    headers: tuple[Header, ...]
    rows: tuple[PageRow, ...]
    notes: tuple[tuple[str, str], ...]
    absent: str
    hidden_rows: int
    file: str

    @property
    def is_narrow(self) -> bool:
        """Few short columns: the page does not stretch it, and may set it beside its chart."""
        return len(self.headers) <= 5 and all(len(cell.text) <= 70 for row in self.rows for cell in row.cells)


@dataclass(frozen=True)
class Tile:
    """A headline figure as the page shows it."""

    id: str
    label: str
    number: str
    unit: str
    lines: tuple[str, ...]


def _scale(columns: tuple[Column, ...], rows: tuple[Row, ...]) -> tuple[Decimal, str]:
    """Tonnes for the whole table once any mass in it reaches 1,000 kg, so that its columns compare."""
    masses = [abs(row[column.key]) for column in columns if column.kind == "mass" for row in rows if row[column.key] is not None]
    return (TONNE, "tCO2e") if masses and max(masses) >= TONNE else (Decimal(1), "kgCO2e")


def _decimals(column: Column, values: list[Decimal]) -> int:
    """Enough places for the column's longest value, at most six: 21.50 and 1.34375 in one column get five."""
    if column.kind != "number":
        return {"money": 2, "amount": 3, "mass": 3, "energy": 1}.get(column.kind, 0)
    return min(6, max((max(0, -value.normalize().as_tuple().exponent) for value in values), default=0))


def _currency(table: Table) -> str:
    """The only currency of the table, or nothing when there are several."""
    currencies = (
        {str(row["billing_currency"]) for row in table.rows}
        if any(c.key == "billing_currency" for c in table.spec.columns)
        else set()
    )
    return currencies.pop() if len(currencies) == 1 else ""


def _text(column: Column, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return short_month_name(value) if column.kind == "month" else value.isoformat()
    text = str(value)
    if column.key == "source":  # a source is named on the page, never linked
        text = text.replace("https://", "").replace("http://", "")
    return text[:12] if column.kind == "digest" else text.replace("_", " ") if column.kind == "state" else text


def _number(column: Column, value: object, places: int, mass_scale: Decimal) -> str:
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if number == 0:  # a true zero is bare: 0.000 is something that rounds to nothing
        return "0"
    if column.kind == "mass":
        number /= mass_scale
    if column.kind == "ratio":
        return grouped(number * 100, 1)
    return grouped(number, places)


class _Notes:
    """Footnotes in the order they are first needed; the same words share a mark."""

    def __init__(self) -> None:
        self.marks: dict[str, str] = {}

    def mark(self, words: str) -> str:
        return self.marks.setdefault(words, NOTE_MARKS[len(self.marks) % len(NOTE_MARKS)])


def _cell(column: Column, row: Row, places: int, mass_scale: Decimal, notes: _Notes) -> Cell:
    value, css = row[column.key], f"kind-{column.kind}" + ("" if column.is_text or column.kind == "digest" else " number")
    if value is None and row.get("is_total") and column.is_text:
        return Cell("", css)
    if value is None:
        return Cell(EN_DASH, css + " unknown", notes.mark(column.note))
    if column.kind == "flag":
        return Cell(_text(column, value), css + (" good" if value else " bad"))
    if column.kind == "state":
        return Cell(_text(column, value), f"{css} is-{value}" if str(value).isidentifier() else css)
    if column.is_text or column.kind == "digest":
        text = _text(column, value)
        return Cell(
            text,
            f"{css} short" if len(text) <= (24 if column.kind == "code" else 14) else css,
            title=str(value) if column.kind == "digest" else "",
        )
    return Cell(_number(column, value, places, mass_scale), css)


def _cells(row: Row, columns: list[Column], places: dict[str, int], mass_scale: Decimal, notes: _Notes) -> PageRow:
    cells = [_cell(column, row, places[column.key], mass_scale, notes) for column in columns]
    is_total = bool(row.get("is_total"))
    if is_total:
        empty = next((n for n, cell in enumerate(cells) if not cell.text), None)
        if empty is not None:
            cells[empty] = Cell("Total" if empty == 0 else "total", cells[empty].css)
    return PageRow(tuple(cells), is_total)


def page_table(table: Table) -> PageTable:
    """Lay one table out. A single currency moves from its column into the headers."""
    currency, (mass_scale, mass_unit) = _currency(table), _scale(table.spec.columns, table.rows)
    columns = [
        column
        for column in table.spec.columns
        if not (currency and column.key == "billing_currency")
        and not (column.is_dropped_when_empty and all(row[column.key] is None for row in table.rows))
    ]
    values = {column.key: [row[column.key] for row in table.rows if isinstance(row[column.key], Decimal)] for column in columns}
    places = {column.key: _decimals(column, values[column.key]) for column in columns}
    units = {"money": currency or "in its currency", "mass": mass_unit, "energy": "kWh", "ratio": "%"}
    notes = _Notes()
    shown = tuple(_cells(row, columns, places, mass_scale, notes) for row in table.rows[: table.spec.page_rows])
    headers = tuple(
        Header(c.label, c.unit or units.get(c.kind, ""), "number" if not c.is_text and c.kind != "digest" else "")
        for c in columns
    )
    absent = table.absent or ("" if table.rows else table.spec.empty)
    groups = tuple(Group(label, len(list(members))) for label, members in groupby(c.group for c in columns))
    groups = groups if any(group.label for group in groups) else ()
    return PageTable(
        table.id,
        table.code,
        table.spec.title,
        table.spec.method,
        groups,
        headers,
        shown,
        tuple((mark, words) for words, mark in notes.marks.items()),
        absent,
        len(table.rows) - len(shown),
        f"tables/{table.id}.csv",
    )


def _amount(value: Decimal, unit: str) -> tuple[str, str, str]:
    """Three figures for the eye, the unit, and the number as far as anyone pays or reports it."""
    if unit == "1":
        return grouped(value * 100, 1), "%", f"{grouped(value * 100, 2)} %"
    if unit in ("kgCO2e", "kWh"):
        scale, shown = (TONNE, {"kgCO2e": "tCO2e", "kWh": "MWh"}[unit]) if abs(value) >= TONNE else (Decimal(1), unit)
        return significant(value / scale), shown, f"{grouped(value, 3)} {unit}"
    return significant(value), unit, f"{grouped(value, 2)} {unit}"


def tile(figure: Figure) -> Tile:
    """The figure, its exact value, the whole beside it, and its change or the reason why none is shown."""
    lines = []
    if figure.value is None:
        number, unit = EN_DASH, ""
        lines.append(f"Not shown: {figure.absent}.")
    else:
        number, unit, exact = _amount(figure.value, figure.unit)
        if figure.unit != "1":
            lines.append(f"exactly {exact}")
        if figure.whole is not None:
            lines.append(f"{_amount(figure.whole, figure.unit)[2]} {figure.whole_label}")
    if figure.value is None:
        return Tile(figure.id, figure.label, number, unit, tuple(lines))
    if figure.change_ratio is not None:
        sign = "+" if figure.change_ratio > 0 else ""
        lines.append(f"{sign}{grouped(figure.change_ratio * 100, 1)} % on the last quarter")
    elif figure.change_reason:
        lines.append(f"No change shown: {figure.change_reason}.")
    return Tile(figure.id, figure.label, number, unit, tuple(lines))
