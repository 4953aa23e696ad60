"""The commands below `trainledger report` and `trainledger export`: what each reads of its options, and the one module it calls.

As in cli.py, whatever is heavy is imported inside the command that needs it.
"""

from pathlib import Path
from typing import Annotated

import typer

from dagster_project.commands.endings import guarded, say
from dagster_project.commands.options import (
    DEFAULT_CONFIG,
    Config,
    Electricity,
    FocusVersion,
    Tool,
    Wait,
    published_by,
    settings_of,
)

report_app = typer.Typer(help="Reports of the published file.", no_args_is_help=True)
export_app = typer.Typer(help="Files for other systems, from the published file.", no_args_is_help=True)

First = Annotated[str | None, typer.Option("--from", metavar="MONTH", help="First month, like 2026-04; default: all there are.")]
Last = Annotated[str | None, typer.Option("--to", metavar="MONTH", help="Last month, included.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Named .csv or .parquet; default: CSV to standard output.")
]
Frozen = Annotated[bool, typer.Option("--issue", help="Freeze it, with its evidence, below reports/issued in the home.")]
Approver = Annotated[str | None, typer.Option("--approver", metavar="NAME", help="Who approves it: not who prepared it.")]
Sign = Annotated[Path | None, typer.Option("--sign", metavar="KEY", help="An Ed25519 private key in PEM.")]


def _require_an_act(issue: bool, approver: str | None, sign: Path | None, out: Path | None) -> None:
    """Options of issuing belong together."""
    from dagster_project.base.failures import UsageError

    if (approver or sign) and not issue:
        raise UsageError("--approver and --sign belong to an issued report", remedy="Give --issue too.")
    if issue and approver is None:
        raise UsageError("a report is issued by two people", remedy="Give --approver NAME.")
    if issue and out is not None:
        raise UsageError("an issued report goes below reports/issued in the home", remedy="Leave --out away.")


@report_app.command("quarterly")
@guarded
def report_quarterly(
    quarter: Annotated[str, typer.Option("--quarter", help="Like 2026Q3; quarters are calendar quarters in UTC.")],
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="T", help="With what had been landed by T.")] = None,
    as_published: Annotated[
        str | None, typer.Option("--as-published", metavar="T", help="With what providers had published by T.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where its folder goes; default: reports/ in the home.")] = None,
    issue: Frozen = False,
    approver: Approver = None,
    sign: Sign = None,
    config: Config = DEFAULT_CONFIG,
    wait: Wait = 0.0,
) -> None:
    """Render the quarterly report (HTML, PDF, XLSX, CSV, JSON), or issue it: no draft is, and what is issued never changes.

    Example: trainledger report quarterly --quarter 2026Q3 --as-published 2026-10-01T00:00:00Z

    Example: trainledger report quarterly --quarter 2026Q3 --issue --approver "A. Person" --sign key.pem
    """
    from dagster_project.base.clock import parse_past
    from dagster_project.commands.progress import shown
    from dagster_project.commands.reporting import issue_report, quarterly_report
    from dagster_project.election.winners import View
    from dagster_project.warehouse.home import Home

    view = View(
        parse_past(as_of, "--as-of") if as_of else None,
        parse_past(as_published, "--as-published") if as_published else None,
    )
    home = Home.of(settings_of(config))
    _require_an_act(issue, approver, sign, out)
    with shown() as listener:
        if issue:
            issue_report(home, quarter, view, approver or "", sign, wait, typer.echo, say, listener)
            return
        report = quarterly_report(home, quarter, view, out, wait, say, listener)
    reasons = f": {'; '.join(report.reasons)}" if report.reasons else ""
    typer.echo(f"{report.html}")
    say(f"{quarter} is {report.status}{reasons}")


