"""Fleets that runs hold nearly all of the time: machines by the thousand, attempts of minutes to weeks, nodes that runs share.

Eight machines are a cluster that works through runs, mostly of a week. A run begins an attempt, loses it and begins the next five
minutes later, on all machines of the cluster; that is what a scheduler's requeue or a restart after a fault looks like.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random

from benchmarks.inputs.fleet import CHIPS, RATES, Fleet, month_hours, record_of

CLUSTER = 8
GAP = timedelta(minutes=5)
WEEK = timedelta(days=7)
KINDS = ("trn1.32xlarge", "trn1.32xlarge", "trn2.48xlarge")


@dataclass(frozen=True, slots=True)
class Held:
    """What share of a bill's rows are hours of machines that runs hold, and how."""

    share: float
    attempts_min: tuple[int, ...]  # lengths in minutes, of which each run has one
    sharers: int = 1  # runs that have an equal part of each machine of every fourth cluster
    has_pods: bool = False  # each hour of a machine has two rows of split cost allocation beside it
    run: timedelta = WEEK  # how long a run lasts, whatever its attempts
    is_one_run: bool = False  # that has all machines in one attempt


def draw_held(seed: int, month: datetime, rows: int, held: Held, payer: str) -> Fleet:
    """Machines for `share` of the rows, all of them held all month but for the gaps, and no other fleet."""
    hours = month_hours(month)
    per_machine = hours * (3 if held.has_pods else 1)
    fleet, random = Fleet(), Random(f"{seed}|{month:%Y-%m}")
    everything: list[tuple[str, str, int]] = []
    for cluster in range(max(1, round(rows * held.share / per_machine / CLUSTER))):
        kind = KINDS[cluster % len(KINDS)]
        names = [f"i-0fee{cluster:08x}{position:05x}" for position in range(CLUSTER)]
        for position, name in enumerate(names):
            n = cluster * CLUSTER + position + 1
            place = "us-east-2", "us-east-2a", 1 + cluster % 5, None, "plan" if cluster % 2 else "on_demand"
            fleet.nodes.append((n, name, kind, *place, RATES[kind], 0, hours, None))
        if held.is_one_run:
            everything += [(name, kind, CHIPS[kind]) for name in names]
            continue
        for sharer in range(held.sharers if cluster % 4 == 0 else 1):
            chips = CHIPS[kind] // (held.sharers if cluster % 4 == 0 else 1)
            _draw_runs(fleet, random, month, hours, f"{cluster:04d}-{sharer}", [(name, kind, chips) for name in names], held)
    if everything:
        times = [(month + timedelta(hours=5, minutes=7), month + timedelta(hours=hours))]
        fleet.records.append(record_of(f"held-{month:%y%m}-everything", random, everything[0][1], everything, times, []))
    return fleet


def _draw_runs(
    fleet: Fleet, random: Random, month: datetime, hours: int, place: str, nodes: list[tuple[str, str, int]], held: Held
) -> None:
    end, number = month + timedelta(hours=hours), 0
    begins = month + timedelta(seconds=random.randrange(86_400))
    while begins < end:
        length = timedelta(minutes=random.choice(held.attempts_min))
        until = min(begins + max(held.run, length), end)
        starts = [begins]
        while starts[-1] + length + GAP < until:
            starts.append(starts[-1] + length + GAP)
        times = [(one, min(next_one - GAP, until)) for one, next_one in pairwise([*starts, until + GAP])]
        fleet.records.append(record_of(f"held-{month:%y%m}-{place}-{number:02d}", random, nodes[0][1], nodes, times, []))
        begins, number = until + GAP, number + 1
