"""`trainledger demo`: a synthetic organisation's exports, refreshed and reported, to see the whole line on one machine.

The exports come from dagster_project/demo, which knows nothing of the product; this module only puts the commands in a row.
The clock of the demo is fixed.
"""

import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from dagster_project import demo
from dagster_project.base.failures import UsageError, writing_to
from dagster_project.commands.progress import shown
from dagster_project.commands.refreshing import refresh
from dagster_project.commands.reporting import issue_report, quarterly_report
from dagster_project.demo.generate import LATE, write_demo
from dagster_project.election.winners import View
from dagster_project.evidence import chain
from dagster_project.evidence.issuing import zip_of
from dagster_project.evidence.restating import tell_restatements
from dagster_project.landing.restated import read_restated
from dagster_project.settings import load_settings
from dagster_project.warehouse.building import Listener
from dagster_project.warehouse.home import Home

DEMO_NOW = "2026-10-10T00:00:00Z"
QUARTERS = ("2026Q2", "2026Q3")
ISSUED = "2026Q2"  # whole; of September the carbon is missing
OWN_MARK = ".trainledger-demo"
CONFIGURATION = "trainledger.yaml"


def prepare(folder: Path, scale: int) -> Path:
    """Write the synthetic exports, unless they are there, and return their configuration. Another scale starts anew."""
    mark, sources = folder / OWN_MARK, sorted(Path(demo.__file__).parent.rglob("*.py"))
    wanted = f"scale {scale}, generator {hashlib.sha256(b''.join(path.read_bytes() for path in sources)).hexdigest()[:16]}"
    if mark.exists():
        if mark.read_text() == wanted:
            return folder / CONFIGURATION
        shutil.rmtree(folder / "trainledger-home", ignore_errors=True)  # synthetic like the exports it was made of
    elif folder.exists() and any(folder.iterdir()):
        raise UsageError("the folder holds something that is not a demo", where=str(folder), remedy="Give another --dir.")
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text("being written")
    write_demo(folder, scale)
    mark.write_text(wanted)
    return folder / CONFIGURATION


def _issued(home: Home, say: Callable[[str], None], listener: Listener) -> Path:
    """The zip of the finished quarter's report, issued by two invented people when the demo runs for the first time."""
    line = chain.last_of(chain.lines_of(home.root / "reports"), ISSUED)
    if line is None:
        approver = home.settings.reporting.approved_by[0]
        line = issue_report(home, ISSUED, View(), approver, None, 0, say, say, listener)
    return zip_of(home.root, line["report_id"])


def _arrive(home: Home, folder: Path, source: str, say: Callable[[str], None], listener: Listener) -> int:
    """Let what is late arrive, compare the issued report with what is known then, and publish what was found."""
    shutil.copytree(folder / LATE / source, folder / "exports" / source, dirs_exist_ok=True)  # with the times of the files
    done = refresh(home.settings, say=say, listener=listener)
    if done.build or not read_restated(home.root):
        lines: list[str] = []
        tell_restatements(home.settings, ISSUED, 0, lines.append, say, listener, as_json=False)
        say(lines[-1])  # how many of how many figures; the others are in the reports
        done = refresh(home.settings, say=say, listener=listener)
    return done.exit_code


def run(folder: Path, scale: int, say: Callable[[str], None], *, late: bool = False) -> int:
    """Generate, refresh, issue a report, let a late delivery restate it, report, and say where everything is.

    `late`: a corrected record arrives as well. Returns the exit code of the last refresh.
    """
    os.environ["TRAINLEDGER_NOW"] = DEMO_NOW  # for this process and what it starts; nothing else is changed
    say(f"Writing synthetic exports to {folder} (scale {scale}); the clock of the demo is set to {DEMO_NOW}.")
    with writing_to(folder):
        config = prepare(folder, scale)
    settings = load_settings(config)
    home = Home.of(settings)
    with shown() as listener:
        refresh(settings, say=say, listener=listener)
        issued = _issued(home, say, listener)
        for source in ("payer-a-carbon", "runs") if late else ("payer-a-carbon",):
            code = _arrive(home, folder, source, say, listener)
        reports = {quarter: quarterly_report(home, quarter, View(), None, 0, say, listener) for quarter in QUARTERS}
    say("")
    say("Everything below is synthetic.")
    say(f"Warehouse  {settings.home / 'published' / 'trainledger.duckdb'}")
    say(f"Page       {settings.home / 'published' / 'ledger' / 'index.html'}")
    for quarter, report in reports.items():
        say(f"Report     {quarter} ({report.status}): {report.html}")
    program, configured = shlex.quote(str(Path(sys.executable).parent / "trainledger")), shlex.quote(str(settings.path))
    say(f"Evidence   {program} verify {shlex.quote(str(issued))}")
    say(f"Restated   {ISSUED}, by carbon that arrived after the issue: Restatements in the reports, and fct_restatements")
    if not late:
        again = f"{program} demo --dir {shlex.quote(str(folder))}{'' if scale == 1 else f' --scale {scale}'} --late"
        say(f"           {again}: a corrected record arrives as well")
    say(f"UI         TRAINLEDGER_NOW={DEMO_NOW} {program} ui --config {configured}")
    say(f"BigQuery   {folder / 'README.md'}: how to read the Google bill from a table instead, with the same figures")
    say(f'SQL        {program} sql --config {configured} "from dim_training_runs limit 5"')
    return code
