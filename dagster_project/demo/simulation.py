"""What really happened: machines, runs, and which run held which chips when. Everything written is a view of this."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from dagster_project.demo.clock import DAY, MICRO, NOW, micros, month_of
from dagster_project.demo.organisation import NODE_CHIPS, Account, Workload, digest

FOREVER = 2**62


def normalise(recorded_id: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "-", recorded_id.lower())[:63]


@dataclass(frozen=True, slots=True)
class Instance:
    """One machine from launch to termination; `tag` is the run tag on it, as spelled there."""

    instance_id: str
    account: Account
    region_id: str
    instance_type: str
    purchase: str  # on_demand, spot, block
    launched: int
    terminated: int
    tag: str | None = None
    volume_gb: int = 0
    name: str = ""

    @property
    def zone(self) -> str:
        return f"{self.region_id}b"


@dataclass(frozen=True, slots=True)
class Hold:
    """A run on a node; chips None means the whole node, end None that it still runs."""

    resource_id: str
    instance_type: str
    start: int  # microseconds
    end: int | None
    chips: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    attempt_id: str
    state: str
    start: int
    end: int | None
    holds: tuple[Hold, ...]


@dataclass(slots=True)
class Run:
    recorded_id: str
    workload: Workload
    attempts: list[Attempt]
    pair_key: str | None = None
    aliases: tuple[tuple[str, str], ...] = ()
    tags: dict[str, str] = field(default_factory=dict)
    speed: float = 1.0  # against the workload's usual tokens per chip-second
    record: str = "run_json"  # or sagemaker, vertex
    node_count: int = 1
    tokens: int | None = None  # where the run was to see as many as its twin on the other cloud

    @property
    def run_id(self) -> str:
        return normalise(self.recorded_id)


@dataclass
class World:
    """One copy of the organisation's fleet; `--scale N` makes N of them side by side."""

    replica: int
    instances: list[Instance] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    @property
    def suffix(self) -> str:
        return f"-x{self.replica}" if self.replica else ""

    def launch(
        self, name: str, account: Account, region_id: str, instance_type: str, purchase: str, up: tuple[int, int], **more: Any
    ) -> Instance:
        instance_id = "i-0" + digest("instance", self.replica, account.account_id, name, up[0])[:16]
        instance = Instance(instance_id, account, region_id, instance_type, purchase, *up, name=name, **more)
        self.instances.append(instance)
        return instance

    @cached_property
    def held(self) -> dict[str, list[tuple[int, int, int, str]]]:
        """Who held what: start, end (microseconds), chips and run by resource. To be asked for once all runs are known."""
        held: dict[str, list[tuple[int, int, int, str]]] = {}
        for run in self.runs:
            for hold in (hold for attempt in run.attempts for hold in attempt.holds):
                chips = hold.chips or NODE_CHIPS[hold.instance_type]
                held.setdefault(hold.resource_id, []).append((hold.start, hold.end or FOREVER, chips, run.run_id))
        return held

    @cached_property
    def recorded(self) -> frozenset[tuple[str, str, str]]:
        """Account, type and month of which a record names a machine: elsewhere it is unknown what was idle."""
        machines = {machine.instance_id: (machine.account.account_id, machine.instance_type) for machine in self.instances}
        return frozenset(
            (*machines[resource], month_of(second))
            for resource, holds in self.held.items()
            if resource in machines
            for start, end, *_ in holds
            for second in (*range(start // MICRO, min(end // MICRO, NOW), DAY), min(end // MICRO, NOW) - 1)
        )

    @cached_property
    def ambiguous(self) -> frozenset[str]:
        """Ids that two records have when they are normalised. To be asked for once all runs are known."""
        spellings = Counter(normalise(recorded_id) for recorded_id in {run.recorded_id for run in self.runs})
        return frozenset(run_id for run_id, count in spellings.items() if count > 1)

    def holders(self, resource_id: str, start: int, end: int) -> list[tuple[int, int, int, str]]:
        """Holds touching the interval (microseconds), clipped to it."""
        clipped = ((max(a, start), min(b, end), chips, run) for a, b, chips, run in self.held.get(resource_id, ()))
        return [hold for hold in clipped if hold[0] < hold[1]]


def recorded_run(world: World, name: str, workload: Workload, attempts: list[tuple[Any, ...]], **more: Any) -> None:
    """A run on machines there are: attempts are (state, start, end, [(machine, chips)]), times as text, no end while it runs."""
    recorded_id = name + world.suffix
    built = []
    for number, (state, start, end, nodes) in enumerate(attempts, start=1):
        span = (micros(start), None if end is None else micros(end))
        holds = tuple(Hold(node.instance_id, node.instance_type, *span, chips) for node, chips in nodes)
        built.append(Attempt(f"{recorded_id}-a{number}", state, *span, holds))
    more.setdefault("tags", {"cost_center": workload.team})
    world.runs.append(Run(recorded_id, workload, built, node_count=max(len(attempt.holds) for attempt in built), **more))


def occupied(holds: Sequence[tuple[int, int, int, str]], chips: int) -> dict[str, Fraction]:
    """Node-time of each run: chips held over the chips there are, or over the chips promised where too many were."""
    cuts = sorted({edge for start, end, _, _ in holds for edge in (start, end)})
    node_time: dict[str, Fraction] = defaultdict(Fraction)
    for left, right in pairwise(cuts):
        active = [(held, run) for start, end, held, run in holds if start <= left and right <= end]
        divisor = max(chips, sum(held for held, _ in active))
        for held, run in active:
            node_time[run] += Fraction((right - left) * held, divisor)
    return dict(node_time)
