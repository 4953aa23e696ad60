"""The disclosures of a fiscal year: one published file and one year in, one folder of HTML, PDF, XLSX, JSON and CSV out.

The lists of frameworks are rows of a published table, whole: each datapoint with its figure or its reason. Nothing is computed
here, and no clock is read.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from reports import REPORT_FORMAT, pages
from reports.arranged import Arranged
from reports.code import code_digest
from reports.errors import YearError
from reports.issue import Issue, Policy
from reports.model import Section
from reports.page import html, records, words
from reports.pages import answered
from reports.publication import Publication, open_publication
from reports.quarter import FiscalYear, listed
from reports.sections import evidence, restatements
from reports.sections.status import NOT_ISSUED, Status, as_issued
from reports.sections.words import declared

LISTS = ("esrs_2023", "esrs_2026", "ifrs_s2", "cdp", "sb_253", "gri_2016", "gri_2025")


@dataclass(frozen=True)
class YearlyReport:
    """Where the disclosures of a fiscal year were written, their stamp, and which lists are refused for what they lack."""

    html: Path
    pdf: Path
    json: Path
    xlsx: Path
    year: FiscalYear
    status: str
    reasons: tuple[str, ...]
    refused: tuple[str, ...]


def find_year(publication: Publication, name: str) -> tuple[FiscalYear, Status]:
    """The year that was asked for, and its stamp: a draft where months of it lack."""
    if not re.fullmatch(r"[1-9][0-9]{3}", name, re.ASCII):
        raise YearError(f"{name!r} is not a fiscal year. Write the calendar year in which it ends, for example 2026.")
    there = pages.rows(publication, "fiscal_years", {}, is_needed=True)
    for row in there:
        if row["fiscal_year"] == name:
            year = FiscalYear(name, row["year_start"], row["year_end"])
            if row["is_draft"]:
                return year, Status("draft", (f"Months of {year.words} lack their bill or their carbon.",))
            count = row["preliminary_months"]
            reason = f"Rows of {count} of its months are preliminary." if count else NOT_ISSUED
            return year, Status("preliminary", (reason,), is_final=not count)
    known = f"there are data of {listed([str(row['fiscal_year']) for row in there])}" if there else "there are none of any year"
    raise YearError(f"Nothing is published of fiscal year {name}: {known}.")


def sections(
    publication: Publication, year: FiscalYear, policy: Policy | None = None, issue: Issue | None = None
) -> list[Section]:
    """All of the page, in reading order, with reference codes."""
    found = [one for one in _sections(publication, year) if one.tables]
    found += [restatements.section(publication, year, policy, issue), evidence.of_year(publication, year, issue)]
    return [
        replace(one, tables=tuple(replace(table, code=f"T{n}.{m}") for m, table in enumerate(one.tables, 1)))
        for n, one in enumerate(found, 1)
    ]


def _sections(publication: Publication, year: FiscalYear) -> Iterator[Section]:
    texts = declared()["yearly"]
    for id, title, asked in (
        ("lists", "Lists of frameworks", ("year_frameworks",)),
        ("contributions", "What this ledger contributes", ("year_contributions",)),
        ("inputs", "What the organisation states", ("year_own_figures",)),
        ("disclosure", "Datapoints", tuple(f"year_{name}" for name in LISTS)),
    ):
        counts = pages.rows(publication, "year_counts", year.arguments)[0] if id == "lists" else {}
        yield Section(id, title, texts.get(id, "").format(**counts), tuple(answered(publication, year, *asked).values()))


def arranged(
    published: Path | Publication,
    year: str,
    *,
    organisation: str,
    status_note: str | None = None,
    policy: Policy | None = None,
    issue: Issue | None = None,
    code: str = "",
) -> Arranged:
    """Read a fiscal year of a published file and lay its page out. `code`: the digest that the page prints."""
    with open_publication(published) as publication:
        span, decided = find_year(publication, year)
        found = sections(publication, span, policy, issue)
    status = as_issued(decided) if issue else decided
    record: dict[str, object] = {
        "report": "yearly",
        "format": REPORT_FORMAT,
        "organisation": organisation,
        "quarter": span.name,
        "span": span.words,
        "from": span.start.isoformat(),
        "to": span.end.isoformat(),
        "status": status.name,
        "status_reasons": list(status.reasons),
        "status_note": status_note,
        "issue": asdict(issue) if issue else None,
        "policy": policy.record() if policy else None,
        "scope_sentence": words.SCOPE_SENTENCE,
        "report_code_sha256": code or code_digest(),
        "figures": [],
        "sections": [records.section_record(section) for section in found],
    }
    return Arranged(record, html.yearly(record, span, found), found)


def render(
    published: Path,
    year: str,
    out: Path,
    *,
    organisation: str,
    status_note: str | None = None,
    policy: Policy | None = None,
    issue: Issue | None = None,
) -> YearlyReport:
    """Render the disclosures of a fiscal year into `<out>/year-<year>/`."""
    it = arranged(published, year, organisation=organisation, status_note=status_note, policy=policy, issue=issue)
    folder = out / f"year-{year}"
    it.write(folder)
    with open_publication(published) as publication:
        span, _ = find_year(publication, year)
    lists = next(table for table in it.tables if table.id == "year_frameworks")
    refused = tuple(f"{row['framework']}: {row['state']}" for row in lists.rows if row["state"] != "complete")
    forms = {form: folder / f"report.{form}" for form in ("html", "pdf", "json", "xlsx")}
    return YearlyReport(
        **forms, year=span, status=it.record["status"], reasons=tuple(it.record["status_reasons"]), refused=refused
    )
