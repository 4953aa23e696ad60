"""TPU nodes and the runs that create one for each attempt, label it, and delete it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from demo.clock import HOUR, MICRO, seconds
from demo.gcp.account import PLACES, Project
from demo.organisation import TAG_KEY, Workload, generator
from demo.simulation import Attempt, Hold, Instance, Run, World


@dataclass(frozen=True, slots=True)
class TpuNode(Instance):
    """One TPU slice; `instance_id` is its node name and `tag` the run label on it."""

    chips: int = 8
    label_key: str = TAG_KEY
    labelled_from: int = 0  # labels are never retroactive
    style: str = "tpu"  # how the bill names it: tpu (node), worker (its first virtual machine), gke (an instance of a node pool)
    promotion: int = 0  # per cent of its cost that a promotion pays

    @property
    def project(self) -> Project:
        assert isinstance(self.account, Project)
        return self.account

    @property
    def zone(self) -> str:
        return PLACES[self.region_id].zone

    def label_at(self, second: int) -> str | None:
        return self.tag if second >= self.labelled_from else None


def nodes_of(world: World) -> list[TpuNode]:
    return [node for node in world.instances if isinstance(node, TpuNode)]


@dataclass(frozen=True, slots=True)
class TpuPlan:
    recorded_id: str
    workload: Workload
    project: Project
    region_id: str
    kind: str
    chips: int
    purchase: str
    start: int
    hours: float
    pair_key: str | None = None
    tokens: int | None = None
    label: str | None = None  # as spelled on the node, when it is not the recorded id
    label_key: str = TAG_KEY
    breaks: tuple[tuple[float, str], ...] = ()  # (part of the planned hours, state) of attempts that did not finish
    labelled_late: bool = False
    promotion: int = 0


def add_node(
    world: World, name: str, project: Project, region_id: str, kind: str, purchase: str, up: tuple[int, int], **more: Any
) -> TpuNode:
    node = TpuNode(name + world.suffix, project, region_id, kind, purchase, up[0], up[1], name=name, **more)
    world.instances.append(node)
    return node


def labelled_run(world: World, plan: TpuPlan) -> Run:
    recorded_id = plan.recorded_id + world.suffix
    label = (plan.label or plan.recorded_id) + world.suffix
    stem = (plan.label or plan.recorded_id).replace("_", "-")
    random = generator("tpu run", recorded_id)
    clock, left = plan.start, plan.hours
    attempts: list[Attempt] = []
    for number, (part, state) in enumerate((*plan.breaks, (1.0, "succeeded")), start=1):
        hours = left if state == "succeeded" else plan.hours * part
        left -= hours
        end = clock + int(hours * HOUR)
        up = (clock - random.randrange(120, 300), end + random.randrange(70, 160))
        labelled_from = up[0] + 2 * HOUR if plan.labelled_late and number == 1 else 0
        shape: dict[str, Any] = {"chips": plan.chips, "promotion": plan.promotion, "volume_gb": 200}
        shape |= {"tag": label, "label_key": plan.label_key, "labelled_from": labelled_from}
        node = add_node(world, f"{stem}-n{number}", plan.project, plan.region_id, plan.kind, plan.purchase, up, **shape)
        hold = Hold(node.instance_id, plan.kind, clock * MICRO, end * MICRO, plan.chips)
        attempts.append(Attempt(f"{recorded_id}-a{number}", state, clock * MICRO, end * MICRO, (hold,)))
        clock = end + random.randrange(900, 2_700)
    tags, speed = {"cost_center": plan.workload.team}, random.uniform(0.97, 1.03)
    run = Run(recorded_id, plan.workload, attempts, plan.pair_key, (), tags, speed, tokens=plan.tokens)
    world.runs.append(run)
    return run


def recorded_run(world: World, name: str, workload: Workload, attempts: list[tuple], **more: Any) -> Run:
    """A run on standing nodes; attempts are (state, start, end, [(node, chips)]) with times as text, end None while it runs."""
    recorded_id = name + world.suffix
    built = []
    for number, (state, start, end, nodes) in enumerate(attempts, start=1):
        begun, done = micros(start), None if end is None else micros(end)
        holds = tuple(Hold(node.instance_id, node.instance_type, begun, done, chips) for node, chips in nodes)
        built.append(Attempt(f"{recorded_id}-a{number}", state, begun, done, holds))
    count = max(len(attempt.holds) for attempt in built)
    run = Run(recorded_id, workload, built, tags={"cost_center": workload.team}, node_count=count, **more)
    world.runs.append(run)
    return run


def micros(time: str) -> int:
    """Microseconds of a time that may end in a fraction of a second."""
    whole, _, fraction = time.partition(".")
    return seconds(whole) * MICRO + int(fraction.ljust(6, "0") or 0)
