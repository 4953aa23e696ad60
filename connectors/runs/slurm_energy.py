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
ALL = ("extern", "batch", "interactive")


@dataclass(frozen=True, slots=True)
class Step:
    """A step with its joules; None where no plugin counted. `nodes` is empty where the step does not name them."""

    label: str  # extern, batch, interactive or the number of an srun
    started_at: datetime | None
    ended_at: datetime | None
    nodes: tuple[str, ...]
    joules: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Joules of machines between two times; no node means those of the job together."""

    node: str | None
    started_at: datetime
    ended_at: datetime
    joules: int


def joules_of(number: int | float | None) -> int | None:
    """A count of joules, or None for a mark of none."""
    if number is None or number != number or not 0 < number < _MOST or number in _NO_VALUES:
        return None
    return int(number)


def readings_of(steps: Iterable[Step], nodes: tuple[str, ...], job: Step) -> list[Reading]:
    """The readings of one attempt. `job` has its times and what the scheduler adds up for it."""
    known = [step for step in steps if _is_reading(step)]
    named = {label: [step for step in known if step.label == label] for label in ALL}
    sruns = [step for step in known if step.label not in ALL]
    whole = named["extern"] or ((named["batch"] or named["interactive"]) if len(nodes) == 1 else [])
    inner = sum(step.joules or 0 for step in sruns)
    # on one machine a batch step reads all that its sruns read; if it has less, its own meter was read too early
    if whole and (named["extern"] or sum(step.joules or 0 for step in whole) >= inner):
        return [_together(step) for step in whole]
    if sruns:
        return [reading for step in sruns for reading in _by_node(step, nodes)]
    if known:  # a batch step alone: its first machine, and nothing is known of the others
        return [reading for step in known for reading in _by_node(step, nodes[:1])]
    return [_together(job)] if _is_reading(job) else []


def _is_reading(step: Step) -> bool:
    """Whether a step has joules and a time in which machines can have used them."""
    if not (step.joules and step.started_at and step.ended_at and step.started_at < step.ended_at):
        return False
    return step.joules < _MOST_WATTS * (step.ended_at - step.started_at).total_seconds()


def _together(step: Step) -> Reading:
    return _reading(None, step, step.joules or 0)


def _by_node(step: Step, nodes: tuple[str, ...]) -> list[Reading]:
    """Joules of a step on its machines: those of the whole job stay together, others are shared evenly, to the joule."""
    own = tuple(node for node in step.nodes or nodes)
    if set(own) == set(nodes) and len(nodes) != 1:
        return [_together(step)]
    share, rest = divmod(step.joules or 0, len(own) or 1)
    return [_reading(node, step, share + (place < rest)) for place, node in enumerate(own)] or [_together(step)]


def _reading(node: str | None, step: Step, joules: int) -> Reading:
    assert step.started_at is not None and step.ended_at is not None
    return Reading(node, step.started_at, step.ended_at, joules)
