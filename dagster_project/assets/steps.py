"""What every step has: its declaration, the writer lock of the home, and how it fails.

A step fails with the words of the failure, its place and its remedy, and is tried again only where that can help: a refused
delivery, a failed gate and a wrong setting stay what they are however often they are tried; a source that could not be read may
be readable in a minute.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import PrivateAttr

from dagster_project.assets.alerting import alerts_of
from dagster_project.assets.history import bounded
from dagster_project.assets.internals import end_dead_runs
from dagster_project.assets.labels import PACKAGE, code_references
from dagster_project.assets.lives import hold_life
from dagster_project.assets.names import POOL
from dagster_project.base.failures import GateError, TrainledgerError
from dagster_project.base.locking import writer_lock
from dagster_project.landing.missing import Missing

UI_WAIT = 3600.0
UNREADABLE_RETRIES = 2
UNREADABLE_WAIT = 30.0
if TYPE_CHECKING:
    Result = dg.MaterializeResult[Any]
else:
    Result = dg.MaterializeResult  # Dagster looks for the class itself in what an asset returns


def step(key: dg.AssetKey, code: str, **declared: Any) -> Callable[..., dg.AssetsDefinition]:
    """Declare an asset of one step; `code` is the module below dagster_project that does its work."""
    metadata = {**declared.pop("metadata", {}), **code_references(PACKAGE / code)}
    declare: Callable[..., dg.AssetsDefinition] = dg.asset(key=key, metadata=metadata, **{"pool": POOL, **declared})
    return declare


class WriterLock(dg.ConfigurableResource[Any]):
    """The writer lock of the home, held for a whole run: two runs never mix their steps in one build file.

    What the run is missing goes with it from the look at the sources to the last step. Behind the lock its alerts are sent.
    """

    home: str
    wait: float = UI_WAIT
    alerts: str = ""  # the configuration, where it has alerts
    history_megabytes: int = 500
    _missing: Missing | None = PrivateAttr(default=None)

    @property
    def missing(self) -> Missing | None:
        """What was missing at this run's look at the sources, or None where it had none."""
        return self._missing

    def keep(self, missing: Missing) -> None:
        """Hand what is missing to the last step of this run."""
        self._missing = missing

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["WriterLock"]:
        run = context.run.run_id if context.run else "a run"
        job = context.run.job_name if context.run else ""
        holder = f"Dagster {job} {run}".replace("  ", " ")
        if context.instance and context.run:
            hold_life(context.instance, context.run, Path(self.home))
        with alerts_of(self.alerts, context, lambda: self._missing), writer_lock(Path(self.home), holder, self.wait):
            if context.instance:
                end_dead_runs(context.instance, Path(self.home))
            with bounded(context.instance, context.run, Path(self.home), self.history_megabytes):
                yield self


def failure_of(error: BaseException) -> dg.Failure:
    """A failure as Dagster shows it; one of the product has words, and a failed gate brings its first rows in them."""
    if not isinstance(error, TrainledgerError):
        return dg.Failure(f"{type(error).__name__}: {error}")
    gates = "\n".join(error.gates) if isinstance(error, GateError) else None
    parts = {"where": error.where, "remedy": error.remedy, "gates": gates}
    return dg.Failure(str(error), metadata={name: text for name, text in parts.items() if text}, allow_retries=False)


@contextmanager
def explained() -> Iterator[None]:
    """Let a step fail with what, where and remedy instead of a traceback, and not be tried again."""
    try:
        yield
    except TrainledgerError as error:
        raise failure_of(error) from error
