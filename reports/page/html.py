"""The HTML page: the templates, and what they are given.

A headline figure has three figures for the eye, its bounds or its exact value, and its change.
"""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import jinja2
from markupsafe import Markup

from reports.model import Figure, Section, Table
from reports.page import layout, records, words
from reports.page.names import visible
from reports.page.numbers import EN_DASH, grouped, scaled, significant
from reports.quarter import Quarter, short_month_name


@dataclass(frozen=True)
class Tile:
    """A headline figure as the page shows it."""

    id: str
    label: str
    number: str
    unit: str
    lines: tuple[str, ...]


def _amount(value: Decimal, unit: str) -> tuple[str, str, str]:
    """Three figures for the eye, the unit, and the number as far as anyone pays or reports it."""
    if unit == "1":
        return grouped(value * 100, 1), "%", f"{grouped(value * 100, 2)} %"
    if unit in ("kgCO2e", "kWh"):
        scale, shown = scaled(value, unit)
        return significant(value / scale), shown, f"{grouped(value, 3)} {unit}"
    return significant(value), unit, f"{grouped(value, 2)} {unit}"


def interval(value: Decimal, low: Decimal, high: Decimal, unit: str) -> str:
    """812 (640-1 020) MWh: one unit for the three, chosen by the value."""
    scale, shown = scaled(value, unit)
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
    if figure.change_ratio is not None:
        lines.append(f"{'+' if figure.change_ratio > 0 else ''}{grouped(figure.change_ratio * 100, 1)} % on the last quarter")
    elif figure.change_reason and figure.value is not None:
        lines.append(f"No change shown: {figure.change_reason}.")
    return Tile(figure.id, figure.label, number, unit, tuple(lines))


def page(record: dict[str, object], quarter: Quarter, figures: list[Figure], vintage: Table, sections: list[Section]) -> str:
    """The report as one HTML file that loads nothing."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent / "templates"),
        autoescape=True,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pages = [
        {"section": section, "number": n, "tables": [layout.page_table(table) for table in section.tables]}
        for n, section in enumerate(sections, 1)
    ]
    shown = [table for section in sections for table in section.tables]
    digests = [(table, records.digest(records.csv_text(table))) for table in (vintage, *shown) if not table.absent]
    return environment.get_template("quarterly.html").render(
        record=record,
        sub_r=Markup("<sub>r</sub>"),
        months=" to ".join(short_month_name(month) for month in (quarter.months[0], quarter.months[-1])),
        tiles=[tile(figure) for figure in figures],
        figures=figures,
        vintage=layout.page_table(vintage),
        pages=pages,
        digests=digests,
        methods=words.METHODS,
        sensitivities=words.SENSITIVITIES,
        open_questions=words.OPEN_QUESTIONS,
    )
