"""From one value to the words in its cell: unit, decimals, footnote, and how much room it needs."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from reports.model import Column
from reports.page.numbers import EN_DASH, UNITS, grouped, scaled, significant
from reports.publication import Row
from reports.quarter import short_month_name

NOTE_MARKS = "abcdefghijklmnop"


@dataclass(frozen=True)
class Cell:
    text: str
    css: str
    mark: str = ""
    title: str = ""
    is_repeated: bool = False  # the name of the row above: read aloud, not printed again


@dataclass(frozen=True)
class Scale:
    """What a stored kilogram or kilowatt-hour is divided by on this page's table, and the unit it is then in."""

    divisor: Decimal
    unit: str
    greatest: Decimal


def scales_of(columns: tuple[Column, ...], rows: tuple[Row, ...]) -> dict[str, Scale]:
    """Tonnes and MWh for the whole table once anything in it reaches 1,000 kg or kWh, so that its columns compare."""
    scales = {}
    for kind, (small, _) in UNITS.items():
        values = (row[column.key] for column in columns if column.kind == kind for row in rows)
        greatest = max((abs(value) for value in values if value is not None), default=Decimal(0))
        divisor, unit = scaled(greatest, small)
        scales[kind] = Scale(divisor, unit, greatest / divisor)
    return scales


def decimals(column: Column, values: list[Decimal], scales: dict[str, Scale]) -> int:
    """Enough places for the column's longest value, at most six: 21.50 and 1.34375 in one column get five.

    Energy is modelled: as many places as leave about three figures of the table's greatest.
    """
    if column.kind == "energy":
        greatest = scales["energy"].greatest
        return 1 if greatest >= 100 else 2 if greatest >= 10 else 3
    if column.kind != "number":
        return {"money": 2, "amount": 3, "mass": 3, "hours": 1, "ratio_of": 3}.get(column.kind, 0)
    return min(6, max((max(0, -int(value.normalize().as_tuple().exponent)) for value in values), default=0))


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


class Notes:
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


def cell_of(column: Column, row: Row, places: int, scales: dict[str, Scale], notes: Notes) -> Cell:
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
