"""`trainledger report quarterly --issue`: the site that answers, the lock, and what became of it in words."""

from collections.abc import Callable
from pathlib import Path

from dagster_project.base.failures import UsageError
from dagster_project.base.locking import writer_lock
from dagster_project.commands.reporting import note_of, site_of
from dagster_project.election.winners import View
from dagster_project.evidence.issuing import Issued, issue, require_two_people
from dagster_project.settings import Settings
from dagster_project.warehouse.building import Listener, no_listener
from dagster_project.warehouse.home import Home

Say = Callable[[str], None]


def issue_report(
    settings: Settings,
    quarter: str,
    view: View,
    approver: str | None,
    sign: Path | None,
    wait: float,
    tell: Say,
    say: Say,
    listener: Listener = no_listener,
    *,
    is_asked: bool = True,
    out: Path | None = None,
) -> Issued:
    """Freeze the report of a quarter, and say where it is and what verifies it."""
    if not is_asked:
        raise UsageError("--approver and --sign belong to an issued report", remedy="Give --issue too.")
    if approver is None:
        raise UsageError("a report is issued by two people", remedy="Give --approver NAME.")
    if out is not None:
        raise UsageError("an issued report goes below reports/issued in the home", remedy="Leave --out away.")
    require_two_people(settings, approver)  # before anything is built
    home = Home.of(settings)
    site = site_of(home, view, wait, say, listener)
    listener("issue", 0, 1, quarter)
    with writer_lock(home.root, "trainledger report quarterly --issue", wait, say):
        issued = issue(home.at(site), quarter, approver, view, note_of(view), sign)
    listener("issue", 1, 1, quarter)
    tell(str(issued.zip))
    line = issued.line
    instead = f"; it takes the place of {line['supersedes']}" if line["supersedes"] else ""
    say(f"{line['report_id']} is {line['status']}, approved by {line['approver']}{instead}.")
    say(f"Verify it anywhere: trainledger verify {issued.zip.name}")
    return issued
