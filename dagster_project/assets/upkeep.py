"""The job prune, and its part for the command line: what retention and `history_megabytes` no longer keep goes."""

from typing import Any

import dagster as dg

from dagster_project.assets.command_line import opened_instance
from dagster_project.assets.history import give_back_room, remove_runs, used
from dagster_project.assets.names import POOL
from dagster_project.assets.steps import WriterLock, explained
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home
from dagster_project.warehouse.upkeep import remove_superseded


def prune_job(settings: Settings) -> Any:
    """The job that the schedule prune runs: the same as `trainledger prune --yes`."""

    @dg.op(name="remove", pool=POOL, description="Superseded deliveries, what killed writers left, and Dagster's oldest runs.")
    def remove(context: dg.OpExecutionContext, writer: WriterLock) -> None:
        with explained():
            for removal in remove_superseded(Home.of(settings), yes=True):
                context.log.info(f"Removed {removal.generation.path}, {removal.size} bytes.")
            count = remove_runs(context.instance, settings.home, settings.history_megabytes)
            give_back_room(settings.home)
        context.log.info(f"Removed {count} runs of Dagster's history.")

    @dg.job(
        name="prune",
        executor_def=dg.in_process_executor,
        description="Remove what the home need not keep any longer; as `trainledger prune --yes`.",
        tags={"trainledger/started_by": "Dagster"},
    )
    def prune() -> None:
        remove()

    return prune


def bytes_of_history(home: Home) -> int:
    """Bytes of the history where it lies, which may be a server."""
    with opened_instance(home.root) as instance:
        return used(instance, home.root)


def shorten_history(home: Home) -> int:
    """Remove the oldest runs above the bound and give their room back to the disk; returns how many went."""
    with opened_instance(home.root) as instance:
        count = remove_runs(instance, home.root, home.settings.history_megabytes)
    give_back_room(home.root)
    return count
