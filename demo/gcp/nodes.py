"""TPU nodes: slices of chips as the bill and the monitoring name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from demo.gcp.account import PLACES, Project
from demo.organisation import TAG_KEY
from demo.simulation import Instance, World


@dataclass(frozen=True, slots=True)
class TpuNode(Instance):
    """One TPU slice; `instance_id` is its node name and `tag` the run label on it."""

    account: Project
    chips: int = 8
    label_key: str = TAG_KEY
    labelled_from: int = 0  # labels are never retroactive
    style: str = "tpu"  # how the bill names it: tpu (node), worker (its first virtual machine), gke (an instance of a node pool)
    promotion: int = 0  # per cent of its cost that a promotion pays

    @property
    def zone(self) -> str:
        return PLACES[self.region_id].zone

    def label_at(self, second: int) -> str | None:
        return self.tag if second >= self.labelled_from else None


def nodes_of(world: World) -> list[TpuNode]:
    return [node for node in world.instances if isinstance(node, TpuNode)]


def add_node(
    world: World, name: str, project: Project, region_id: str, kind: str, purchase: str, up: tuple[int, int], **more: Any
) -> TpuNode:
    node = TpuNode(name + world.suffix, project, region_id, kind, purchase, *up, name=name, **more)
    world.instances.append(node)
    return node
