"""The commands `verify`, `sign`, `restatements` and `trace`: what each reads of its options, and the one module it calls.

As in cli.py, whatever is heavy is imported inside the command that needs it.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from dagster_project.commands.endings import guarded, say
from dagster_project.commands.options import DEFAULT_CONFIG, Config, Json, Wait, settings_if_there, settings_of


@guarded
def verify(
    path: Annotated[Path | None, typer.Argument(help="The folder or the zip of an issued report.")] = None,
    landing: Annotated[bool, typer.Option("--landing", help="Read every landed object instead.")] = False,
    from_landing: Annotated[
        str | None,
        typer.Option("--from-landing", metavar="DIR", help="Rebuild its tables from this home's or landing's deliveries."),
    ] = None,
    trusted_key: Annotated[
        list[Path] | None,
        typer.Option("--trusted-key", metavar="FILE", help="A public key that must have signed it; repeatable."),
    ] = None,
    require_signature: Annotated[bool, typer.Option("--require-signature", help="A report without a signature differs.")] = False,
    signed_as: Annotated[
        list[str] | None,
        typer.Option("--signed-as", metavar="preparer|approver", help="As whom it must have been signed; repeatable."),
    ] = None,
    trusted_tsa: Annotated[
        list[Path] | None,
        typer.Option("--trusted-tsa", metavar="FILE", help="Certificate (PEM) of an authority that must have stamped its time."),
    ] = None,
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
) -> int:
    """Verify an issued report (files, figures from their SQL, rendering, chain, signatures), or the landing. Changes nothing.

    Exit code 1: something differs; 3: nothing could be compared. A report needs no configuration; of one that is there
    `allowed_signers` are the people whose signatures count.

    Example: trainledger verify reports/issued/2026Q2-1.zip

    Example: trainledger verify --landing
    """
    from dagster_project.commands.progress import shown
    from dagster_project.commands.verifying import require_a_subject, trust_of, verify_landing, verify_report

    asked = require_signature or trusted_key or signed_as or trusted_tsa
    require_a_subject(path, landing, from_landing, is_signature_asked=bool(asked))
    if path is not None:
        from dagster_project.evidence.findings import tell_findings

        trust = trust_of(settings_if_there(config), trusted_key, signed_as, trusted_tsa, is_signature_required=require_signature)
        with shown() as listener:
            found = verify_report(path, trust, from_landing, listener)
        return tell_findings(found, typer.echo, as_json=as_json)
    settings = settings_of(config)
    with shown() as listener:
        return verify_landing(settings, typer.echo, as_json=as_json, listener=listener)


@guarded
def sign(
    path: Annotated[Path, typer.Argument(metavar="PACK", help="The folder or the zip of an issued report.")],
    key: Annotated[Path | None, typer.Option("--key", metavar="KEY", help="An Ed25519 private key (PEM or OpenSSH).")] = None,
    role: Annotated[
        str | None, typer.Option("--as", metavar="preparer|approver", help="As whom: by the name that the report has.")
    ] = None,
    time_stamp: Annotated[
        Path | None, typer.Option("--time-stamp", metavar="FILE.tsr", help="An authority's answer (RFC 3161) to keep with it.")
    ] = None,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Sign an issued report as its preparer or approver, or keep a time stamp with it; what was issued stays as it is.

    Where the configuration names `allowed_signers`, they alone may sign.

    Example: trainledger sign reports/issued/2026Q2-1 --key approver.pem --as approver
    """
    from dagster_project.evidence.countersigning import allowed_signers, sign_pack

    for line in sign_pack(path, key, role, time_stamp, allowed_signers(settings_if_there(config))):
        typer.echo(line)


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
    with shown() as listener, opened_trace(Home.of(settings)) as opened:
        if figure is not None:
            document, text = trace_figure(opened, figure, report, out, listener), figure_text
        else:
            document, text = trace_row(opened, source_row or "", listener), row_text
    typer.echo(json.dumps(document, default=plain_text, indent=1, ensure_ascii=False) if as_json else text(document))
