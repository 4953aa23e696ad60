"""Joules of a Slurm job: which of its steps tell them, so that nothing counts twice.

The plugins of acct_gather_energy read the meter of a machine, not of a process. The extern step runs on all machines of a job
from its start to its end, and with PrologFlags=Contain its joules are the job's (slurmctld adds no other step's). The batch step
runs on the first machine all that time. Steps of srun run inside. A count that is absent, infinite or 0 means that no plugin
counts, never that nothing was used (ADR 0055).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

# what Slurm writes for "no value" and "infinite" in 32 and 64 bits, in a step of an old parser also as a plain number
_NO_VALUES = {2**32 - 2, 2**32 - 1}
_MOST = 10**17  # ten thousand machines of 10 kW for 30 years
_MOST_WATTS = 10**9  # of a job
_OF_SLURM = ("extern", "batch", "interactive")  # the steps that Slurm starts itself
TOGETHER = (None,)  # as machines: those of the job, of which each one's share is unknown


@dataclass(frozen=True, slots=True)
class Step:
    """A step with its joules, 0 where no plugin counted. `nodes` is empty where the step does not name them."""

    label: str  # extern, batch, interactive or the number of an srun
    started_at: datetime | None
    ended_at: datetime | None
    nodes: tuple[str, ...]
    joules: int


def joules_of(number: int | float | None) -> int:
    """A count of joules; 0 for a mark of none."""
    return int(number) if number is not None and 0 < number < _MOST and number not in _NO_VALUES else 0


def readings_of(steps: Iterable[Step], nodes: tuple[str, ...], job: Step) -> list[tuple[Step, tuple[str | None, ...]]]:
    """The steps of one attempt that count, each with the machines that share its joules.

    `job` has its times and what the scheduler adds up for it.
    """
    known = [step for step in steps if _is_reading(step)]
    sruns = [step for step in known if step.label not in _OF_SLURM]
    extern, batch, interactive = ([step for step in known if step.label == label] for label in _OF_SLURM)
    whole = extern or (batch or interactive if len(nodes) == 1 else [])
    # on one machine a batch step reads all that its sruns read; if it has less, its own meter was read too early
    if whole and (extern or sum(step.joules for step in whole) >= sum(step.joules for step in sruns)):
        return [(step, TOGETHER) for step in whole]
    if known:  # a batch step alone: its first machine, and nothing is known of the others
        return [(step, _machines(step, nodes if sruns else nodes[:1])) for step in sruns or known]
    return [(job, TOGETHER)] if _is_reading(job) else []


def _is_reading(step: Step) -> bool:
    """Whether a step has joules and a time in which machines can have used them."""
    if not (step.joules and step.started_at and step.ended_at and step.started_at < step.ended_at):
        return False
    return step.joules < _MOST_WATTS * (step.ended_at - step.started_at).total_seconds()


def _machines(step: Step, nodes: tuple[str, ...]) -> tuple[str | None, ...]:
    """The machines of a step; joules of all machines of a job stay together."""
    own = step.nodes or nodes
    return TOGETHER if set(own) == set(nodes) and len(nodes) != 1 else own
