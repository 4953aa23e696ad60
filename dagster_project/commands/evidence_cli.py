"""The commands `verify` and `restatements`: what each reads of its options, and the one module it calls.

As in cli.py, whatever is heavy is imported inside the command that needs it.
"""

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
    config: Config = DEFAULT_CONFIG,
    as_json: Json = False,
) -> int:
    """Verify an issued report (files, figures from their SQL, rendering, chain, signature), or the landing. Changes nothing.

    Exit code 1: something differs. A report needs no configuration.

    Example: trainledger verify reports/issued/2026Q2-1.zip

    Example: trainledger verify --landing
    """
    from dagster_project.commands.progress import shown
    from dagster_project.commands.verifying import require_a_subject, verify_landing, verify_report

    require_a_subject(path, landing, from_landing)
    if path is not None:
        with shown() as listener:
            return verify_report(path, from_landing, typer.echo, as_json=as_json, listener=listener)
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
) -> None:
    """Compare issued figures with what is known today, by cause; the next refresh publishes them as fct_restatements.

    Example: trainledger restatements --quarter 2026Q2
    """
    from dagster_project.commands.progress import shown
    from dagster_project.commands.restatements import tell_restatements

    with shown() as listener:
        tell_restatements(settings_of(config), quarter, wait, typer.echo, say, as_json=as_json, listener=listener)
