"""Rendering a report of a published file: the one door to reports/, which reads that file and nothing else."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

from dagster_project.base import modes
from dagster_project.base.failures import UsageError, writing_to
from dagster_project.settings import Reporting
from reports import comparison
from reports.errors import ReportError
from reports.issue import Issue, Policy
from reports.quarterly import QuarterlyReport, render
from reports.sheets import render_sheets


def policy_of(reporting: Reporting) -> Policy:
    """The configured restatement policy as reports print it."""
    return Policy(reporting.restatement_threshold, reporting.base_year, reporting.prepared_by, tuple(reporting.approved_by))


Report = TypeVar("Report", QuarterlyReport, comparison.Comparison)


def render_quarter(
    published_file: Path,
    folder: Path,
    quarter: str,
    organisation: str,
    status_note: str | None = None,
    *,
    policy: Policy | None = None,
    issue: Issue | None = None,
) -> QuarterlyReport:
    """Render one quarter of a published file, or of the Parquet of a pack, into `<folder>/<quarter>`."""
    return _rendered(
        published_file,
        folder,
        lambda: render(
            published_file, quarter, folder, organisation=organisation, status_note=status_note, policy=policy, issue=issue
        ),
    )


def render_comparison(
    published_file: Path, folder: Path, organisation: str, start: date | None = None, end: date | None = None
) -> comparison.Comparison:
    """Render the comparison from `start` up to and without `end` into `<folder>/compare-<start>_<end>`."""
    return _rendered(
        published_file, folder, lambda: comparison.render(published_file, start, end, folder, organisation=organisation)
    )


def _rendered(published_file: Path, folder: Path, make: Callable[[], Report]) -> Report:
    """What `make` wrote below the folder, readable as the home's reports are; its refusal is one of usage."""
    if not published_file.exists():
        raise UsageError("nothing is published yet", where=str(published_file), remedy="Run `trainledger refresh` first.")
    try:
        with writing_to(folder):
            report = make()
            if folder == published_file.parents[1] / "reports":  # whoever may read the home's reports may read this one
                modes.give(report.html.parent, modes.as_in(folder))
            return report
    except ReportError as error:
        raise UsageError(str(error).rstrip(".")) from None


def render_models(published_file: Path, folder: Path, model: str | None, organisation: str) -> list[Path]:
    """Write the sheet of one model of a published file, or of all, into `folder`."""
    if not published_file.exists():
        raise UsageError("nothing is published yet", where=str(published_file), remedy="Run `trainledger refresh` first.")
    try:
        with writing_to(folder):
            pages = render_sheets(published_file, folder, organisation=organisation, model=model)
            if pages and folder == published_file.parents[1] / "reports" / "models":
                modes.give(folder, modes.as_in(folder.parent))
            return pages
    except ReportError as error:
        raise UsageError(str(error).rstrip(".")) from None
