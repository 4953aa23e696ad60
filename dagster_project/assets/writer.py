"""The writer of the home as a Dagster resource: the lock that everybody takes, the command line too."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from dagster_project.assets.internals import release_dead_runs
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
