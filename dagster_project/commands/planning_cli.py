"""The command `plan`: what it reads of its options, and the one module it calls."""

from pathlib import Path
from typing import Annotated

import typer

from dagster_project.commands.endings import guarded, say
from dagster_project.commands.options import DEFAULT_CONFIG, Config, Json, settings_of


@guarded
def plan(
    workload: Annotated[str, typer.Option("--workload", metavar="W", help="The workload_key of its runs.")],
    detect: Annotated[str, typer.Option("--detect", metavar="SHARE", help="The difference that matters.")] = "10%",
    power: Annotated[
        str, typer.Option("--power", metavar="SHARE", help="How probably it is to be found: 50%, 80% or 90%.")
    ] = "80%",
    register: Annotated[bool, typer.Option("--register", help="Write the plan where its source finds it.")] = False,
    pair_key: Annotated[
        str, typer.Option("--pair-key", metavar="PATTERN", help="Pairs of the plan; * at the end is any text.")
    ] = "*",
    pairs: Annotated[int | None, typer.Option("--pairs", metavar="N", help="How many; default: those that are needed.")] = None,
    first_day: Annotated[
        str | None, typer.Option("--first-day", metavar="D", help="From which day both sides start, UTC; default: today.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="TEXT", help="The promise, like 'loss below 2.1'; default: the runs'.")
    ] = None,
    tokens: Annotated[
        int | None, typer.Option("--tokens", metavar="N", min=1, help="Or: the same tokens on both sides; default: the runs'.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the plan here instead: *.plan.csv.")] = None,
    as_json: Json = False,
    config: Config = DEFAULT_CONFIG,
) -> None:
    """Say how many clusters, pairs and quarters a comparison of a workload needs, and register its pairs before they run.

    Only pairs that were registered before their costs could be seen decide: the plan's own time in its store is what counts.

    Example: trainledger plan --workload llama-8b --detect 10% --power 80%

    Example: trainledger plan --workload llama-8b --register --pair-key 'seed-*' --target 'loss below 2.1'
    """
    from dagster_project.base.clock import now, parse_instant
    from dagster_project.base.failures import UsageError
    from dagster_project.commands import planning

    given = {"--pairs": pairs, "--first-day": first_day, "--target": target, "--tokens": tokens, "--out": out}
    if not register and (idle := [option for option, value in given.items() if value is not None]):
        raise UsageError(f"{', '.join(idle)} belong to a plan that is registered", remedy="Give --register too.")
    settings, asked = settings_of(config), planning.asked_of(workload, detect, power)
    needs = planning.plan(settings, asked, typer.echo, as_json=as_json)
    if register:
        day = (parse_instant(first_day, "--first-day") if first_day else now()).date()
        rule = planning.Rule(pair_key, pairs, day, target, tokens)
        where = planning.register(settings, asked, rule, out, needs["pairs_needed"])
        say(f"Registered: {where}. It counts from the time that its store gives it; write a change as another plan.")
