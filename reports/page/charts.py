"""Charts: from the rows of a table to marks in a panel. Every number drawn here is a number of the table below it.

One form serves most: rows of bars from a common zero, stacked, or offset as a waterfall; what is modelled is hatched and has a
line from its low to its high bound. Panels of one chart share one scale. Floats are for positions only; what is printed beside a
bar is the table's decimal. Ratios on a log axis are dots.py's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, pairwise
from unicodedata import east_asian_width

from reports.page.names import shown
from reports.page.numbers import EN_DASH, scaled, significant

LABEL_WIDTH, VALUE_WIDTH, ROW_HEIGHT = 150, 70, 22
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

    @property
    def edges(self) -> list[Decimal]:
        """Where each piece begins, and where the last one ends."""
        return list(accumulate((segment.amount for segment in self.segments), initial=self.start))

    @property
    def reach(self) -> tuple[Decimal, Decimal]:
        """The least and the greatest position of pieces and bounds, zero included."""
        ends = (Decimal(0), *self.edges, *(self.bounds or ()))
        return min(ends), max(ends)


@dataclass(frozen=True)
class Mark:
    """A rectangle, a dot, or a tick of the log axis: `title` is its words."""

    x: str
    y: str
    title: str
    width: str = ""
    css: str = ""
    is_modelled: bool = False


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row as it is drawn: label, marks, bounds and median as far as they are known, number."""

    label: str
    y: float
    marks: tuple[Mark, ...]
    number: str
    number_x: str
    bounds: tuple[str, str] | None
    median: str = ""
    is_total: bool = False
    is_modelled: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One drawing: an accessible title and description, rows, and a zero line or the ticks of a log axis around `one`."""

    id: str
    title: str
    description: str
    unit: str
    width: int
    height: int
    lines: tuple[Line, ...]
    zero: str = ""
    ticks: tuple[Mark, ...] = ()
    axis_y: int = 0
    one: float = 0.0

    @property
    def has_modelled(self) -> bool:
        return any(mark.is_modelled for line in self.lines for mark in line.marks)


@dataclass(frozen=True)
class Chart:
    """Panels on one scale, with the words of the legend as far as colours need any. `form` names the drawing: bars or dots."""

    title: str
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, str], ...]
    columns: int
    form: str = "bars"


def fitted(text: str) -> str:
    """As much of a name as fits beside its bar; the full name is in the drawing's title and in the table."""
    used, text = 0.0, shown(text)
    for n, letter in enumerate(text):
        used += (
            12.0
            if east_asian_width(letter) in "WF"
            else 9.0
            if letter.isupper() or letter in "mw@%—"
            else 4.0
            if letter in "ijlrtf.,:;'|!()[] "
            else 6.6
        )
        if used > LABEL_WIDTH - 16:
            return f"{text[: max(n - 1, 1)]}…"
    return text


def bar(
    label: str,
    value: Decimal | None,
    css: str,
    name: str = "",
    *,
    is_modelled: bool = False,
    start: Decimal = Decimal(0),
    bounds: tuple[Decimal, Decimal] | None = None,
) -> Bar:
    """A bar of one piece; an en dash where its value is not known."""
    if value is None:
        return Bar(label, (), None)
    return Bar(label, (Segment(value, css, name or label, is_modelled),), value, start, bounds)


def _at(value: float) -> str:
    return f"{value:.1f}"


def _bar_line(bar: Bar, n: int, scale: Callable[[Decimal], float], end_of_numbers: float, unit_scale: Decimal) -> Line:
    top, marks = float(n * ROW_HEIGHT + 5), []
    for segment, ends in zip(bar.segments, pairwise(bar.edges), strict=True):
        left, right = sorted(map(scale, ends))
        if segment.amount:
            title = f"{bar.label}, {segment.name}: {significant(segment.amount / unit_scale)}"
            width = _at(max(right - left, 0.8))
            marks.append(Mark(_at(left), _at(top), title, width, segment.css, segment.is_modelled))
    number = EN_DASH if bar.total is None else significant(bar.total / unit_scale)
    if bar.bounds:
        number += " ({}-{})".format(*(significant(end / unit_scale) for end in bar.bounds))
    return Line(
        label=bar.label,
        y=top,
        marks=tuple(marks),
        number=number,
        number_x=_at(min(scale(bar.reach[1]) + 5, end_of_numbers)),
        bounds=(_at(scale(bar.bounds[0])), _at(scale(bar.bounds[1]))) if bar.bounds else None,
        is_total=any(segment.css == "total" for segment in bar.segments),
    )


def chart(
    id: str,
    title: str,
    panels: list[tuple[str, list[Bar]]],
    unit: str,
    legend: tuple[tuple[str, str], ...] = (),
    columns: int = 2,
) -> Chart:
    """Lay bars out in panels on one scale. Masses above 1,000 kg are printed in tonnes, energy in MWh, money as it is."""
    width = 352 if columns == 3 else 450
    value_width = BOUNDED_WIDTH if any(bar.bounds for _, bars in panels for bar in bars) else VALUE_WIDTH
    ends = [Decimal(0), *(end for _, bars in panels for bar in bars for end in bar.reach)]
    low, high = min(ends), max(ends)
    span = float(high - low) or 1.0
    room = width - LABEL_WIDTH - value_width
    unit_scale, unit = scaled(max(abs(low), abs(high)), unit)

    def scale(value: Decimal) -> float:
        return LABEL_WIDTH + float(value - low) / span * room

    drawn = []
    for n, (name, bars) in enumerate(panels):
        lines = tuple(_bar_line(bar, row, scale, width - value_width + 5, unit_scale) for row, bar in enumerate(bars))
        words = "; ".join(f"{line.label}: {line.number}" for line in lines)
        drawn.append(
            Panel(
                id=f"chart-{id}-{n}",
                title=f"{title}: {name}" if name else title,
                description=f"Bars in {unit}. {words}. The numbers are in the table below.",
                unit=unit,
                width=width,
                height=len(bars) * ROW_HEIGHT + 6,
                lines=lines,
                zero=_at(scale(Decimal(0))),
            )
        )
    return Chart(title, tuple(drawn), legend, columns)
