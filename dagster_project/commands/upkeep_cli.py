"""The commands `accept`, `prune`, `compact` and `dbt`: what each reads of its options, and the one module it calls.

As in cli.py, whatever is heavy is imported inside the command that needs it.
"""

from typing import Annotated

import typer

from dagster_project.commands.endings import guarded, say
from dagster_project.commands.options import DEFAULT_CONFIG, Config, Wait, settings_of


@guarded
def accept(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The source that the delivery is of.")],
    partition: Annotated[str, typer.Argument(metavar="PARTITION", help="Its partition, as `trainledger status` shows it.")],
    export: Annotated[str | None, typer.Option("--export", help="Of several exports of the partition this one.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="Who decides it; the user of this machine unless given.")] = None,
    config: Config = DEFAULT_CONFIG,
    wait: Wait = 0.0,
) -> None:
    """Let a delivery count that was held back, as unlike the one before it or as another export of its payer.

    Example: trainledger accept aws-bill 2026-04
    """
    from dagster_project.commands.accepting import accept as accept_held

    accept_held(settings_of(config), source, partition, export, by, wait, say)


@guarded
def prune(
    yes: Annotated[bool, typer.Option("--yes", help="Really remove; without it only what would go is shown.")] = False,
    config: Config = DEFAULT_CONFIG,
    wait: Wait = 0.0,
) -> None:
    """Remove superseded generations that retention no longer keeps; each leaves a tombstone. A dry run unless --yes.

    Example: trainledger prune --yes
    """
    from dagster_project.commands.pruning import run

    run(settings_of(config), yes=yes, wait=wait, tell=typer.echo, say=say)


@guarded
def compact(config: Config = DEFAULT_CONFIG, wait: Wait = 0.0) -> None:
    """Put small landed deliveries of one source and day into one file each; no byte and no figure changes.

    A refresh does it by itself where a source has a thousand of them.

    Example: trainledger compact
    """
    from dagster_project.commands.compacting import run

    run(settings_of(config), wait=wait, tell=typer.echo, say=say)


@guarded
def dbt(
    arguments: Annotated[list[str], typer.Argument(metavar="-- ARGUMENTS", help="Any dbt command with its options.")],
    config: Config = DEFAULT_CONFIG,
    wait: Wait = 0.0,
) -> int:
    """Run any dbt command on the build of this configuration, alone: `docs generate`, `test`, `ls`, `show`, ...

    What changes tables (run, build, seed, ...) is never published; the next refresh then builds everything again. Exit code 1:
    a model or test failed; 2: dbt did not work.

    Example: trainledger dbt -- docs generate
    """
    from dagster_project.commands.dbt_by_hand import run

    return run(settings_of(config), arguments, wait, say)
