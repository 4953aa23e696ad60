"""`trainledger report`: of the last publication, or of an as-of build that is made for the question and never touches
`published/`.

Rendering is reports/, which reads one published file and nothing else.
"""

from collections.abc import Callable
from pathlib import Path

from dagster_project.assets.command_line import show_comparison, show_report
from dagster_project.base.locking import writer_lock
from dagster_project.base.modes import owner_alone
from dagster_project.commands.progress import draw
from dagster_project.election.election import elect
from dagster_project.election.units import fingerprints
from dagster_project.election.winners import View
from dagster_project.evidence.chain import Line
from dagster_project.evidence.issuing import issue, require_two_people, zip_of
from dagster_project.publishing.reporting import policy_of, render_comparison, render_quarter, render_year
from dagster_project.warehouse import builds
from dagster_project.warehouse.building import Listener, build_steps, no_listener
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.site import Site
from reports.comparison import Comparison
from reports.quarter import Quarter, read_day
from reports.quarterly import QuarterlyReport
from reports.yearly import YearlyReport

Say = Callable[[str], None]


def note_of(view: View) -> str | None:
    """What the cover states of an earlier view; the published file itself does not know."""
    if view.as_of:
        return f"As of {view.as_of:%Y-%m-%dT%H:%M:%SZ}: with the deliveries that had been landed by then."
    if view.as_published:
        return f"As published by {view.as_published:%Y-%m-%dT%H:%M:%SZ}: with the deliveries providers had published by then."
    return None


def site_of(home: Home, view: View, wait: float, say: Say, listener: Listener = no_listener) -> Site:
    """The site whose publication answers: the home's own, or that of an instant, which is built when it is not there yet."""
    if view.instant is None:
        return home.site
    kind = "as-of" if view.as_of else "as-published"
    home = home.at(Site.of_instant(home.root, kind, view.instant, home.site.memory_limit))
    with owner_alone(), writer_lock(home.site.root, f"trainledger report, {note_of(view)}", wait):
        election = elect(home.sources, home.landing, view)
        units = fingerprints(home.rules, election)
        if not builds.is_current(home.site, units):
            say(f"Building below {home.site.root}; the publication is not touched.")
            build = builds.start(home.site, units, full=True, engine=home.settings.engine)
            for step in build_steps(home, build, election):
                draw(listener, step)
    return home.site


def quarterly_report(
    home: Home, quarter: str, view: View, out: Path | None, wait: float, say: Say, listener: Listener = no_listener
) -> QuarterlyReport:
    """The report of a quarter as published, or as of an instant, in `out` or beside the publication."""
    Quarter.parse(quarter)  # before anything is built for it
    site, note = site_of(home, view, wait, say, listener), note_of(view)
    listener("report", 0, 1, quarter)
    folder, policy = out or site.root / "reports", policy_of(home.settings)
    report = render_quarter(site.published_file, folder, quarter, home.settings.organisation.name, note, policy=policy)
    listener("report", 1, 1, quarter)
    if note is None:  # an earlier view is no report of the publication
        show_report(home.root, quarter, report.html, report.status, say)
    return report


def issue_report(
    home: Home, quarter: str, view: View, approver: str, sign: Path | None, wait: float, tell: Say, say: Say, listener: Listener
) -> Line:
    """Freeze the report of a quarter or fiscal year, and say where it is and what verifies it."""
    require_two_people(home.settings, approver)  # before anything is built
    site = site_of(home, view, wait, say, listener)
    listener("issue", 0, 1, quarter)
    with writer_lock(home.root, "trainledger report --issue", wait, say):
        line = issue(home.at(site), quarter, approver, view, note_of(view), sign)
    listener("issue", 1, 1, quarter)
    archive = zip_of(home.root, line["report_id"])
    tell(str(archive))
    instead = f"; it takes the place of {line['supersedes']}" if line["supersedes"] else ""
    say(f"{line['report_id']} is {line['status']}, approved by {line['approver']}{instead}.")
    say(f"Verify it anywhere: trainledger verify {archive.name}")
    return line


def yearly_report(home: Home, year: str, out: Path | None) -> YearlyReport:
    """The disclosures of a fiscal year as published, in `out` or beside the publication."""
    settings, folder = home.settings, out or home.root / "reports"
    return render_year(home.site.published_file, folder, year, settings.organisation.name, policy=policy_of(settings))


def comparison(home: Home, start: str | None, end: str | None, out: Path | None, say: Say) -> Comparison:
    """The comparison from one day up to and without another, of the publication, in `out` or beside it."""
    first, last = (read_day(text, option) if text else None for text, option in ((start, "--from"), (end, "--to")))
    organisation = home.settings.organisation.name
    report = render_comparison(home.site.published_file, out or home.root / "reports", organisation, first, last)
    show_comparison(home.root, report, say)
    return report
