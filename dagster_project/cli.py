"""The command line: what 4.1 of the design promises, and nothing that a module behind it could do.

Commands read their options, call one module, and turn failures into one clear message and an exit code. Whatever is heavy
is imported inside the command that needs it: a refresh that finds nothing new stays quick.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dagster_project import __version__
from dagster_project.commands.endings import guarded, say
from dagster_project.commands.evidence_cli import restatements, sign, trace, verify
from dagster_project.commands.options import DEFAULT_CONFIG, Config, Format, Json, Wait, published_by, settings_of
from dagster_project.commands.planning_cli import plan
from dagster_project.commands.report_cli import export_app, report_app
from dagster_project.commands.starter_cli import init
from dagster_project.commands.upkeep_cli import accept, compact, dbt, prune

# the groups of `trainledger --help`, in their order; a command belongs to one of them
GROUPS = {
    "Start": ("init", "doctor", "refresh", "demo"),
    "Every day": ("status", "run", "sql", "accept", "ui", "mcp", "record"),
    "Reports": ("report", "plan", "export"),
    "Proof": ("trace", "verify", "sign", "restatements", "digest"),
    "Upkeep": ("prune", "compact", "dbt"),
}


class Grouped(TyperGroup):
    """The commands in the order of their groups."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, each command with its group; a test compares the groups with the commands there are."""
        for group, names in GROUPS.items():
            for name in names:
                command: Any = self.commands[name]
                command.rich_help_panel = group
        return [name for names in GROUPS.values() for name in names]


