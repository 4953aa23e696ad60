"""`trainledger trace`: its options, and the one module it calls. As in cli.py, whatever is heavy is imported inside."""

from pathlib import Path
from typing import Annotated

import typer

from dagster_project.commands.endings import guarded
from dagster_project.commands.options import DEFAULT_CONFIG, Config, Json, settings_of


@guarded
def trace(
    figure: Annotated[
        str | None, typer.Option("--figure", metavar="ID", help="A figure of a report or of a published table.")
    ] = None,
    source_row: Annotated[
        str | None, typer.Option("--source-row", metavar="OBJECT:N", help="A row of a landed object, numbered from 1.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Folder of the report; default: that of the quarter in the home.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A file for all rows that are found: .parquet or .csv.")] = None,
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
) -> None:
    """From a figure to the rows it is made of, down to the provider's files; or from a row of such a file to its figures.

    Example: trainledger trace --figure 2026Q3/glance/effective_cost --out rows.parquet
    """
    from dagster_project.base.failures import UsageError
    from dagster_project.commands.progress import shown

    if (figure is None) == (source_row is None):
        raise UsageError("trace needs one question", remedy="Give either --figure ID or --source-row OBJECT:N.")
    settings = settings_of(config)
    with shown() as listener:
        if figure is not None:
            from dagster_project.evidence.tracing.command import trace_figure

            trace_figure(settings, figure, typer.echo, report=report, out=out, as_json=as_json, listener=listener)
        else:
            from dagster_project.evidence.tracing.source_rows import trace_source_row

            trace_source_row(settings, source_row or "", typer.echo, as_json=as_json, listener=listener)
