"""The workloads that run on both clouds under the same pair keys, for as many tokens as their Trainium twins.

What a pair differs by is set here: llm-8b costs about a fifth less on TPU, bert-large about the same, vit has two pairs only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from demo.clock import HOUR, MICRO
from demo.gcp.account import PRETRAINING, RESEARCH, TPU_PRICES, Project
from demo.gcp.nodes import TpuPlan, labelled_run
from demo.organisation import BERT, LLAMA, PAIR_KEYS, UNIT, VIT, Workload, generator
from demo.runs import tokens_of
from demo.simulation import Run, World

# about what a Trainium node-hour of the workload costs with all that hangs on it; the bill is more precise
NODE_HOUR = {LLAMA.workload_key: 21.95, BERT.workload_key: 8.6, VIT.workload_key: 21.5}
COST_RATIO = {LLAMA.workload_key: (0.72, 0.025), BERT.workload_key: (1.035, 0.06), VIT.workload_key: (0.93, 0.05)}
LLAMA_PURCHASE = {6: "flex_start", 7: "calendar"}
BREAKS: dict[str, dict[int, tuple[tuple[float, str], ...]]] = {
    LLAMA.workload_key: {2: ((0.3, "failed"),), 7: ((0.11, "failed"),)},
    BERT.workload_key: {
        1: ((0.44, "interrupted"),),
        4: ((0.2, "interrupted"), (0.35, "interrupted")),
        8: ((0.6, "interrupted"),),
    },
    VIT.workload_key: {},
}


def pairs_of(world: World) -> dict[str, Run]:
    return {run.pair_key: run for run in world.runs if run.pair_key}


def build(world: World, twins: Mapping[str, Run]) -> None:
    for number, key in enumerate(PAIR_KEYS[LLAMA.workload_key], start=1):
        label, place = f"llm8b-tpu-{number:02d}", (PRETRAINING, "us-east5", "v6e", 32)
        plan = _planned(world, label, LLAMA, number, twins[key], place, "on_demand", "maxtext")
        plan = replace(plan, label=label, labelled_late=number == 4, purchase=LLAMA_PURCHASE.get(number, "on_demand"))
        labelled_run(world, replace(plan, recorded_id="LLM8B-TPU/03") if number == 3 else plan)
    for number, key in enumerate(PAIR_KEYS[BERT.workload_key], start=1):
        place = (RESEARCH, "us-central1", "v5e", 16)
        plan = _planned(world, f"bert-tpu-{number:02d}", BERT, number, twins[key], place, "spot")
        labelled_run(world, replace(plan, label_key="training-run-id") if number == 5 else plan)
    for number, key in enumerate(PAIR_KEYS[VIT.workload_key], start=1):
        place = (RESEARCH, "us-central1", "v5e", 8)
        plan = _planned(world, f"vit-tpu-{number:02d}", VIT, number, twins[key], place, "on_demand")
        labelled_run(world, replace(plan, promotion=30) if number == 2 else plan)


def _planned(
    world: World,
    name: str,
    workload: Workload,
    number: int,
    twin: Run,
    place: tuple[Project, str, str, int],  # project, region, kind, chips
    purchase: str,
    framework: str = "jax",
) -> TpuPlan:
    _, _, kind, chips = place
    start, hours = _when(world, workload, number, twin, chips * (TPU_PRICES[kind, purchase] / UNIT))
    breaks = BREAKS[workload.workload_key].get(number, ())
    as_run = replace(workload, framework=framework)
    return TpuPlan(name, as_run, *place, purchase, start, hours, twin.pair_key, tokens_of(twin), breaks=breaks)


def _when(world: World, workload: Workload, number: int, twin: Run, hourly: float) -> tuple[int, float]:
    """Start and hours of a run that costs COST_RATIO times what its twin did."""
    mean, spread = COST_RATIO[workload.workload_key]
    random = generator("pair", workload.workload_key, number, world.replica)
    ratio = mean * math.exp(max(-2.0, min(2.0, random.gauss(0, 1))) * spread)
    holds = [hold for attempt in twin.attempts for hold in attempt.holds]
    node_hours = sum((hold.end or hold.start) - hold.start for hold in holds) / (MICRO * HOUR)
    start = holds[0].start // MICRO + random.randrange(18 * HOUR, 30 * HOUR)
    return start, node_hours * NODE_HOUR[workload.workload_key] * ratio / hourly
