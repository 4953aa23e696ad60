"""The commands `verify`, `restatements` and `trace`: what each reads of its options, and the one module it calls.

As in cli.py, whatever is heavy is imported inside the command that needs it.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from dagster_project.commands.endings import guarded, say
from dagster_project.commands.options import DEFAULT_CONFIG, Config, Json, Wait, settings_of


@guarded
def verify(
    path: Annotated[Path | None, typer.Argument(help="The folder or the zip of an issued report.")] = None,
    landing: Annotated[bool, typer.Option("--landing", help="Read every landed object instead.")] = False,
    from_landing: Annotated[
        str | None,
        typer.Option("--from-landing", metavar="DIR", help="Rebuild its tables from this home's or landing's deliveries."),
    ] = None,
    trusted_key: Annotated[
        Path | None, typer.Option("--trusted-key", metavar="FILE", help="The public key (PEM) that must have signed it.")
    ] = None,
    require_signature: Annotated[bool, typer.Option("--require-signature", help="A report without a signature differs.")] = False,
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
) -> int:
    """Verify an issued report (files, figures from their SQL, rendering, chain, signature), or the landing. Changes nothing.

    Exit code 1: something differs; 3: nothing could be compared. A report needs no configuration.

    Example: trainledger verify reports/issued/2026Q2-1.zip

    Example: trainledger verify --landing
    """
    from dagster_project.commands.progress import shown
    from dagster_project.commands.verifying import require_a_subject, verify_landing, verify_report

    require_a_subject(path, landing, from_landing, is_signature_asked=require_signature or trusted_key is not None)
    if path is not None:
        from dagster_project.evidence.findings import tell_findings

        with shown() as listener:
            found = verify_report(path, trusted_key, require_signature, from_landing, listener)
        return tell_findings(found, typer.echo, as_json=as_json)
    settings = settings_of(config)
    with shown() as listener:
        return verify_landing(settings, typer.echo, as_json=as_json, listener=listener)


@guarded
def restatements(
    quarter: Annotated[
        str | None, typer.Option("--quarter", help="Like 2026Q3; without it every quarter that was issued.")
    ] = None,
    config: Config = DEFAULT_CONFIG,
    wait: Wait = 0.0,
    as_json: Json = False,
) -> int:
    """Compare issued figures with what is known today, by cause; the next refresh publishes them as fct_restatements.

    Example: trainledger restatements --quarter 2026Q2
    """
    from dagster_project.commands.progress import shown
    from dagster_project.evidence.restating import tell_restatements

    with shown() as listener:
        return tell_restatements(settings_of(config), quarter, wait, typer.echo, say, listener, as_json=as_json)


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
    from dagster_project.evidence.tracing.answer import figure_text
    from dagster_project.evidence.tracing.command import opened_trace, trace_figure
    from dagster_project.evidence.tracing.source_rows import place_of, row_text, trace_row
    from dagster_project.publishing.digest import plain_text
    from dagster_project.warehouse.home import Home

    settings = settings_of(config)
    if source_row is not None:
        place_of(source_row)
    with shown() as listener, opened_trace(Home.of(settings), figure or "") as opened:
        if figure is not None:
            document, text = trace_figure(opened, figure, report, out, listener), figure_text
        else:
            document, text = trace_row(opened, source_row or "", listener), row_text
    typer.echo(json.dumps(document, default=plain_text, indent=1, ensure_ascii=False) if as_json else text(document))
