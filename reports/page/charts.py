"""Charts: from the rows of a table to rectangles in a panel. Every number drawn here is a number of the table below it.

One form serves most: rows of bars from a common zero, stacked, or offset as a waterfall; what is modelled is hatched and has a
line from its low to its high bound. Panels of one chart share one scale. Floats are for positions only; what is printed beside a
bar is the table's decimal. Ratios on a log axis are dots.py's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from reports.page.numbers import EN_DASH, scaled, significant

LABEL_WIDTH, VALUE_WIDTH, ROW_HEIGHT, BAR_HEIGHT = 138, 70, 22, 12
BOUNDED_WIDTH = 118  # of 812 (640-1 020)


@dataclass(frozen=True)
class Segment:
    """A piece of a bar: its amount and the class that colours it."""

    amount: Decimal
    css: str
    name: str
    is_modelled: bool = False


@dataclass(frozen=True)
class Bar:
    """One row: pieces from `start` on, and the number printed at its end. No pieces and no total: unknown, an en dash."""

    label: str
    segments: tuple[Segment, ...]
    total: Decimal | None
    start: Decimal = Decimal(0)
    bounds: tuple[Decimal, Decimal] | None = None


@dataclass(frozen=True)
class Rect:
    x: str
    y: str
    width: str
    css: str
    title: str
    is_modelled: bool


@dataclass(frozen=True)
class Line:
    """A row as it is drawn: label, rectangles, bounds, number."""

    label: str
    full_label: str
    y: str
    middle: str
    rects: tuple[Rect, ...]
    number: str
    number_x: str
    is_total: bool
    bounds: tuple[str, str] | None


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

    @property
    def has_modelled(self) -> bool:
        return any(rect.is_modelled for line in self.lines for rect in line.rects)


@dataclass(frozen=True)
class Chart:
    """Panels on one scale, with the words of the legend as far as colours need any. `form` names the drawing: bars or dots."""

    title: str
    panels: Sequence[object]  # what the template of `form` draws
    legend: tuple[tuple[str, str], ...]
    columns: int
    form: str = "bars"


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
            ends += [position, *(bar.bounds or ())]
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
            title = f"{bar.label}, {segment.name}: {shown}"
            rects.append(Rect(_at(left), _at(top), _at(max(edge - left, 0.8)), segment.css, title, segment.is_modelled))
    bounds = None
    number = EN_DASH if bar.total is None else significant(bar.total / unit_scale)
    if bar.bounds and bar.total is not None:
        low, high = bar.bounds
        bounds = (_at(scale(low)), _at(scale(high)))
        right = max(right, scale(high))
        number += f" ({significant(low / unit_scale)}-{significant(high / unit_scale)})"
    return Line(
        fitted(bar.label),
        bar.label,
        _at(top),
        _at(top + BAR_HEIGHT - 2),
        tuple(rects),
        number,
        _at(min(right + 5, end_of_numbers)),
        bar.segments[:1] != () and bar.segments[0].css == "total",
        bounds,
    )


def chart(
    id: str,
    title: str,
    panels: list[tuple[str, list[Bar]]],
    unit: str,
    legend: tuple[tuple[str, str], ...] = (),
    columns: int = 3,
) -> Chart:
    """Lay the panels out on one scale. Masses above 1,000 kg are printed in tonnes, energy in MWh, money as it is."""
    width = 352 if columns == 3 else 450
    value_width = BOUNDED_WIDTH if any(bar.bounds for _, bars in panels for bar in bars) else VALUE_WIDTH
    low, high = _extent(panels)
    span = float(high - low) or 1.0
    room = width - LABEL_WIDTH - value_width
    unit_scale, unit = scaled(max(abs(low), abs(high)), unit)

    def scale(value: Decimal) -> float:
        return LABEL_WIDTH + float(value - low) / span * room

    drawn = []
    for n, (name, bars) in enumerate(panels):
        lines = tuple(_line(bar, row, scale, width - value_width + 5, unit_scale) for row, bar in enumerate(bars))
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
