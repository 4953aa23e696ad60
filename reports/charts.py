"""Charts: from the rows of a table to rectangles in a panel. Every number drawn here is a number of the table below it.

One form serves all: rows of bars from a common zero, stacked, or offset as a waterfall. Panels of one chart share one scale.
Floats are for positions only; what is printed beside a bar is the table's decimal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from reports.numbers import EN_DASH, significant

LABEL_WIDTH, VALUE_WIDTH, ROW_HEIGHT, BAR_HEIGHT = 138, 70, 22, 12


@dataclass(frozen=True)
class Segment:
    """A piece of a bar: its amount and the class that colours it."""

    amount: Decimal
    css: str
    name: str


@dataclass(frozen=True)
class Bar:
    """One row: pieces from `start` on, and the number printed at its end. No pieces and no total: unknown, an en dash."""

    label: str
    segments: tuple[Segment, ...]
    total: Decimal | None
    start: Decimal = Decimal(0)


@dataclass(frozen=True)
class Rect:
    x: str
    y: str
    width: str
    css: str
    title: str


@dataclass(frozen=True)
class Line:
    """A row as it is drawn: label, rectangles, number."""

    label: str
    full_label: str
    y: str
    middle: str
    rects: tuple[Rect, ...]
    number: str
    number_x: str
    is_total: bool


@dataclass(frozen=True)
class Panel:
    """One drawing: an accessible title and description, a zero line, rows."""

    id: str
    title: str
    description: str
    unit: str
    width: int
    height: int
    zero: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Chart:
    """Panels on one scale, with the words of the legend as far as colours need any."""

    title: str
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, str], ...]
    columns: int


def fitted(text: str, room: int = LABEL_WIDTH - 16) -> str:
    """As much of a name as fits beside its bar; the full name is in the drawing's title and in the table."""
    used = 0.0
    for n, letter in enumerate(text):
        used += 9.0 if letter.isupper() or letter in "mw@%—" else 4.0 if letter in "ijlrtf.,:;'|!()[] " else 6.6
        if used > room:
            return f"{text[: max(n - 1, 1)]}…"
    return text


def _at(value: float) -> str:
    return f"{value:.1f}"


def _extent(panels: list[tuple[str, list[Bar]]]) -> tuple[Decimal, Decimal]:
    """The least and greatest position any bar of any panel reaches, zero included."""
    ends = [Decimal(0)]
    for _, bars in panels:
        for bar in bars:
            position = bar.start
            ends.append(position)
            for segment in bar.segments:
                position += segment.amount
                ends.append(position)
    return min(ends), max(ends)


def _line(bar: Bar, n: int, scale: Callable[[Decimal], float], end_of_numbers: float, unit_scale: Decimal) -> Line:
    top = n * ROW_HEIGHT + 5
    position, rects, right = bar.start, [], scale(max(bar.start, Decimal(0)))
    for segment in bar.segments:
        left, edge = sorted((scale(position), scale(position + segment.amount)))
        position += segment.amount
        right = max(right, edge)
        if segment.amount:
            shown = significant(segment.amount / unit_scale)
            rects.append(
                Rect(_at(left), _at(top), _at(max(edge - left, 0.8)), segment.css, f"{bar.label}, {segment.name}: {shown}")
            )
    number = EN_DASH if bar.total is None else significant(bar.total / unit_scale)
    label = fitted(bar.label)
    return Line(
        label,
        bar.label,
        _at(top),
        _at(top + BAR_HEIGHT - 2),
        tuple(rects),
        number,
        _at(min(right + 5, end_of_numbers)),
        bar.segments[:1] != () and bar.segments[0].css == "total",
    )


def chart(
    id: str,
    title: str,
    panels: list[tuple[str, list[Bar]]],
    unit: str,
    legend: tuple[tuple[str, str], ...] = (),
    columns: int = 3,
) -> Chart:
    """Lay the panels out on one scale. Masses above 1,000 kg are printed in tonnes, money as it is."""
    width = 352 if columns == 3 else 450
    low, high = _extent(panels)
    span = float(high - low) or 1.0
    room = width - LABEL_WIDTH - VALUE_WIDTH
    unit_scale = Decimal(1)
    if unit == "kgCO2e" and max(abs(low), abs(high)) >= 1000:
        unit, unit_scale = "tCO2e", Decimal(1000)

    def scale(value: Decimal) -> float:
        return LABEL_WIDTH + float(value - low) / span * room

    drawn = []
    for n, (name, bars) in enumerate(panels):
        lines = tuple(_line(bar, row, scale, width - VALUE_WIDTH + 5, unit_scale) for row, bar in enumerate(bars))
        words = "; ".join(f"{line.full_label}: {line.number}" for line in lines)
        drawn.append(
            Panel(
                f"chart-{id}-{n}",
                f"{title}: {name}" if name else title,
                f"Bars in {unit}. {words}. The numbers are in the table below.",
                unit,
                width,
                len(bars) * ROW_HEIGHT + 6,
                _at(scale(Decimal(0))),
                lines,
            )
        )
    return Chart(title, tuple(drawn), legend, columns)
