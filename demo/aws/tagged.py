"""Runs that launch their own tagged machines for each attempt, as an elastic cluster does."""

from __future__ import annotations

from dataclasses import dataclass, field

from demo.clock import HOUR, MICRO, seconds
from demo.organisation import Account, Workload, generator
from demo.simulation import Attempt, Hold, Run, World


@dataclass(frozen=True, slots=True)
class TaggedPlan:
    recorded_id: str
    workload: Workload
    account: Account
    region_id: str
    purchase: str
    nodes: int
    start: str
    hours: float
    pair_key: str | None = None
    tag: str | None = None  # as spelled on the machines, when it differs from the record
    breaks: tuple[tuple[float, str], ...] = ()  # (part of the planned hours, state) of attempts that did not finish
    speed: float = 1.0
    volume_gb: int = 500
    helper: str | None = None  # a tagged CPU machine beside the accelerators
    aliases: tuple[tuple[str, str], ...] = field(default=())


def tagged_run(world: World, plan: TaggedPlan) -> Run:
    """Launch the machines of every attempt and hold them; boot and teardown are billed to the tag, not held."""
    recorded_id = plan.recorded_id + world.suffix
    tag = (plan.tag or plan.recorded_id) + world.suffix
    random = generator("tagged", world.replica, plan.recorded_id)
    clock, left = seconds(plan.start), plan.hours
    attempts: list[Attempt] = []
    for number, (part, state) in enumerate((*plan.breaks, (1.0, "succeeded")), start=1):
        hours = left if state == "succeeded" else plan.hours * part
        left -= hours
        end = clock + int(hours * HOUR) + random.randrange(60)
        holds = []
        for node in range(plan.nodes):
            up = (clock - random.randrange(150, 420), end + random.randrange(25, 180))
            name = f"{recorded_id}-{number}-{node}"
            machine = world.launch(
                name, plan.account, plan.region_id, "trn1.32xlarge", plan.purchase, up, tag=tag, volume_gb=plan.volume_gb
            )
            holds.append(Hold(machine.instance_id, "trn1.32xlarge", clock * MICRO, end * MICRO, 16 if node % 2 else None))
        if plan.helper:
            world.launch(
                f"{recorded_id}-{number}-data", plan.account, plan.region_id, plan.helper, "on_demand", (clock, end), tag=tag
            )
        attempts.append(Attempt(f"{recorded_id}-a{number}", state, clock * MICRO, end * MICRO, tuple(holds)))
        clock = end + random.randrange(900, 3_600)
    tags, speed = {"cost_center": plan.workload.team}, plan.speed * random.uniform(0.97, 1.03)
    run = Run(recorded_id, plan.workload, attempts, plan.pair_key, plan.aliases, tags, speed, node_count=plan.nodes)
    world.runs.append(run)
    return run