@report_app.command("model")
@guarded
def report_model(
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="One model, as its runs name it; default: all.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A folder; default: reports/models/ in the home.")] = None,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Write a model's sheet for EU AI Act, Annex XI: energy, compute, hardware and days of all its runs, as a page and JSON.

    Example: trainledger report model --model llm-8b
    """
    from dagster_project.publishing.reporting import render_models

    settings = settings_of(config)
    published = settings.home / "published" / "trainledger.duckdb"
    pages = render_models(published, out or settings.home / "reports" / "models", model, settings.organisation.name)
    for page in pages:
        typer.echo(f"{page}")
    if not pages:
        say("No run names a model, so there is no sheet.")


@report_app.command("yearly")
@guarded
def report_yearly(
    year: Annotated[str, typer.Option("--year", help="Fiscal year, by the calendar year in which it ends, like 2026.")],
    out: Annotated[Path | None, typer.Option("--out", help="Where its folder goes; default: reports/ in the home.")] = None,
    issue: Frozen = False,
    approver: Approver = None,
    sign: Sign = None,
    config: Config = DEFAULT_CONFIG,
    wait: Wait = 0.0,
) -> None:
    """Write the disclosures of a fiscal year (HTML, PDF, XLSX, CSV, JSON), or issue them: each list is whole or refused.

    Example: trainledger report yearly --year 2026

    Example: trainledger report yearly --year 2026 --issue --approver "A. Person"
    """
    from dagster_project.commands.progress import shown
    from dagster_project.commands.reporting import issue_report, yearly_report
    from dagster_project.election.winners import View
    from dagster_project.warehouse.home import Home

    home = Home.of(settings_of(config))
    _require_an_act(issue, approver, sign, out)
    if issue:
        with shown() as listener:
            issue_report(home, year, View(), approver or "", sign, wait, typer.echo, say, listener)
        return
    report = yearly_report(home, year, out)
    typer.echo(f"{report.html}")
    say(f"{report.year.words} is {report.status}")
    for refused in report.refused:
        say(refused)


@report_app.command("compare")
@guarded
def report_compare(
    start: Annotated[str | None, typer.Option("--from", metavar="D", help="First day, like 2025-10-01.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="D", help="The day after the last: it is not in it.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where its folder goes; default: reports/ in the home.")] = None,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Compare Trainium and TPU over the runs that ended in a span of days: verdicts, sensitivities, claims of vendors.

    Without dates the last twelve complete months of the publication; without --from the twelve months up to --to.

    Example: trainledger report compare --from 2026-04-01 --to 2026-10-01
    """
    from dagster_project.commands.reporting import comparison
    from dagster_project.warehouse.home import Home

    report = comparison(Home.of(settings_of(config)), start, end, out, say)
    typer.echo(f"{report.html}")
    say(f"{report.window.words}: {report.counted}")


@export_app.command("focus")
@guarded
def export_focus(
    first: First = None,
    last: Last = None,
    out: Out = None,
    version: Annotated[FocusVersion, typer.Option("--version", help="Whose columns.")] = FocusVersion.v1_4,
    emissions: Annotated[
        Path | None, typer.Option("--emissions", metavar="FILE", help="Where what the providers emitted goes, a file of its own.")
    ] = None,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Write the whole bill as allocation rows in the shape of FOCUS: runs as allocated resources, and what no run carries.

    Example: trainledger export focus --from 2026-04 --to 2026-06 --out q2.parquet --emissions q2-emissions.parquet
    """
    from dagster_project.commands import exporting

    exporting.export_focus(published_by(config), version, first, last, out, emissions)


@export_app.command("activity")
@guarded
def export_activity(
    first: First = None,
    last: Last = None,
    out: Out = None,
    tool: Annotated[Tool | None, typer.Option("--tool", help="In whose columns; default: all that is known, in ours.")] = None,
    electricity: Annotated[
        Electricity | None,
        typer.Option("--electricity", help="With --tool: the method that is filed, for a tool imports one total."),
    ] = None,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Write activity data for a carbon accounting platform: tonnes and kWh by month, supplier, account and region.

    Example: trainledger export activity --from 2026-04 --to 2026-06 --out q2.csv

    Example: trainledger export activity --tool envizi --electricity market --out q2.csv
    """
    from dagster_project.commands import exporting

    exporting.export_activity(published_by(config), tool, electricity, first, last, out)
