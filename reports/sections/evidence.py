"""Section 10: what every figure rests on, by digest, and the one command that does the work again."""

from reports.issue import Issue
from reports.model import Section
from reports.pages import answered
from reports.publication import Publication
from reports.quarter import FiscalYear, Quarter


def how_to_repeat(issue: Issue | None) -> str:
    """The one command, for whoever holds the pack of an issued report or the home of one that is not issued."""
    if issue is None:
        return (
            "This report has not been issued, so it has no evidence pack. The same publication and the same code give the same "
            "bytes: `trainledger report quarterly` with this quarter does the work again."
        )
    return (
        f"Report {issue.report_id}, issued {issue.issued_at}, approved by {issue.approver}. To do the work again: "
        f"`trainledger verify {issue.report_id}.zip` compares every file, works out every figure from the pack's own tables and "
        "reads every text and cell of its documents back, and prints who has signed it. Every query runs in DuckDB without our "
        "code: README.md in the pack."
    )


def section(publication: Publication, quarter: Quarter, issue: Issue | None = None) -> Section:
    """Digests of code, factors and inputs; those of the tables stand below them on the page."""
    tables = answered(publication, quarter, "build", "factor_digest", "inputs")
    return Section("evidence", "Evidence", how_to_repeat(issue), tuple(tables.values()))


def of_year(publication: Publication, year: FiscalYear, issue: Issue | None = None) -> Section:
    """The same of a fiscal year, and which of its sources are groups."""
    tables = answered(publication, year, "build", "grouped_deliveries")
    return Section("evidence", "Evidence", how_to_repeat(issue) if issue else "", tuple(tables.values()))
