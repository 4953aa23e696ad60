"""The HTML pages: the templates, and what they are given.

A headline figure has three figures for the eye, its bounds or its exact value, the last quarter, and its change or why there is
none.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from markupsafe import Markup, escape

from reports.model import Figure, Section, Sentence, Table
from reports.page import layout, records, templating, words
from reports.page.names import visible
from reports.page.numbers import EN_DASH, amount, grouped, interval, is_share, scaled, share, significant
from reports.quarter import FiscalYear, Quarter, Window, short_month_name


@dataclass(frozen=True)
class Tile:
    """A headline figure as the page shows it."""

    id: str
    label: str
    number: str
    unit: str
    lines: tuple[str, ...]


def _exact(value: Decimal, unit: str) -> str:
    """The number as far as anyone pays or reports it."""
    return f"{grouped(value, 3 if unit in ('kgCO2e', 'kWh') else 2)} {unit}"


def _value_lines(figure: Figure, value: Decimal) -> list[str]:
    """Bounds or the exact value, and the whole beside it."""
    lines = []
    if figure.low is not None and figure.high is not None:
        lines.append(f"{interval(value, figure.low, figure.high, figure.unit)}, plausible bounds")
    elif not is_share(figure.unit):
        lines.append(f"exactly {_exact(value, figure.unit)}")
    if figure.whole is not None:
        whole = share(figure.whole) if is_share(figure.unit) else _exact(figure.whole, figure.unit)
        lines.append(f"{whole} {figure.whole_label}")
    return lines


def _stem(figure: Figure) -> str:
    """What both answers of a pair are called: location-based and market-based are one mass by two methods."""
    return re.sub("_(location|market)_based", "", figure.id)


def _greatest(figure: Figure, figures: list[Figure]) -> Decimal | None:
    """The greatest value of the pair that a figure is of: both are shown in its unit."""
    values = [abs(one.value) for one in figures if _stem(one) == _stem(figure) and one.value is not None]
    return max(values, default=None)


def _change_lines(figure: Figure, greatest: Decimal | None) -> list[str]:
    """The last quarter and the change, or the reason why none is shown."""
    lines = []
    if figure.prior is not None:
        if figure.prior_low is not None and figure.prior_high is not None:
            lines.append(f"{figure.prior_quarter}: {interval(figure.prior, figure.prior_low, figure.prior_high, figure.unit)}")
        else:
            lines.append(f"{figure.prior_quarter}: {amount(figure.prior, figure.unit, greatest)}")
    if figure.change is not None and is_share(figure.unit):
        lines.append(f"{_signed(figure.change * 100)} percentage points")
    elif figure.change_ratio is not None:
        lines.append(f"{_signed(figure.change_ratio * 100)} % on {figure.prior_quarter}{_by_method(figure)}")
    elif figure.change_reason and figure.value is not None:
        lines.append(f"No change shown: {figure.change_reason}.")
    return lines


def _by_method(figure: Figure) -> str:
    """, of which -12.3 % by another method."""
    if not figure.change_by_method or not figure.prior:
        return ""
    percent = _signed(figure.change_by_method / figure.prior * 100)
    return "" if percent in ("0.0", "-0.0", "0") else f", of which {percent} % by another method"


def _signed(value: Decimal) -> str:
    return f"{'+' if value > 0 else ''}{grouped(value, 1)}"


def tile(figure: Figure, beside: list[Figure] | None = None) -> Tile:
    """The figure, what is around it, the last quarter, and its change or the reason why none is shown.

    `beside` are the figures of the page: the two of a pair have one unit.
    """
    lines, greatest = [], _greatest(figure, beside or [figure])
    if figure.value is None:
        number, unit = EN_DASH, ""
        lines.append(f"Not shown: {figure.absent}.")
        if figure.known:
            lines.append(f"{interval(*figure.known, figure.unit)} {figure.known_label}")
    elif is_share(figure.unit):
        number, unit = grouped(figure.value * 100, 1), "%"
    else:
        scale, unit = scaled(figure.value if greatest is None else greatest, figure.unit)
        number = significant(figure.value / scale)
    lines += _value_lines(figure, figure.value) if figure.value is not None else []
    return Tile(figure.id, figure.label, number, unit, (*lines, *_change_lines(figure, greatest)))


def _sentence(sentence: Sentence) -> list[tuple[str, str]]:
    """The parts of a sentence as text and the place of the figure it is: that of a headline figure, or a cell of a table."""

    def place(id: str) -> str:
        return "/".join(id.split("/")[:3]) if id.split("/")[1] == "glance" else id

    return [(part, "") if isinstance(part, str) else (part.text, place(part.figure_id)) for part in sentence.parts]


def _with_code(text: str) -> Markup:
    """A lead in which `words between backticks` are what someone types."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def _placed(table: Table) -> dict[str, Any]:
    """A table where it belongs, or what is there of one that is an appendix."""
    laid_out = layout.excerpt(table) if table.is_long else layout.page_table(table)
    return {"table": laid_out, "of": table, "appendix": table.code if table.is_long else ""}


