"""TPU nodes and the runs on them: the workloads paired with Trainium twins, and the rest.

The paired workloads run on both clouds under the same pair keys, for as many tokens as their twins; each attempt creates a node,
labels it, and deletes it afterwards. What a pair differs by is set here: llm-8b costs about a fifth less on TPU, bert-large about
the same, speech a quarter more, vit has two pairs only; ranking costs nearly twice as much on TPU, for less energy.
Not paired are committed v5p nodes without labels, shared v5e nodes of a cluster, a Vertex AI job, and the awkward cases: a label
nobody recorded, a label left on a node another run then used, a node nobody logged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from dagster_project.demo.clock import HOUR, MICRO, MONTHS, month_bounds, seconds
from dagster_project.demo.gcp.account import (
    COMMITMENT_REGION,
    EFFICIENCY,
    PLACES,
    PLATFORM,
    PRETRAINING,
    RESEARCH,
    TPU_PRICES,
    Project,
)
from dagster_project.demo.organisation import (
    ALIGN,
    BERT,
    CAPTIONS,
    EMBED,
    LLAMA,
    MOE,
    PAIR_KEYS,
    RANK,
    RANK_ON,
    SPEECH,
    SWEEP,
    TAG_KEY,
    UNIT,
    VIT,
    Workload,
    generator,
)
from dagster_project.demo.runs import tokens_of
from dagster_project.demo.simulation import Attempt, Hold, Instance, Run, World


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


class Pairing(NamedTuple):
    """How a workload usually runs on TPU."""

    workload: Workload
    name: str
    place: tuple[Project, str, str]  # with region and kind of chip
    chips: int
    purchase: str
    node_hour: float  # about what a Trainium node-hour costs with all that hangs on it; the bill is more precise
    cost_ratio: tuple[float, float]  # to the twin's cost: mean and spread


class Unusual(NamedTuple):
    """What one of a workload's runs has that the others have not."""

    breaks: tuple[tuple[float, str], ...] = ()  # (part of the planned hours, state) of attempts that did not finish
    purchase: str | None = None
    recorded_id: str | None = None  # where the node's label is not it
    label_key: str = TAG_KEY
    is_labelled_late: bool = False
    promotion: int = 0


