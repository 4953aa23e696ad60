"""The disclosures of a fiscal year: one published file and one year in, one folder of HTML, PDF, JSON and CSV out.

The lists of frameworks are rows of a published table, whole: each datapoint with its figure or its reason. Nothing is computed
here, and no clock is read.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from reports import REPORT_FORMAT, pages
from reports.code import code_digest
from reports.errors import YearError
from reports.model import Section
from reports.page import html, records, words
from reports.pages import answered
from reports.publication import Publication, open_publication
from reports.quarter import FiscalYear, listed
from reports.sections.words import declared

LISTS = ("esrs_2023", "esrs_2026", "ifrs_s2", "cdp", "sb_253", "gri_2016", "gri_2025")


@dataclass(frozen=True)
class YearlyReport:
    """Where the disclosures of a fiscal year were written, and which lists are refused for what they lack."""

    html: Path
    pdf: Path
    json: Path
    year: FiscalYear
    status: str
    refused: tuple[str, ...]


def _year(publication: Publication, name: str) -> tuple[FiscalYear, str]:
    """The year that was asked for, and whether months of it lack."""
    if not re.fullmatch(r"[1-9][0-9]{3}", name, re.ASCII):
        raise YearError(f"{name!r} is not a fiscal year. Write the calendar year in which it ends, for example 2026.")
    there = pages.rows(publication, "fiscal_years", {}, is_needed=True)
    for row in there:
        if row["fiscal_year"] == name:
            return FiscalYear(name, row["year_start"], row["year_end"]), "draft" if row["is_draft"] else "preliminary"
    known = f"there are data of {listed([str(row['fiscal_year']) for row in there])}" if there else "there are none of any year"
    raise YearError(f"Nothing is published of fiscal year {name}: {known}.")


def _sections(publication: Publication, year: FiscalYear) -> Iterator[Section]:
    texts = declared()["yearly"]
    for id, title, asked in (
        ("lists", "Lists of frameworks", ("year_frameworks",)),
        ("contributions", "What this ledger contributes", ("year_contributions",)),
        ("inputs", "What the organisation states", ("year_own_figures",)),
        ("disclosure", "Datapoints", tuple(f"year_{name}" for name in LISTS)),
        ("evidence", "Evidence", ("build",)),
    ):
        counts = pages.rows(publication, "year_counts", year.arguments)[0] if id == "lists" else {}
        yield Section(id, title, texts.get(id, "").format(**counts), tuple(answered(publication, year, *asked).values()))


def render(published: Path, year: str, out: Path, *, organisation: str) -> YearlyReport:
    """Render the disclosures of a fiscal year into `<out>/year-<year>/`."""
    from reports.page import pdf  # a refresh knows reports and renders none: it does not load what sets them

    with open_publication(published) as publication:
        span, status = _year(publication, year)
        sections = [
            replace(section, tables=tuple(replace(table, code=f"T{n}.{m}") for m, table in enumerate(section.tables, 1)))
            for n, section in enumerate((one for one in _sections(publication, span) if one.tables), 1)
        ]
    record: dict[str, object] = {
        "report": "yearly",
        "format": REPORT_FORMAT,
        "organisation": organisation,
        "year": span.name,
        "quarter": span.words,  # what the running head of the PDF names
        "from": span.start.isoformat(),
        "to": span.end.isoformat(),
        "status": status,
        "scope_sentence": words.SCOPE_SENTENCE,
        "report_code_sha256": code_digest(),
        "sections": [records.section_record(section) for section in sections],
    }
    text = html.yearly(record, span, sections)
    folder = out / f"year-{span.name}"
    tables = [table for section in sections for table in section.tables]
    records.write_tables(folder / "tables", tables)
    records.write_file(folder / "yearly.json", json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    records.write_file(folder / "yearly.html", text)
    records.write_file(folder / "yearly.pdf", pdf.document(text, record))
    found = {table.id: table for table in tables}
    refused = tuple(f"{row['framework']}: {row['state']}" for row in found["year_frameworks"].rows if row["state"] != "complete")
    forms = {form: folder / f"yearly.{form}" for form in ("html", "pdf", "json")}
    return YearlyReport(**forms, year=span, status=status, refused=refused)
