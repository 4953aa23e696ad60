"""The HTML page of a comparison: the look and the tables of the quarterly report, around two dates."""

from reports.model import Section
from reports.page import layout, records, templating
from reports.window import Window


def html(record: dict[str, object], window: Window, sections: list[Section]) -> str:
    """The comparison as one HTML file that loads nothing."""
    environment = templating.environment()
    pages = [
        {"section": section, "number": n, "tables": [layout.page_table(table) for table in section.tables]}
        for n, section in enumerate(sections, 1)
    ]
    shown = [table for section in sections for table in section.tables if not table.absent]
    digests = [(table, records.digest(records.csv_text(table))) for table in shown]
    return environment.get_template("comparison.html").render(record=record, window=window, pages=pages, digests=digests)
