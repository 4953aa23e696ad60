"""The command line: what 4.1 of the design promises, and nothing that a module behind it could do.

Commands read their options, call one module, and turn failures into one clear message and an exit code. Whatever is heavy
is imported inside the command that needs it: a refresh that finds nothing new stays quick.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dagster_project import __version__
from dagster_project.commands.endings import guarded, say
from dagster_project.commands.query import Format

app = typer.Typer(
    name="trainledger",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
report_app = typer.Typer(help="Reports of the published file.", no_args_is_help=True)
app.add_typer(report_app, name="report")

Config = Annotated[
    Path,
    typer.Option("--config", envvar="TRAINLEDGER_CONFIG", help="trainledger.yaml; relative paths inside are relative to it."),
]
Debug = Annotated[
    bool, typer.Option("--debug", envvar="TRAINLEDGER_DEBUG", help="Show the traceback of an error, and Dagster's log.")
]
Wait = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for another writer before giving up (exit code 4).")]
DEFAULT_CONFIG = Path("trainledger.yaml")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trainledger {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """What did this training run cost, how much energy did it use, and which emissions do we disclose for it?

    Exit codes: 0 done; 1 a gate or check differs; 2 usage or configuration; 3 a source unreadable or quarantined (the others
    are published); 4 another writer; 70 a bug.
    """


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Where the synthetic exports and their home go.")] = Path(
        "trainledger-demo"
    ),
    scale: Annotated[int, typer.Option("--scale", min=1, help="Multiplies the rows.")] = 1,
    debug: Debug = False,
) -> None:
    """Write synthetic exports, refresh, render two quarterly reports, and say where everything is.

    Example: trainledger demo --dir /tmp/demo
    """

    def act() -> int:
        from dagster_project.commands.demonstration import run

        return run(folder.absolute(), scale, say, is_debug=debug)

    guarded(act, debug)


@app.command()
def init(config: Config = DEFAULT_CONFIG, debug: Debug = False) -> None:
    """Write a commented trainledger.yaml to start from; one that is there is never overwritten.

    Example: trainledger init --config ./trainledger.yaml
    """

    def act() -> None:
        from dagster_project.commands.starter import write_starter

        write_starter(config)
        say(f"Wrote {config}. Edit its sources, then run `trainledger doctor`.")

    guarded(act, debug)


@app.command()
def doctor(config: Config = DEFAULT_CONFIG, debug: Debug = False) -> None:
    """Check configuration, sources, permissions, tags, disk. Changes nothing.

    Example: trainledger doctor --config ./trainledger.yaml
    """

    def act() -> int:
        from dagster_project.commands.doctor import diagnose
        from dagster_project.settings import load_settings

        return diagnose(load_settings(config), typer.echo)

    guarded(act, debug)


@app.command()
def refresh(
    config: Config = DEFAULT_CONFIG,
    only: Annotated[
        str | None, typer.Option("--only", metavar="SOURCE", help="Look only at this source for what is new.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Build every month again, changed or not.")] = False,
    wait: Wait = 0.0,
    debug: Debug = False,
) -> None:
    """Land what is new, build what it touches, pass the gates, publish. Nothing new: nothing written.

    Example: trainledger refresh --wait 600
    """

    def act() -> int:
        from dagster_project.commands.refreshing import refresh as run
        from dagster_project.settings import load_settings

        return run(load_settings(config), only=only, full=full, wait=wait, say=say).exit_code

    guarded(act, debug)


@app.command()
def status(
    config: Config = DEFAULT_CONFIG,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    debug: Debug = False,
) -> None:
    """Sources x months: landed, elected, preliminary or final, missing, quarantined.

    Example: trainledger status --json
    """

    def act() -> None:
        from dagster_project.commands.status import json_text, read_status, table_text
        from dagster_project.settings import load_settings

        found = read_status(load_settings(config))
        # a pipe has no width: let no column be cut
        typer.echo(json_text(found) if as_json else table_text(found, None if sys.stdout.isatty() else 240))

    guarded(act, debug)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="One statement; tables of schema marts need no schema.")],
    form: Annotated[Format, typer.Option("--format", help="Exact numbers are strings in JSON.")] = Format.table,
    out: Annotated[Path | None, typer.Option("--out", help="A file to write to; Parquet needs one.")] = None,
    config: Config = DEFAULT_CONFIG,
    debug: Debug = False,
) -> None:
    """Ask the published file, read-only, at any time of day.

    Example: trainledger sql "select training_run_id, sum(effective_cost) from fct_training_run_costs group by all" --format csv
    """

    def act() -> None:
        from dagster_project.commands.query import answer_to
        from dagster_project.settings import load_settings

        answer_to(load_settings(config).home / "published" / "trainledger.duckdb", query, form, out)

    guarded(act, debug)


@app.command()
def ui(
    port: Annotated[int, typer.Option("--port", help="Port on 127.0.0.1.")] = 3000,
    config: Config = DEFAULT_CONFIG,
    debug: Debug = False,
) -> None:
    """Show the line in the Dagster UI with its schedules and runs, on this machine only, until Ctrl-C.

    Example: trainledger ui --config trainledger.yaml
    """

    def act() -> int:
        from dagster_project.commands.ui import serve
        from dagster_project.settings import load_settings

        return serve(load_settings(config), port, say)

    guarded(act, debug)


@app.command()
def digest(
    file: Annotated[Path | None, typer.Argument(help="Another published file than the configuration's.")] = None,
    config: Config = DEFAULT_CONFIG,
    debug: Debug = False,
) -> None:
    """Print the canonical digest of every published table: equal on every engine, whatever the row order.

    Example: trainledger digest
    """

    def act() -> None:
        from dagster_project.commands.query import digests
        from dagster_project.settings import load_settings

        published = file or load_settings(config).home / "published" / "trainledger.duckdb"
        for found in digests(published):
            typer.echo(f"{found.digest}  {found.rows:>9}  {found.table}")

    guarded(act, debug)


@app.command()
def prune(
    yes: Annotated[bool, typer.Option("--yes", help="Really remove; without it only what would go is shown.")] = False,
    config: Config = DEFAULT_CONFIG,
    wait: Wait = 0.0,
    debug: Debug = False,
) -> None:
    """Remove superseded generations that retention no longer keeps; each leaves a tombstone. A dry run unless --yes.

    Example: trainledger prune --yes
    """

    def act() -> None:
        from dagster_project.landing.opening import open_landing
        from dagster_project.landing.retention import prune as run
        from dagster_project.locking import writer_lock
        from dagster_project.settings import load_settings

        settings = load_settings(config)
        with writer_lock(settings.home, "trainledger prune", wait):
            removals = run(settings.sources, open_landing(settings), settings.home / "reports" / "issued.jsonl", yes=yes)
        for removal in removals:
            since = f"superseded {removal.superseded_at:%Y-%m-%d}, {removal.size} bytes"
            typer.echo(f"{'removed' if yes else 'would remove'} {removal.generation.path} ({since})")
        if not removals:
            say("Nothing is to be removed.")
        elif not yes:
            say("Nothing was removed. Give --yes to remove.")

    guarded(act, debug)


@report_app.command("quarterly")
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

    def act() -> None:
        from dagster_project.clock import parse_instant
        from dagster_project.commands.reporting import Asked, quarterly_report
        from dagster_project.settings import load_settings

        asked = Asked(
            parse_instant(as_of, "--as-of") if as_of else None,
            parse_instant(as_published, "--as-published") if as_published else None,
        )
        report = quarterly_report(load_settings(config), quarter, asked, out, wait, say)
        reasons = f": {'; '.join(report.reasons)}" if report.reasons else ""
        typer.echo(f"{report.html}")
        say(f"{quarter} is {report.status}{reasons}")

    guarded(act, debug)


if __name__ == "__main__":
    app()
