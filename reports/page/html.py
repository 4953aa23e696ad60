"""The HTML pages: the templates, and what they are given.

A headline figure has three figures for the eye, its bounds or its exact value, the last quarter, and its change or why there is
none.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from markupsafe import Markup, escape

from reports.model import ROWS_IN_TEXT, VERDICTS_FOR_THE_BOARD, Figure, Section, Sentence, Table
from reports.page import layout, records, templating, words
from reports.page.charts import Chart
from reports.page.names import visible
from reports.page.numbers import EN_DASH, amount, grouped, interval, is_share, scaled, share, significant
from reports.quarter import FiscalYear, Quarter, Window, short_month_name

SCRIPT = Path(__file__).with_name("templates").joinpath("search.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Tile:
    """A headline figure as the page shows it."""

    id: str
    label: str
    number: str
    unit: str
    lines: tuple[str, ...]
    part: tuple[str, str] | None = None  # behind the first line: the figure that the number is the whole of, and its own line


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


def _change_lines(figure: Figure, greatest: Decimal | None) -> list[str]:
    """The last quarter and the change, or the reason why none is shown."""
    lines = []
    then = f"{figure.prior_quarter}, training runs" if figure.all_label else figure.prior_quarter
    if figure.prior is not None:
        if figure.prior_low is not None and figure.prior_high is not None:
            lines.append(f"{then}: {interval(figure.prior, figure.prior_low, figure.prior_high, figure.unit)}")
        else:
            lines.append(f"{then}: {amount(figure.prior, figure.unit, greatest)}")
    if figure.change is not None and is_share(figure.unit):
        lines.append(f"{_signed(figure.change * 100)} percentage points")
    elif figure.change_ratio is not None:
        lines.append(f"{_signed(figure.change_ratio * 100)} % on {figure.prior_quarter}{_by_method(figure)}")
    elif figure.change_reason and figure.value is not None:
        lines.append(f"No {'percentage' if figure.change is not None else 'change'} shown: {figure.change_reason}.")
    return lines


def _by_method(figure: Figure) -> str:
    """, of which -12.3 % by another method."""
    if not figure.change_by_method or not figure.prior:
        return ""
    percent = _signed(figure.change_by_method / figure.prior * 100)
    return "" if percent in ("0.0", "-0.0", "0") else f", of which {percent} % by another method"


def _signed(value: Decimal) -> str:
    return f"{'+' if value > 0 else ''}{grouped(value, 1)}"


def tile(figure: Figure, greatest: Decimal | None = None) -> Tile:
    """The figure, what is around it, the last quarter, and its change or the reason why none is shown.

    `greatest`: the greatest of those with its unit, as two figures that stand side by side have one unit.
    """
    lines = []
    if figure.all_label and figure.whole is not None:
        return _of_all(figure, figure.whole, greatest)
    label = figure.all_label or figure.label
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
    return Tile(figure.id, label, number, unit, (*lines, *_change_lines(figure, greatest)))


def _of_all(figure: Figure, whole: Decimal, greatest: Decimal | None) -> Tile:
    """What is filed is of all use: it is in front, with the figure itself as the part that training runs have."""
    scale, unit = scaled(whole if greatest is None else greatest, figure.unit)
    value = figure.value or Decimal(0)
    part = f"of which training runs {amount(value, figure.unit, greatest)}, exactly {_exact(value, figure.unit)}"
    lines = (f"exactly {_exact(whole, figure.unit)}", *_change_lines(figure, greatest))
    return Tile(f"{figure.id}/whole", figure.all_label, significant(whole / scale), unit, lines, (figure.id, part))


def _tiles(figures: list[Figure]) -> list[Tile]:
    shown = [(figure.unit, figure.whole if figure.all_label else figure.value) for figure in figures]
    values = [(unit, value) for unit, value in shown if value is not None]
    greatest = {unit: max(abs(value) for other, value in values if other == unit) for unit, _ in values}
    return [tile(figure, greatest.get(figure.unit)) for figure in figures]


def _sentence(sentence: Sentence) -> list[tuple[str, str]]:
    """The parts of a sentence as text and the place of the figure it is: that of a headline figure, or a cell of a table."""

    def place(id: str) -> str:
        return "/".join(id.split("/")[:3]) if id.split("/")[1] == "glance" else id

    return [(part, "") if isinstance(part, str) else (part.text, place(part.figure_id)) for part in sentence.parts]


def _sentences(section: Section) -> list[list[Any]]:
    """The verdicts of workloads, and the other sentences."""
    others = [sentence for sentence in section.sentences if sentence not in section.verdicts]
    return [[_sentence(sentence) for sentence in sentences] for sentences in (section.verdicts, others)]


def _with_code(text: str) -> Markup:
    """A lead in which `words between backticks` are what someone types."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def _placed(table: Table) -> dict[str, Any]:
    """A table where it belongs, or what is there of one that is an appendix."""
    laid_out = layout.excerpt(table) if table.is_long else layout.page_table(table)
    return {"table": laid_out, "of": table, "appendix": table.code if table.is_long else ""}


