"""The comparison for a span of dates: one published file and two dates in, one folder of HTML, JSON and CSV out.

The statistics are those of the publication: the SELECT of each report table runs again about these dates (statements.py). Nothing
is computed here. No clock: the default span follows from the publication.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path

from reports import REPORT_FORMAT, pages
from reports.code import code_digest
from reports.errors import PublicationError, WindowError
from reports.model import Section, Table
from reports.page import html, records, words
from reports.pages import answered
from reports.publication import Publication, open_publication
from reports.quarter import Window, months_before
from reports.sections import asked_dates, claims, verdicts
from reports.statements import report_statements, standing_alone

NEEDED = ("rpt_trainium_vs_tpu", "rpt_vendor_claims", "rpt_purchase_options", "rpt_region_what_if")
MONTHS_SHOWN = 12


@dataclass(frozen=True)
class Comparison:
    """Where a comparison was written, its dates, and how often it came to which verdict."""

    html: Path
    json: Path
    window: Window
    verdicts: Mapping[str, int]
    claims: Mapping[str, int]

    @property
    def counted(self) -> str:
        """verdicts 2 tpu, 40 undecided; claims of vendors 1 supported, 22 no data."""
        parts = (("verdicts", self.verdicts), ("claims of vendors", self.claims))
        remarks = (
            f"{name} " + ", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in counts.items())
            for name, counts in parts
            if counts
        )
        return "; ".join(remarks)


def _window(publication: Publication, start: date | None, end: date | None) -> Window:
    """The dates that were asked for; without any the last twelve complete months."""
    last = end or pages.rows(publication, "last_month_of_costs", {}, is_needed=True)[0]["window_end"]
    if last is None:
        raise WindowError("Nothing is compared: the publication has no month of cost.")
    window = Window(start or months_before(last, MONTHS_SHOWN), last)
    [runs] = pages.rows(publication, "runs_that_ended", window.arguments, is_needed=True)
    if not runs["run_count"]:
        ended = (
            f"Runs ended from {runs['first_end']:%Y-%m-%d} to {runs['last_end']:%Y-%m-%d}"
            if runs["first_end"]
            else "No run ended yet"
        )
        raise WindowError(f"No run ended from {window.start} up to and without {window.end}. {ended}.")
    return window


def _sections(publication: Publication, statements: Mapping[str, str], window: Window) -> list[Section]:
    """In reading order, each table with its reference code: T2.1 is the first of section 2."""

    alone = partial(standing_alone, statements=statements, window=window)

    def tables(*asked: str) -> dict[str, Table]:
        return answered(publication, window, *asked, changed=alone, words=asked_dates.of_dates)

    apart = pages.rows(publication, verdicts.DISAGREEMENT, window.arguments, alone)
    sections = (
        verdicts.side_by_side(tables(*asked_dates.TABLES), asked_dates.LEAD, apart, ""),
        Section("claims", claims.TITLE, claims.LEAD, tuple(tables(*claims.TABLES).values())),
        Section("evidence", "Evidence", "", tuple(tables("build").values())),
    )
    return [
        replace(section, tables=tuple(replace(table, code=f"T{n}.{m}") for m, table in enumerate(section.tables, 1)))
        for n, section in enumerate(sections, 1)
    ]


def _counts(tables: Mapping[str, Table], id: str) -> dict[str, int]:
    rows = tables[id].rows if id in tables else ()
    return dict(sorted(Counter(str(row["verdict"]) for row in rows).items()))


def render(published: Path, start: date | None, end: date | None, out: Path, *, organisation: str) -> Comparison:
    """Render the comparison from `start` up to and without `end` into `<out>/compare-<start>_<end>/`."""
    with open_publication(published) as publication:
        statements = report_statements(publication)
        if lacking := [model for model in NEEDED if model not in statements]:
            raise PublicationError(
                f"{published} has no statement of {', '.join(lacking)}: run `trainledger refresh` with this version."
            )
        window = _window(publication, start, end)
        sections = _sections(publication, statements, window)
    record: dict[str, object] = {
        "report": "comparison",
        "format": REPORT_FORMAT,
        "organisation": organisation,
        "from": window.start.isoformat(),
        "to": window.end.isoformat(),
        "scope_sentence": words.SCOPE_SENTENCE,
        "report_code_sha256": code_digest(),
        "sections": [records.section_record(section) for section in sections],
    }
    folder = out / f"compare-{window.name}"
    tables = [table for section in sections for table in section.tables]
    records.write_tables(folder / "tables", tables)
    records.write_file(folder / "comparison.json", json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    records.write_file(folder / "comparison.html", html.comparison(record, window, sections))
    by_id = {table.id: table for table in tables}
    return Comparison(
        folder / "comparison.html",
        folder / "comparison.json",
        window,
        _counts(by_id, "verdicts"),
        _counts(by_id, "vendor_claims"),
    )