def _digests(tables: list[Table]) -> list[tuple[Table, str]]:
    return [(table, records.digest(records.csv_text(table))) for table in tables if not table.absent]


def page(record: dict[str, object], quarter: Quarter, figures: list[Figure], vintage: Table, sections: list[Section]) -> str:
    """The report as one HTML file that loads nothing."""
    environment = templating.environment()
    shown = [table for section in sections for table in section.tables if not table.spec.is_data_only]
    pages = [
        {
            "section": section,
            "lead": _with_code(section.lead),
            "number": n,
            "tables": [_placed(table) for table in section.tables if not table.spec.is_data_only],
            "sentences": [_sentence(sentence) for sentence in section.sentences],
        }
        for n, section in enumerate(sections, 1)
    ]
    answered = [table for section in sections for table in section.tables]
    return environment.get_template("quarterly.html").render(
        record=record,
        sub_r=Markup("<sub>r</sub>"),
        months=" to ".join(short_month_name(month) for month in (quarter.months[0], quarter.months[-1])),
        tiles=[tile(figure, figures) for figure in figures if figure.is_on_first_page],
        figures=figures,
        vintage=None if vintage.absent else layout.page_table(vintage),
        pages=pages,
        appendices=[layout.page_table(table) for table in shown if table.is_long],
        digests=_digests([vintage, *answered]),
        words=words.WORDS,
    )


def comparison(record: dict[str, object], window: Window, sections: list[Section]) -> str:
    """A comparison as one HTML file that loads nothing: the look and the tables of the quarterly report, around two dates."""
    return _of_tables(
        record,
        sections,
        title=f"Trainium and TPU compared, {window.words}",
        kicker="Training runs: Trainium and TPU compared",
        span=f"Runs that ended from {window.words}, days in UTC (to {window.end}, which is not in it)",
        words=window.words,
        command=f"trainledger report compare --from {window.start} --to {window.end}",
        data="comparison.json",
    )


def yearly(record: dict[str, object], year: FiscalYear, sections: list[Section]) -> str:
    """The lists of a fiscal year as one HTML file that loads nothing."""
    return _of_tables(
        record,
        sections,
        title=f"disclosures of {year.words}",
        kicker="Disclosures of a fiscal year",
        span=f"{year.words.replace('f', 'F', 1)}, months in UTC ({record['status']})",
        words=year.words,
        command=f"trainledger report yearly --year {year.name}",
        data="yearly.json",
    )


def _of_tables(record: dict[str, object], sections: list[Section], **named: str) -> str:
    pages = [
        {
            "section": section,
            "lead": _with_code(section.lead),
            "number": n,
            "tables": [layout.page_table(table) for table in section.tables],
        }
        for n, section in enumerate(sections, 1)
    ]
    digests = _digests([table for section in sections for table in section.tables])
    template = templating.environment().get_template("comparison.html")
    return template.render(record=record, pages=pages, digests=digests, **named)
