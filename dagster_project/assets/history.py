"""Dagster's history of a home, bounded: `history_megabytes` of the folder .dagster or of PostgreSQL, the oldest runs first.

In the folder a run lies in a file of its own, and its events of assets once more in the index that all runs share; on PostgreSQL
all are in one table, whose rows are counted: the room of removed ones is the server's to fill again. What goes with a run is all
of that but the newest materialisation of each asset and month and the newest result of each check, so that the pages of assets
show what they showed; of each asset's freshness the newest state stays. Runs whose publication an issued report was made of
stay, and so do the newest ones. A refresh that found nothing keeps its line in the list of runs and, once the next one has ended,
nothing else.

At the end of a refresh a few runs go at most, so that its cost does not grow with the history: the room they leave in the index
is taken by the next ones. `trainledger prune --yes` removes all that is above the bound and gives the room back to the disk.
"""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import dagster as dg

from dagster_project.assets.history_tables import bytes_on_server, forget, forget_states, is_sharded, published_by
from dagster_project.assets.names import REFRESH
from dagster_project.evidence import chain
from dagster_project.warehouse.site import Site
from dagster_project.warehouse.upkeep import bytes_below

LOG = logging.getLogger("trainledger")
NO_NEWS = "trainledger/found"  # tag of a refresh: "nothing" once it ended so, "nothing, no log" once its events are gone
AT_ONCE = 4  # runs that go at the end of a refresh at most; one makes room for one
NEWEST = 5  # runs that stay, however large they are
ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
INDEX = "history/runs/index.db"


@contextmanager
def bounded(instance: dg.DagsterInstance | None, run: dg.DagsterRun | None, home: Path, megabytes: int) -> Iterator[None]:
    """A run that writes in a home: afterwards it is known whether it published, and the history is below its bound."""
    before = _build_of(home)
    yield
    if instance and run:
        keep_bound(instance, home, megabytes)
        if run.job_name == REFRESH and before == _build_of(home):
            instance.add_run_tags(run.run_id, {NO_NEWS: "nothing"})


def keep_bound(instance: dg.DagsterInstance, home: Path, megabytes: int) -> None:
    """Remove what is too much, at most a few runs. That it cannot be removed is no failure of the refresh, and is logged."""
    try:
        for run in instance.get_runs(dg.RunsFilter(statuses=ENDED[:1], tags={NO_NEWS: "nothing"}), limit=AT_ONCE):
            forget(instance, run.run_id, is_listed=True)
            instance.add_run_tags(run.run_id, {NO_NEWS: "nothing, no log"})
        remove_runs(instance, home, megabytes, AT_ONCE)
    except Exception as error:
        LOG.warning("Dagster's history below %s was not shortened: %s: %s", home, type(error).__name__, error)


def remove_runs(instance: dg.DagsterInstance, home: Path, megabytes: int, at_most: int | None = None) -> int:
    """Remove the oldest runs that have ended until the history is below its bound; returns how many went."""
    if used(instance, home) <= megabytes * 1_000_000:
        return 0
    forget_states(instance)
    builds = {line["build_id"] for line in chain.lines_of(home / "reports")}
    ended = dg.RunsFilter(statuses=ENDED)
    limit = instance.get_runs_count(ended) - NEWEST
    if at_most is not None:
        limit = min(limit, at_most + len(builds))
    removed = 0
    for record in instance.get_run_records(ended, limit=limit, ascending=True) if limit > 0 else ():
        run_id = record.dagster_run.run_id
        if builds and any(build in published_by(instance, run_id) for build in builds):
            continue
        forget(instance, run_id)
        removed += 1
        if removed == at_most or used(instance, home) <= megabytes * 1_000_000:
            break
    return removed


def give_back_room(home: Path) -> None:
    """Make the files that all runs share as small as what is in them."""
    for name in (INDEX, "history/runs.db", "history/runs/.db"):  # the last has what no run wrote
        if (path := home / ".dagster" / name).exists():
            with closing(sqlite3.connect(path, timeout=60)) as connection:
                connection.execute("vacuum")
                connection.execute("pragma wal_checkpoint(truncate)")


def used(instance: dg.DagsterInstance, home: Path) -> int:
    """Bytes of the history, in the folder or on the server, without the room that the next runs take."""
    if not is_sharded(instance):
        return bytes_on_server(instance)
    index = home / ".dagster" / INDEX
    if not index.exists():
        return 0
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as connection:
        free = connection.execute("select freelist_count * page_size from pragma_freelist_count, pragma_page_size").fetchone()
    return bytes_below(home / ".dagster") - int(free[0])


def _build_of(home: Path) -> str | None:
    return (Site.of_home(home).publication() or {}).get("build_id")
