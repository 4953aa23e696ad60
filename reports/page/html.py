"""The HTML page: the templates, and what they are given."""

from pathlib import Path

import jinja2
from markupsafe import Markup

from reports.model import Figure, Section, Table
from reports.page import layout, records, tiles, words
from reports.quarter import Quarter, short_month_name


def page(record: dict[str, object], quarter: Quarter, figures: list[Figure], vintage: Table, sections: list[Section]) -> str:
    """The report as one HTML file that loads nothing."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent / "templates"),
        autoescape=True,
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
        tiles=[tiles.tile(figure) for figure in figures],
        figures=figures,
        vintage=layout.page_table(vintage),
        pages=pages,
        digests=digests,
        methods=words.METHODS,
        sensitivities=words.SENSITIVITIES,
        open_questions=words.OPEN_QUESTIONS,
    )
