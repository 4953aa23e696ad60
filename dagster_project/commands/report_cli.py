"""The commands below `trainledger report`: what each reads of its options, and the one module it calls.

As in cli.py, whatever is heavy is imported inside the command that needs it.
"""

from pathlib import Path
from typing import Annotated

import typer

from dagster_project.commands.endings import guarded, say
from dagster_project.commands.options import DEFAULT_CONFIG, Config, Debug, Wait

report_app = typer.Typer(help="Reports of the published file.", no_args_is_help=True)


@report_app.command("quarterly")
@guarded
def report_quarterly(
    quarter: Annotated[str, typer.Option("--quarter", help="Like 2026Q3; quarters are calendar quarters in UTC.")],
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="T", help="With what had been landed by T.")] = None,
    as_published: Annotated[
        str | None, typer.Option("--as-published", metavar="T", help="With what providers had published by T.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where its folder goes; default: reports/ in the home.")] = None,
    config: Config = DEFAULT_CONFIG,
    wait: Wait = 0.0,
    debug: Debug = False,
) -> None:
    """Render the quarterly report in HTML and JSON.

    Example: trainledger report quarterly --quarter 2026Q3 --as-published 2026-10-01T00:00:00Z
    """
    from dagster_project.clock import parse_instant
    from dagster_project.commands.progress import shown
    from dagster_project.commands.reporting import quarterly_report
    from dagster_project.election.winners import View
    from dagster_project.settings import load_settings

    view = View(
        parse_instant(as_of, "--as-of") if as_of else None,
        parse_instant(as_published, "--as-published") if as_published else None,
    )
    with shown() as listener:
        report = quarterly_report(load_settings(config), quarter, view, out, wait, say, listener)
    reasons = f": {'; '.join(report.reasons)}" if report.reasons else ""
    typer.echo(f"{report.html}")
    say(f"{quarter} is {report.status}{reasons}")


@report_app.command("compare")
@guarded
def report_compare(
    start: Annotated[str | None, typer.Option("--from", metavar="D", help="First day, like 2025-10-01.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="D", help="The day after the last: it is not in it.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where its folder goes; default: reports/ in the home.")] = None,
    config: Config = DEFAULT_CONFIG,
    debug: Debug = False,
) -> None:
    """Compare Trainium and TPU over the runs that ended in a span of days: verdicts, sensitivities, claims of vendors.

    Without dates the last twelve complete months of the publication; without --from the twelve months up to --to.

    Example: trainledger report compare --from 2026-04-01 --to 2026-10-01
    """
    from dagster_project.commands.reporting import comparison
    from dagster_project.settings import load_settings

    report = comparison(load_settings(config), start, end, out, say)
    typer.echo(f"{report.html}")
    say(f"{report.window.words}: {report.counted}")
