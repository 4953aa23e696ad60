"""The writer of the home as a Dagster resource: the lock that everybody takes, and the queue's slots of runs that were killed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from dagster_project.assets.names import POOL
from dagster_project.locking import writer_lock

UI_WAIT = 3600.0


class WriterLock(dg.ConfigurableResource):
    """The writer lock of the home, held for a whole run: two runs never mix their steps in one build file."""

    home: str
    wait: float = UI_WAIT

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["WriterLock"]:
        run = context.run.run_id if context.run else "a run"
        job = context.run.job_name if context.run else ""
        with writer_lock(Path(self.home), f"Dagster {job} {run}".replace("  ", " "), self.wait):
            if context.instance:
                release_dead_runs(context.instance)
            yield self


def release_dead_runs(instance: dg.DagsterInstance) -> None:
    """Give back the pool slots of runs whose process was killed: who calls this holds the writer lock, so no live run has one."""
    storage = instance.event_log_storage
    for run_id in storage.get_concurrency_info(POOL).active_run_ids:
        storage.free_concurrency_slots_for_run(run_id)
        run = instance.get_run_by_id(run_id)
        if run and not run.is_finished:
            instance.report_run_failed(
                run, "Its process ended in the middle of a step. The next refresh builds everything again."
            )
