"""Rendering a report of a published file: the one door to reports/, which reads that file and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from dagster_project.base import modes
from dagster_project.base.failures import UsageError, writing_to
from dagster_project.settings import Settings
from reports import comparison, yearly
from reports.errors import ReportError
from reports.issue import RESTATES, Issue, Policy
from reports.quarterly import QuarterlyReport, render
from reports.sheets import render_sheets
from reports.yearly import YearlyReport


def policy_of(settings: Settings) -> Policy:
    """The configured restatement policy as reports print it."""
    reporting, restates = settings.reporting, RESTATES | settings.restates
    approved_by = tuple(reporting.approved_by)
    return Policy(reporting.restatement_threshold, reporting.base_year, reporting.prepared_by, approved_by, restates)


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
    with _rendering(published_file, folder):
        report = render(
            published_file, quarter, folder, organisation=organisation, status_note=status_note, policy=policy, issue=issue
        )
        _share(report.html.parent, published_file)
        return report


def render_comparison(
    published_file: Path, folder: Path, organisation: str, start: date | None = None, end: date | None = None
) -> comparison.Comparison:
    """Render the comparison from `start` up to and without `end` into `<folder>/compare-<start>_<end>`."""
    with _rendering(published_file, folder):
        report = comparison.render(published_file, start, end, folder, organisation=organisation)
        _share(report.html.parent, published_file)
        return report


def render_year(
    published_file: Path,
    folder: Path,
    year: str,
    organisation: str,
    status_note: str | None = None,
    *,
    policy: Policy | None = None,
    issue: Issue | None = None,
) -> YearlyReport:
    """Render the disclosures of a fiscal year into `<folder>/year-<year>`."""
    with _rendering(published_file, folder):
        report = yearly.render(
            published_file, year, folder, organisation=organisation, status_note=status_note, policy=policy, issue=issue
        )
        _share(report.html.parent, published_file)
        return report


def render_models(published_file: Path, folder: Path, model: str | None, organisation: str) -> list[Path]:
    """Write the sheet of one model of a published file, or of all, into `folder`."""
    with _rendering(published_file, folder):
        if pages := render_sheets(published_file, folder, organisation=organisation, model=model):
            _share(folder, published_file)
        return pages


@contextmanager
def _rendering(published_file: Path, folder: Path) -> Iterator[None]:
    """Render a published file that is there into a folder; what reports/ refuses is wrong use."""
    if not published_file.exists():
        raise UsageError("nothing is published yet", where=str(published_file), remedy="Run `trainledger refresh` first.")
    try:
        with writing_to(folder):
            yield
    except ReportError as error:
        raise UsageError(str(error).rstrip(".")) from None


def _share(made: Path, published_file: Path) -> None:
    """Whoever may read the home's reports may read a folder that was made among them."""
    if made.parent == published_file.parents[1] / "reports":
        modes.give(made, modes.as_in(made.parent))
