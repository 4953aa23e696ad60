"""The workloads that run on both clouds under the same pair keys, for as many tokens as their Trainium twins.

What a pair differs by is set here: llm-8b costs about a fifth less on TPU, bert-large about the same, vit has two pairs only.
Each attempt creates a node, labels it, and deletes it afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from demo.clock import HOUR, MICRO
from demo.gcp.account import PRETRAINING, RESEARCH, TPU_PRICES, Project
from demo.gcp.nodes import add_node
from demo.organisation import BERT, LLAMA, PAIR_KEYS, TAG_KEY, UNIT, VIT, Workload, generator
from demo.runs import tokens_of
from demo.simulation import Attempt, Hold, Run, World


class Pairing(NamedTuple):
    """How a workload usually runs on TPU."""

    workload: Workload
    name: str
    project: Project
    region_id: str
    kind: str
    chips: int
    purchase: str
    node_hour: float  # about what a Trainium node-hour costs with all that hangs on it; the bill is more precise
    cost_ratio: tuple[float, float]  # to the twin's cost: mean and spread


class Unusual(NamedTuple):
    breaks: tuple[tuple[float, str], ...] = ()  # (part of the planned hours, state) of attempts that did not finish
    purchase: str | None = None
    recorded_id: str | None = None  # where the node's label is not it
    label_key: str = TAG_KEY
    is_labelled_late: bool = False
    promotion: int = 0


PAIRINGS = (
    Pairing(
        replace(LLAMA, framework="maxtext"), "llm8b-tpu", PRETRAINING, "us-east5", "v6e", 32, "on_demand", 21.95, (0.72, 0.025)
    ),
    Pairing(replace(BERT, framework="jax"), "bert-tpu", RESEARCH, "us-central1", "v5e", 16, "spot", 8.6, (1.035, 0.06)),
    Pairing(replace(VIT, framework="jax"), "vit-tpu", RESEARCH, "us-central1", "v5e", 8, "on_demand", 21.5, (0.93, 0.05)),
)
UNUSUAL = {
    "llm8b-tpu-02": Unusual(((0.3, "failed"),)),
    "llm8b-tpu-03": Unusual(recorded_id="LLM8B-TPU/03"),
    "llm8b-tpu-04": Unusual(is_labelled_late=True),
    "llm8b-tpu-06": Unusual(purchase="flex_start"),
    "llm8b-tpu-07": Unusual(((0.11, "failed"),), purchase="calendar"),
    "bert-tpu-01": Unusual(((0.44, "interrupted"),)),
    "bert-tpu-04": Unusual(((0.2, "interrupted"), (0.35, "interrupted"))),
    "bert-tpu-05": Unusual(label_key="training-run-id"),
    "bert-tpu-08": Unusual(((0.6, "interrupted"),)),
    "vit-tpu-02": Unusual(promotion=30),
}


def build(world: World, twins: Mapping[str, Run]) -> None:
    for pairing in PAIRINGS:
        for number, key in enumerate(PAIR_KEYS[pairing.workload.workload_key], start=1):
            _add_run(world, pairing, number, twins[key])


def _add_run(world: World, pairing: Pairing, number: int, twin: Run) -> None:
    name = f"{pairing.name}-{number:02d}"
    unusual = UNUSUAL.get(name, Unusual())
    recorded_id = (unusual.recorded_id or name) + world.suffix
    clock, planned = _when(world, pairing, number, twin)
    random, left = generator("tpu run", recorded_id), planned
    attempts: list[Attempt] = []
    for attempt, (part, state) in enumerate((*unusual.breaks, (1.0, "succeeded")), start=1):
        hours = left if state == "succeeded" else planned * part
        left -= hours
        end = clock + int(hours * HOUR)
        up = (clock - random.randrange(120, 300), end + random.randrange(70, 160))
        node = add_node(
            world,
            f"{name}-n{attempt}",
            pairing.project,
            pairing.region_id,
            pairing.kind,
            unusual.purchase or pairing.purchase,
            up,
            chips=pairing.chips,
            promotion=unusual.promotion,
            volume_gb=200,
            tag=name + world.suffix,
            label_key=unusual.label_key,
            labelled_from=up[0] + 2 * HOUR if unusual.is_labelled_late and attempt == 1 else 0,
        )
        hold = Hold(node.instance_id, pairing.kind, clock * MICRO, end * MICRO, pairing.chips)
        attempts.append(Attempt(f"{recorded_id}-a{attempt}", state, hold.start, end * MICRO, (hold,)))
        clock = end + random.randrange(900, 2_700)
    tags, speed = {"cost_center": pairing.workload.team}, random.uniform(0.97, 1.03)
    run = Run(recorded_id, pairing.workload, attempts, twin.pair_key, tags=tags, speed=speed, tokens=tokens_of(twin))
    world.runs.append(run)


def _when(world: World, pairing: Pairing, number: int, twin: Run) -> tuple[int, float]:
    """Start and hours of a run that costs about `cost_ratio` times what its twin did, at the usual price."""
    mean, spread = pairing.cost_ratio
    random = generator("pair", pairing.workload.workload_key, number, world.replica)
    ratio = mean * math.exp(max(-2.0, min(2.0, random.gauss(0, 1))) * spread)
    holds = [hold for attempt in twin.attempts for hold in attempt.holds]
    node_hours = sum((hold.end or hold.start) - hold.start for hold in holds) / (MICRO * HOUR)
    start = holds[0].start // MICRO + random.randrange(18 * HOUR, 30 * HOUR)
    hourly = pairing.chips * (TPU_PRICES[pairing.kind, pairing.purchase] / UNIT)
    return start, node_hours * pairing.node_hour * ratio / hourly