def _groups(section: Section, tables: list[Table]) -> Iterator[dict[str, Any]]:
    """A drawing with its table and those that follow: what a screen unfolds at once. Open are those that a board reads."""
    groups: list[list[Table]] = []
    for table in tables:
        is_first = table.spec.is_for_the_board or table.id in section.charts or not groups
        if is_first or groups[-1][0].spec.is_for_the_board:
            groups.append([])
        groups[-1].append(table)
    for first, *others in groups:
        charts = cast("Sequence[Chart]", section.charts.get(first.id, ()))
        is_open = first.spec.is_for_the_board
        placed = [_placed(table) for table in (first, *others)]
        yield {
            "charts": charts,
            "tables": placed,
            "titles": [f"{table.spec.title} {table.code}" for table in (first, *others)],
            "is_open": is_open,
            "is_half": placed[0]["table"].is_half if is_open else [len(chart.panels) for chart in charts] == [1],
        }


def _digests(tables: list[Table]) -> list[tuple[Table, str]]:
    return [(table, records.digest(records.csv_text(table))) for table in tables if not table.absent]


def _months(quarter: Quarter) -> str:
    return " to ".join(short_month_name(month) for month in (quarter.months[0], quarter.months[-1]))


def page(record: dict[str, object], quarter: Quarter, figures: list[Figure], vintage: Table, sections: list[Section]) -> str:
    """The report as one HTML file that loads nothing."""
    environment = templating.environment()
    shown = {section.id: [table for table in section.tables if not table.spec.is_data_only] for section in sections}
    if "quality" in shown and not vintage.absent:
        shown["quality"].insert(0, vintage)
    pages = [
        {
            "section": section,
            "lead": _with_code(section.lead),
            "number": n,
            "groups": list(_groups(section, shown[section.id])),
            **dict(zip(("verdicts", "sentences"), _sentences(section), strict=True)),
        }
        for n, section in enumerate(sections, 1)
    ]
    answered = [table for section in sections for table in section.tables]
    return environment.get_template("quarterly.html").render(
        record=record,
        sub_r=Markup("<sub>r</sub>"),
        months=_months(quarter),
        tiles=_tiles([figure for figure in figures if figure.is_on_first_page]),
        figures=figures,
        pages=pages,
        appendices=[layout.page_table(table) for tables in shown.values() for table in tables if table.is_long],
        rows_in_text=ROWS_IN_TEXT,
        script=Markup(SCRIPT),
        script_digest=b64encode(sha256(SCRIPT.encode()).digest()).decode(),
        digests=_digests([vintage, *answered]),
        words=words.WORDS,
    )


def sheets(record: dict[str, Any], quarter: Quarter, sections: list[Section]) -> str:
    """The two pages for the board, as HTML that is a file nowhere."""
    verdicts, sentences = _sentences(sections[0])
    tables = [table for section in sections for table in section.tables]
    return (
        templating.environment()
        .get_template("board.html")
        .render(
            record=record,
            board=record["board"],
            months=_months(quarter),
            decided=verdicts[:VERDICTS_FOR_THE_BOARD],
            sentences=sentences,
            tables=[layout.page_table(table) for table in tables if table.spec.is_for_the_board],
            people=next((section.lead for section in sections if section.id == "restatements"), ""),
        )
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
        span=f"{year.words.replace('f', 'F', 1)}, months in UTC",
        words=year.words,
        command=f"trainledger report yearly --year {year.name}",
        data="report.json",
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