app = typer.Typer(
    name="trainledger",
    cls=Grouped,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(init)
app.add_typer(report_app, name="report")
app.command()(plan)
app.command()(trace)
app.add_typer(export_app, name="export")
app.command()(verify)
app.command()(sign)
app.command()(restatements)
app.command()(accept)
app.command()(prune)
app.command()(compact)
app.command(context_settings={"ignore_unknown_options": True})(dbt)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trainledger {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """What did this training run cost, how much energy did it use, and which emissions do we disclose for it?

    Exit codes: 0 done; 1 a gate or check differs; 2 usage or configuration;
    3 a source unreadable or quarantined (the others are published);
    4 another writer; 70 a bug.
    """


# every word is the recorder's or the job's, --help as well
@app.command(
    context_settings={
        "allow_extra_args": True,
        "allow_interspersed_args": False,
        "ignore_unknown_options": True,
        "help_option_names": [],
    }
)
def record(context: typer.Context) -> None:
    """Record a training run: what its chips do, on which machine, from when to when. Ends with the command and its exit code.

    Example: trainledger record --to s3://ml-bucket/recorded --run llama-8b -- torchrun train.py
    """
    from trainledger_recorder.command import main

    raise typer.Exit(main(context.args, "trainledger record"))


@app.command()
@guarded
def demo(
    folder: Annotated[Path, typer.Option("--dir", help="Where the synthetic exports and their home go.")] = Path(
        "trainledger-demo"
    ),
    scale: Annotated[int, typer.Option("--scale", min=1, help="Multiplies the rows.")] = 1,
    late: Annotated[bool, typer.Option("--late", help="Then let a corrected record arrive as well.")] = False,
) -> int:
    """Write synthetic exports, refresh, render two quarterly reports, and say where everything is.

    Example: trainledger demo --dir /tmp/demo
    """
    from dagster_project.commands.demonstration import run

    return run(folder.absolute(), scale, say, late=late)


@app.command()
@guarded
def doctor(config: Config = DEFAULT_CONFIG, as_json: Json = False) -> int:
    """Check configuration, sources, permissions, disk; say whether runs will get cost, energy and carbon. Changes nothing.

    Example: trainledger doctor --config ./trainledger.yaml
    """
    from dagster_project.doctor.examination import diagnose
    from dagster_project.warehouse.home import Home

    return diagnose(Home.of(settings_of(config)), typer.echo, as_json=as_json)


@app.command()
@guarded
def refresh(
    config: Config = DEFAULT_CONFIG,
    only: Annotated[
        str | None, typer.Option("--only", metavar="SOURCE", help="Look only at this source for what is new.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Build every month again, changed or not.")] = False,
    months: Annotated[
        str | None,
        typer.Option("--months", metavar="FIRST..LAST", help="Build these months again, changed or not: 2026-04..2026-06."),
    ] = None,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> int:
    """Land what is new, build what it touches, pass the gates, publish. Nothing new: nothing written.

    Example: trainledger refresh --wait 600
    """
    from dagster_project.base.clock import now
    from dagster_project.base.months import month_range
    from dagster_project.commands import refreshing
    from dagster_project.commands.progress import shown

    asked = month_range(months, f"{now():%Y-%m}") if months else ()
    settings = settings_of(config)
    with shown() as listener:
        done = refreshing.refresh(settings, only=only, full=full, months=asked, wait=wait, say=say, listener=listener)
    if as_json:
        typer.echo(refreshing.json_text(done, settings.home))
    return done.exit_code


@app.command()
@guarded
def status(
    config: Config = DEFAULT_CONFIG,
    everything: Annotated[bool, typer.Option("--all", help="All months, and all that is quarantined.")] = False,
    as_json: Json = False,
) -> None:
    """Sources x months: landed, elected, preliminary or final, missing, quarantined; the newest twelve and whatever is wrong.

    Example: trainledger status --all
    """
    from dagster_project.commands.status import json_text, read_status
    from dagster_project.commands.status_table import table_text

    found = read_status(settings_of(config))
    width = None if sys.stdout.isatty() else 120  # a pipe has no width
    typer.echo(json_text(found) if as_json else table_text(found, width, everything=everything))


@app.command()
@guarded
def sql(
    query: Annotated[str, typer.Argument(help="One statement; tables of schema marts need no schema.")],
    form: Annotated[Format, typer.Option("--format", help="Exact numbers are strings in JSON.")] = Format.table,
    out: Annotated[Path | None, typer.Option("--out", help="A file to write to; Parquet needs one.")] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0.001, help="End with 2 when it takes longer.")
    ] = None,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Ask the published file, read-only, at any time of day.

    Example: trainledger sql "select training_run_id, sum(effective_cost) from fct_training_run_costs group by all" --format csv
    """
    from dagster_project.commands.query import answer

    answer(published_by(config), query, form, out, timeout)


@app.command()
@guarded
def run(
    run_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, or the id of its job or attempt elsewhere.")],
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
) -> None:
    """What one run cost, used and emitted: how that is known, from what, and what would make it better.

    A run that goes on has an estimate of its cost until now, which is in no published table.

    Example: trainledger run llama-8b-07
    """
    from dagster_project.commands.one_run import show_run

    show_run(published_by(config), run_id, typer.echo, as_json=as_json)


@app.command()
@guarded
def mcp(config: Config = DEFAULT_CONFIG) -> None:
    """Answer the questions of an assistant about the publication, read-only, over standard input and output (MCP).

    Example: trainledger mcp --config /srv/ledger/trainledger.yaml
    """
    from dagster_project.base.failures import UsageError
    from dagster_project.warehouse.home import Home

    try:
        from dagster_project.commands.mcp_server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types"):
            raise
        remedy = "Install the wheel with its extra: trainledger-VERSION-py3-none-any.whl[mcp]."
        raise UsageError("the package mcp is not installed here", remedy=remedy) from None
    serve(Home.of(settings_of(config)))


@app.command()
@guarded
def ui(
    port: Annotated[int, typer.Option("--port", help="Port of Dagster on 127.0.0.1.")] = 3000,
    page_port: Annotated[
        int | None, typer.Option("--page-port", help="Port of the page of the ledger; default: the one after.")
    ] = None,
    config: Config = DEFAULT_CONFIG,
) -> int:
    """Show the page of the ledger, and the line in Dagster with its schedules and runs; on this machine only, until Ctrl-C.

    Example: trainledger ui --config trainledger.yaml
    """
    from dagster_project.commands.ui import serve

    return serve(settings_of(config), port, port + 1 if page_port is None else page_port, say)


@app.command()
@guarded
def digest(
    file: Annotated[Path | None, typer.Argument(help="Another published file than the configuration's.")] = None,
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
) -> None:
    """Print the canonical digest of every published table: equal on every engine, whatever the row order.

    Example: trainledger digest
    """
    from dagster_project.commands.query import digests, digests_json

    published = file or published_by(config)
    tables = digests(published)
    if as_json:
        typer.echo(digests_json(published, tables))
    else:
        for table in tables:
            typer.echo(f"{table.digest}  {table.rows:>9}  {table.table}")


if __name__ == "__main__":
    app()