V6E, V5E = (PRETRAINING, "us-east5", "v6e"), (RESEARCH, "us-central1", "v5e")
V4 = (EFFICIENCY, "us-central2", "v4")
PAIRINGS = (
    Pairing(replace(LLAMA, framework="maxtext"), "llm8b-tpu", V6E, 32, "on_demand", 21.95, (0.72, 0.025)),
    Pairing(replace(BERT, framework="jax"), "bert-tpu", V5E, 16, "spot", 8.6, (1.035, 0.06)),
    Pairing(replace(VIT, framework="jax"), "vit-tpu", V5E, 8, "on_demand", 21.5, (0.93, 0.05)),
    Pairing(replace(SPEECH, framework="jax"), "speech-tpu", V5E, 8, "on_demand", 21.5, (1.42, 0.04)),
    # about a third of its twin's hours on four chips: for more money less energy, which the profiles of the second show
    Pairing(replace(RANK, framework="jax"), "ranker-tpu", V4, 4, "on_demand", 2.235, (1.9, 0.004)),
    Pairing(replace(RANK_ON, framework="jax"), "ranker-on-tpu", V4, 4, "on_demand", 2.235, (1.9, 0.004)),
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

BILL_END = month_bounds(MONTHS[-1])[1]
TOWER = replace(EMBED, workload_key="embedding-refresh-tpu", framework="jax", mfu=0.31)
TUNE = replace(ALIGN, framework="maxtext", mfu=0.4)
DETR = replace(SWEEP, framework="jax", mfu=0.38)
ABLATION = replace(MOE, framework="maxtext", mfu=0.42)

# project, region, kind, purchase
COMMITTED = (PRETRAINING, COMMITMENT_REGION, "v5p", "committed")
BESIDE_COMMITMENT = (PRETRAINING, COMMITMENT_REGION, "v5p", "on_demand")
CLUSTER = (RESEARCH, "europe-west4", "v5e", "on_demand")
ALONE = (RESEARCH, "us-central1", "v5e", "on_demand")
PROFILED = (EFFICIENCY, "us-central1", "v5e", "on_demand")
UNLOGGED = (PLATFORM, "us-central1", "v5e", "on_demand")
# name, what and where, style, chips, up, down, label
NODES = (
    # one that is nearly always busy and one that comes and goes, both inside the commitment
    ("v5p-tower", COMMITTED, "worker", 8, "2026-04-01T00:00:00", "2026-10-01T00:00:00", None),
    ("v5p-tuning-1", COMMITTED, "worker", 4, "2026-04-13T07:30:00", "2026-04-27T18:00:00", None),
    ("v5p-tuning-2", COMMITTED, "worker", 4, "2026-06-08T06:00:00", "2026-06-24T12:00:00", None),
    ("v5p-tuning-3", COMMITTED, "worker", 4, "2026-08-27T08:00:00", "2026-09-11T20:00:00", None),
    ("v5p-ablation", BESIDE_COMMITMENT, "worker", 8, "2026-06-10T12:00:00", "2026-06-13T20:30:00", None),
    # a node pool
    ("gke-sweep-v5e-1-a", CLUSTER, "gke", 8, "2026-05-12T10:00:00", "2026-05-15T07:30:00", None),
    ("gke-sweep-v5e-1-b", CLUSTER, "gke", 8, "2026-05-12T10:00:00", "2026-05-15T07:30:00", None),
    ("gke-sweep-v5e-2-a", CLUSTER, "gke", 8, "2026-07-20T13:00:00", "2026-07-24T09:00:00", None),
    ("gke-sweep-v5e-2-b", CLUSTER, "gke", 8, "2026-07-20T13:00:00", "2026-07-24T09:00:00", None),
    ("gke-sweep-v5e-3-a", CLUSTER, "gke", 8, "2026-09-26T08:30:00", "2026-10-10T00:00:00", None),
    ("gke-sweep-v5e-3-b", CLUSTER, "gke", 8, "2026-09-26T08:30:00", "2026-10-10T00:00:00", None),
    # what profiles were taken of
    ("caption-v5e-1", PROFILED, "tpu", 8, "2026-09-07T08:00:00", "2026-09-07T11:20:00", "caption-tpu-1"),
    ("caption-v5e-2", PROFILED, "tpu", 8, "2026-09-08T08:00:00", "2026-09-08T11:20:00", "caption-tpu-2"),
    ("caption-v5e-3", PROFILED, "tpu", 8, "2026-09-09T08:00:00", "2026-09-09T11:20:00", "caption-tpu-3"),
    # a label left on a node another run then used, a label nobody recorded, a node nobody logged
    ("align-v5e", ALONE, "tpu", 8, "2026-08-18T08:00:00", "2026-08-19T03:15:00", "align-tpu-a"),
    ("ghost-v5e", ALONE, "tpu", 8, "2026-07-02T11:10:00", "2026-07-02T20:40:00", "ghost-tpu-2026-07"),
    ("scratch-v5e", UNLOGGED, "tpu", 8, "2026-06-17T09:00:00", "2026-06-18T13:20:00", None),
)
# run, workload, state, start, end (None while it runs), how its nodes' names begin, chips held on each (None for the whole node)
ATTEMPTS = (
    ("tower-refresh-2026-04", TOWER, "succeeded", "2026-04-01T00:25:12", "2026-04-30T21:53:13", "v5p-tower", 8),
    ("tower-refresh-2026-05", TOWER, "succeeded", "2026-05-01T00:25:12", "2026-05-31T21:53:13", "v5p-tower", 8),
    ("tower-refresh-2026-06", TOWER, "succeeded", "2026-06-01T00:25:12", "2026-06-30T21:53:13", "v5p-tower", 8),
    ("tower-refresh-2026-07", TOWER, "succeeded", "2026-07-01T00:25:12", "2026-07-31T21:53:13", "v5p-tower", 8),
    ("tower-refresh-2026-08", TOWER, "succeeded", "2026-08-01T00:25:12", "2026-08-31T21:53:13", "v5p-tower", 8),
    ("tower-refresh-2026-09", TOWER, "succeeded", "2026-09-01T00:25:12", "2026-09-30T21:53:13", "v5p-tower", 8),
    ("reward-tuner-1a", TUNE, "succeeded", "2026-04-13T07:41:20", "2026-04-19T22:10:51.500", "v5p-tuning-1", 4),
    ("reward-tuner-1b", TUNE, "succeeded", "2026-04-20T06:02:09", "2026-04-27T17:52:30", "v5p-tuning-1", 4),
    ("reward-tuner-2a", TUNE, "succeeded", "2026-06-08T06:09:44", "2026-06-24T11:41:03", "v5p-tuning-2", 4),
    ("reward-tuner-3a", TUNE, "succeeded", "2026-08-27T08:11:15", "2026-09-04T13:37:26", "v5p-tuning-3", 4),
    ("reward-tuner-3b", TUNE, "succeeded", "2026-09-04T13:40:02.250", "2026-09-11T19:48:59", "v5p-tuning-3", 4),
    ("moe-tpu-ablation", ABLATION, "failed", "2026-06-10T12:08:31", "2026-06-11T03:50:12", "v5p-ablation", 8),
    ("moe-tpu-ablation", ABLATION, "succeeded", "2026-06-11T04:31:40", "2026-06-13T20:21:18", "v5p-ablation", 8),
    ("caption-tpu-1", CAPTIONS[0], "succeeded", "2026-09-07T08:05:20", "2026-09-07T11:14:10", "caption-v5e-1", 8),
    ("caption-tpu-2", CAPTIONS[1], "succeeded", "2026-09-08T08:05:20", "2026-09-08T11:14:10", "caption-v5e-2", 8),
    ("caption-tpu-3", CAPTIONS[2], "succeeded", "2026-09-09T08:05:20", "2026-09-09T11:14:10", "caption-v5e-3", 8),
    # side by side, handed over within the hour, and still running
    ("detr-tpu-01", DETR, "succeeded", "2026-05-12T10:07:12", "2026-05-15T07:21:40", "gke-sweep-v5e-1", 4),
    ("detr-tpu-02", DETR, "succeeded", "2026-05-12T10:07:12", "2026-05-15T04:18:05", "gke-sweep-v5e-1", 4),
    ("detr-tpu-03", DETR, "stopped", "2026-07-20T13:04:50", "2026-07-22T16:24:38.750", "gke-sweep-v5e-2", None),
    ("detr-tpu-04", DETR, "succeeded", "2026-07-22T16:25:22.250", "2026-07-24T08:52:57", "gke-sweep-v5e-2", 8),
    ("detr-tpu-05", DETR, "running", "2026-09-26T08:41:17", None, "gke-sweep-v5e-3", 8),
    ("align-tpu-a", TUNE, "succeeded", "2026-08-18T08:05:10", "2026-08-18T18:33:47", "align-v5e", 8),
    ("align-tpu-b", TUNE, "succeeded", "2026-08-18T18:44:29", "2026-08-19T03:11:02", "align-v5e", 8),
)


def add_paired(world: World, twins: Mapping[str, Run]) -> None:
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
        node_name, purchase = f"{name}-n{attempt}", unusual.purchase or pairing.purchase
        tag, node_id = name + world.suffix, node_name + world.suffix
        node = TpuNode(node_id, *pairing.place, purchase, *up, tag, 200, node_name, pairing.chips)
        labelled_from = up[0] + 2 * HOUR if unusual.is_labelled_late and attempt == 1 else 0
        node = replace(node, label_key=unusual.label_key, labelled_from=labelled_from, promotion=unusual.promotion)
        world.instances.append(node)
        hold = Hold(node.instance_id, node.instance_type, clock * MICRO, end * MICRO, pairing.chips)
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
    hourly = pairing.chips * (TPU_PRICES[pairing.place[2], pairing.purchase] / UNIT)
    return start, node_hours * pairing.node_hour * ratio / hourly


def job_of(world: World) -> TpuNode:
    """A Vertex AI CustomJob: no node of ours, only its name."""
    resource = f"projects/{RESEARCH.account_id}/locations/us-central1/customJobs/{7_203_945_118_866_145_280 + world.replica}"
    name, up = "reward-tuner-vertex-07" + world.suffix, ("2026-07-14T09:21:33", "2026-07-15T17:46:10")
    return TpuNode(resource, *ALONE, seconds(up[0]), seconds(up[1]), tag=name, name=name, chips=16)


def add_pool(world: World) -> None:
    nodes = {}
    for name, place, style, chips, up, down, label in NODES:
        tag, node_id = label and label + world.suffix, name + world.suffix
        nodes[name] = TpuNode(node_id, *place, seconds(up), seconds(down), tag, name=name, chips=chips, style=style)
    world.instances.extend(nodes.values())
    runs: dict[str, Run] = {}
    for name, workload, state, start, end, prefix, held_chips in ATTEMPTS:
        begun, done = micros(start), None if end is None else micros(end)
        held = [node for node_name, node in nodes.items() if node_name.startswith(prefix)]
        holds = tuple(Hold(node.instance_id, node.instance_type, begun, done, held_chips) for node in held)
        tags = {"cost_center": workload.team}
        speed = generator("pool", name, world.replica).uniform(0.95, 1.05)
        run = runs.setdefault(name, Run(name + world.suffix, workload, [], tags=tags, speed=speed, node_count=len(held)))
        run.attempts.append(Attempt(f"{run.recorded_id}-a{len(run.attempts) + 1}", state, begun, done, holds))
    world.runs.extend(runs.values())
    job = job_of(world)
    span = (job.launched * MICRO, job.terminated * MICRO)
    attempt = Attempt(job.name, "succeeded", *span, (Hold(job.instance_id, "v5e", *span, job.chips),))
    world.runs.append(Run(job.name, TUNE, [attempt], record="vertex", node_count=2))


def micros(time: str) -> int:
    """Microseconds of a time that may end in quarters of a second, which a double holds exactly."""
    return int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() * MICRO)
