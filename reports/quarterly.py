"""The quarterly report: one published file and one quarter in, one folder of HTML, two PDF, XLSX, JSON and CSV out.

The command line and the Dagster asset call `render`; it knows neither. No clock: what changes with time (final or preliminary,
missing months) was decided when the file was published.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from reports import REPORT_FORMAT, contents
from reports.arranged import Arranged
from reports.code import code_digest
from reports.issue import Issue, Policy
from reports.page import html, records, words
from reports.pages import answer
from reports.publication import Publication, open_publication
from reports.quarter import Quarter
from reports.sections import board, headlines, quality
from reports.sections.status import as_issued, decide, require_data


@dataclass(frozen=True)
class QuarterlyReport:
    """Where a report was written, and its stamp with the reasons."""

    html: Path
    json: Path
    pdf: Path
    board: Path
    xlsx: Path
    status: str
    reasons: tuple[str, ...]
    tables: tuple[Path, ...]


def arranged(
    published: Path | Publication,
    quarter: str,
    *,
    organisation: str,
    status_note: str | None = None,
    policy: Policy | None = None,
    issue: Issue | None = None,
    code: str = "",
) -> Arranged:
    """Read a quarter of a published file and lay its page out. `code`: the digest that the page prints, not that of this code."""
    span = Quarter.parse(quarter)
    with open_publication(published) as publication:
        require_data(publication, span)
        decided = decide(publication, span)
        status = as_issued(decided) if issue else decided
        figures = headlines.headline_figures(publication, span)
        sections = contents.sections(publication, span, figures, policy, issue)
        vintage = replace(answer(publication, span, "vintage"), code="T0")
        vintage_sentence = quality.vintage_sentence(publication, span)
    record: dict[str, Any] = {
        "report": "quarterly",
        "format": REPORT_FORMAT,
        "organisation": organisation,
        "quarter": span.name,
        "status": status.name,
        "status_reasons": list(status.reasons),
        "status_note": status_note,
        "issue": asdict(issue) if issue else None,
        "policy": policy.record() if policy else None,
        "vintage_sentence": vintage_sentence,
        "scope_sentence": words.SCOPE_SENTENCE,
        "board": board.headings(sections),
        "report_code_sha256": code or code_digest(),
        "figures": [records.figure_record(figure) for figure in figures],
        "vintage": records.table_record(vintage),
        "sections": [records.section_record(section) for section in sections],
    }
    page, sheets = html.page(record, span, figures, vintage, sections), html.sheets(record, span, sections)
    return Arranged(record, page, sections, sheets, figures, vintage)


def render(
    published: Path,
    quarter: str,
    out: Path,
    *,
    organisation: str,
    status_note: str | None = None,
    policy: Policy | None = None,
    issue: Issue | None = None,
) -> QuarterlyReport:
    """Render a quarter of a published file into `<out>/<quarter>/`.

    What the file itself does not hold is reported by the caller: `status_note` is printed on the cover, such as an as-of time;
    `policy` and `issue` in the sections on restatements and evidence.
    """
    it = arranged(published, quarter, organisation=organisation, status_note=status_note, policy=policy, issue=issue)
    record, folder = it.record, out / str(it.record["quarter"])
    files = it.write(folder)
    forms = {form: folder / f"report.{form}" for form in ("html", "json", "pdf", "xlsx")}
    return QuarterlyReport(
        **forms, board=folder / "board.pdf", status=record["status"], reasons=tuple(record["status_reasons"]), tables=files
    )
