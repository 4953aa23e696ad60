"""The report of a span by its name, 2026Q3 or the fiscal year 2026: both are issued, verified and restated alike."""

from pathlib import Path
from typing import Any

from reports import contents, quarterly, yearly
from reports.arranged import Arranged
from reports.issue import Issue, Policy
from reports.model import Figure, Section
from reports.publication import Publication
from reports.quarter import FiscalYear, Quarter, is_year
from reports.sections import headlines


def span_of(publication: Publication, name: str) -> Quarter | FiscalYear:
    """The span of a name; when a fiscal year begins, only a publication has."""
    return yearly.find_year(publication, name)[0] if is_year(name) else Quarter.parse(name)


def contents_of(publication: Publication, span: Quarter | FiscalYear) -> tuple[list[Figure], list[Section]]:
    """The headline figures and sections that a report of a span has."""
    if isinstance(span, FiscalYear):
        return [], yearly.sections(publication, span)
    figures = headlines.headline_figures(publication, span)
    return figures, contents.sections(publication, span, figures)


def arranged(published: Path | Publication, name: str, *, policy: Policy | None, issue: Issue | None, **others: Any) -> Arranged:
    """The report of a span of a published file, laid out."""
    arrange = yearly.arranged if is_year(name) else quarterly.arranged
    return arrange(published, name, policy=policy, issue=issue, **others)
