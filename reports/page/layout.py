"""From a table's values to the words in its cells.

Units stand in headers, each column has one number of decimals, null is a dash with a footnote.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby

from reports.model import Column, Figure, Table
from reports.page.numbers import EN_DASH, grouped, significant
from reports.publication import Row
from reports.quarter import short_month_name

TONNE = Decimal(1000)  # of kilograms; as many kilowatt-hours are a megawatt-hour
UNITS = {"mass": ("kgCO2e", "tCO2e"), "energy": ("kWh", "MWh")}
NOTE_MARKS = "abcdefghijklmnop"


@dataclass(frozen=True)
class Cell:
    text: str
    css: str
    mark: str = ""
    title: str = ""
    is_repeated: bool = False  # the name of the row above: read aloud, not printed again


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


@dataclass(frozen=True)
class Scale:
    """What a stored kilogram or kilowatt-hour is divided by on this page's table, and the unit it is then in."""

    divisor: Decimal
    unit: str
    greatest: Decimal


def _scales(columns: tuple[Column, ...], rows: tuple[Row, ...]) -> dict[str, Scale]:
    """Tonnes and MWh for the whole table once anything in it reaches 1,000 kg or kWh, so that its columns compare."""
    scales = {}
    for kind, (small, large) in UNITS.items():
        found = [row[column.key] for column in columns if column.kind == kind for row in rows]
        values = [abs(value) for value in found if value is not None]
        greatest = max(values, default=Decimal(0))
        divisor, unit = (TONNE, large) if greatest >= TONNE else (Decimal(1), small)
        scales[kind] = Scale(divisor, unit, greatest / divisor)
    return scales


def _decimals(column: Column, values: list[Decimal], scales: dict[str, Scale]) -> int:
    """Enough places for the column's longest value, at most six: 21.50 and 1.34375 in one column get five.

    Energy is modelled: as many places as leave about three figures of the table's greatest.
    """
    if column.kind == "energy":
        greatest = scales["energy"].greatest
        return 1 if greatest >= 100 else 2 if greatest >= 10 else 3
    if column.kind != "number":
        return {"money": 2, "amount": 3, "mass": 3, "hours": 1, "ratio_of": 3}.get(column.kind, 0)
    return min(6, max((max(0, -int(value.normalize().as_tuple().exponent)) for value in values), default=0))


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


def _number(column: Column, value: Decimal | float, places: int, scales: dict[str, Scale]) -> str:
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if number == 0:  # a true zero is bare: 0.000 is something that rounds to nothing
        return "0"
    if column.kind in scales:
        number /= scales[column.kind].divisor
    if column.kind == "ratio":  # all but all is not all
        return ">99.9" if Decimal("0.9995") <= number < 1 else grouped(number * 100, 1)
    if column.kind == "statistic":  # rows of several units: as many figures, not as many places
        return significant(number)
    return str(number) if column.kind == "year" else grouped(number, places)


class _Notes:
    """Footnotes in the order they are first needed; the same words share a mark."""

    def __init__(self) -> None:
        self.marks: dict[str, str] = {}

    def mark(self, words: str) -> str:
        return self.marks.setdefault(words, NOTE_MARKS[len(self.marks) % len(NOTE_MARKS)])


def _length(column: Column, text: str) -> str:
    """Short names are never broken; phrases and sentences get room before numbers do."""
    if len(text) <= (24 if column.kind == "code" else 14):
        return " short"
    return "" if column.kind != "text" else " long" if len(text) > 48 else " phrase" if len(text) > 24 else ""


def _cell(column: Column, row: Row, places: int, scales: dict[str, Scale], notes: _Notes) -> Cell:
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
        return Cell(text, f"{css}{_length(column, text)}", title=str(value) if column.kind == "digest" else "")
    number = _number(column, value, places, scales)
    ends = [row[key] for key in column.bounds]
    if not ends or None in ends:
        return Cell(number, css)
    low, high = (_number(column, end, places, scales) for end in ends)
    return Cell(f"{number} ({low}-{high})", f"{css} bounded")


def _cells(
    row: Row, above: Row | None, columns: list[Column], places: dict[str, int], scales: dict[str, Scale], notes: _Notes
) -> PageRow:
    cells = [_cell(column, row, places[column.key], scales, notes) for column in columns]
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
    currency, scales = _currency(table), _scales(table.spec.columns, table.rows)
    columns = [
        column
        for column in table.spec.columns
        if not column.is_data_only
        and not (currency and column.key == "billing_currency")
        and not (column.is_dropped_when_empty and all(row[column.key] is None for row in table.rows))
        and not (column.is_dropped_when_zero and not any(row[column.key] for row in table.rows))
    ]
    values = {column.key: [row[column.key] for row in table.rows if isinstance(row[column.key], Decimal)] for column in columns}
    places = {column.key: _decimals(column, values[column.key], scales) for column in columns}
    units = {"money": currency or "in its currency", "ratio": "%", "hours": "h", **{k: scale.unit for k, scale in scales.items()}}
    notes = _Notes()
    rows = table.rows[: table.spec.page_rows]
    shown = tuple(_cells(row, above, columns, places, scales, notes) for above, row in zip((None, *rows), rows, strict=False))
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


def interval(value: Decimal, low: Decimal, high: Decimal, unit: str) -> str:
    """812 (640-1 020) MWh: one unit for the three, chosen by the value."""
    scale, shown = (TONNE, dict(UNITS.values())[unit]) if abs(value) >= TONNE else (Decimal(1), unit)
    return f"{significant(value / scale)} ({significant(low / scale)}-{significant(high / scale)}) {shown}"


def tile(figure: Figure) -> Tile:
    """The figure, its exact value or bounds, the whole beside it, and its change or the reason why none is shown."""
    lines = []
    if figure.value is None:
        number, unit = EN_DASH, ""
        lines.append(f"Not shown: {figure.absent}.")
        if figure.known:
            lines.append(f"{interval(*figure.known, figure.unit)} {figure.known_label}")
    else:
        number, unit, exact = _amount(figure.value, figure.unit)
        if figure.low is not None and figure.high is not None:
            lines.append(f"{interval(figure.value, figure.low, figure.high, figure.unit)}, plausible bounds")
        elif figure.unit != "1":
            lines.append(f"exactly {exact}")
        if figure.whole is not None:
            lines.append(f"{_amount(figure.whole, figure.unit)[2]} {figure.whole_label}")
    if figure.remark:
        lines.append(f"{figure.remark}.")
    if figure.value is None:
        return Tile(figure.id, figure.label, number, unit, tuple(lines))
    if figure.change_ratio is not None:
        sign = "+" if figure.change_ratio > 0 else ""
        lines.append(f"{sign}{grouped(figure.change_ratio * 100, 1)} % on the last quarter")
    elif figure.change_reason:
        lines.append(f"No change shown: {figure.change_reason}.")
    return Tile(figure.id, figure.label, number, unit, tuple(lines))
