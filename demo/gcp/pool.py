"""What is not paired: committed v5p nodes without labels, shared v5e nodes of a cluster, a Vertex AI job, and the awkward cases.

Awkward on purpose: a label nobody recorded, a label left on a node another run then used, a node nobody logged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from demo.clock import MICRO, MONTHS, iso, month_bounds, seconds
from demo.gcp.account import BILLING_ACCOUNT, COMMITMENT_REGION, PLATFORM, PRETRAINING, RESEARCH, Project
from demo.gcp.nodes import TpuNode, add_node, recorded_run
from demo.organisation import ALIGN, EMBED, MOE, SWEEP, digest
from demo.simulation import Attempt, Hold, Run, World

BILL_END = month_bounds(MONTHS[-1])[1]
JOB_REPLICAS, JOB_CHIPS = 2, 16
TOWER = replace(EMBED, workload_key="embedding-refresh-tpu", framework="jax", tokens_per_chip_second=21_000)
TUNE = replace(ALIGN, framework="maxtext", tokens_per_chip_second=9_800)
DETR = replace(SWEEP, framework="jax", tokens_per_chip_second=11_500)

# a node that comes and goes: up, down, then start and end of each run on it
TUNINGS = [
    line.split()
    for line in """
2026-04-13T07:30:00 2026-04-27T18:00:00 2026-04-13T07:41:20 2026-04-19T22:10:51.500 2026-04-20T06:02:09 2026-04-27T17:52:30
2026-06-08T06:00:00 2026-06-24T12:00:00 2026-06-08T06:09:44 2026-06-24T11:41:03
2026-08-27T08:00:00 2026-09-11T20:00:00 2026-08-27T08:11:15 2026-09-04T13:37:26 2026-09-04T13:40:02.250 2026-09-11T19:48:59
""".strip().splitlines()
]


@dataclass(frozen=True, slots=True)
class Job:
    """A Vertex AI CustomJob: no node of ours, only its name."""

    display_name: str
    name: str
    project: Project
    region_id: str
    start: int
    end: int


def job_of(world: World) -> Job:
    number = 7_203_945_118_866_145_280 + world.replica
    name = f"projects/{RESEARCH.account_id}/locations/us-central1/customJobs/{number}"
    display_name = "reward-tuner-vertex-07" + world.suffix
    return Job(display_name, name, RESEARCH, "us-central1", seconds("2026-07-14T09:21:33"), seconds("2026-07-15T17:46:10"))


def commitment_id(world: World) -> str:
    return f"{digest('commitment', BILLING_ACCOUNT, world.replica)[:8]}-tpu-v5p-3y"


def build(world: World) -> None:
    _committed_nodes(world)
    _cluster(world)
    _vertex_job(world)
    _awkward(world)


def _committed_nodes(world: World) -> None:
    """One node that is nearly always busy, one that comes and goes; both inside the commitment. A third is paid on demand."""
    first, last = month_bounds(MONTHS[0])[0], BILL_END
    tower = add_node(
        world, "v5p-tower", PRETRAINING, COMMITMENT_REGION, "v5p", "committed", (first, last), chips=8, style="worker"
    )
    for month in MONTHS:
        start, end = month_bounds(month)
        recorded_run(
            world,
            f"tower-refresh-{month}",
            TOWER,
            [("succeeded", iso(start + 1_512)[:-1], iso(end - (2 * 3_600 + 407))[:-1], [(tower, 8)])],
        )
    for number, (up, down, *runs) in enumerate(TUNINGS, start=1):
        span = (seconds(up), seconds(down))
        name = f"v5p-tuning-{number}"
        node = add_node(world, name, PRETRAINING, COMMITMENT_REGION, "v5p", "committed", span, chips=4, style="worker")
        for letter, begun, done in zip("ab", runs[::2], runs[1::2], strict=False):
            recorded_run(world, f"reward-tuner-{number}{letter}", TUNE, [("succeeded", begun, done, [(node, 4)])])
    span = (seconds("2026-06-10T12:00:00"), seconds("2026-06-13T20:30:00"))
    node = add_node(world, "v5p-ablation", PRETRAINING, COMMITMENT_REGION, "v5p", "on_demand", span, chips=8, style="worker")
    recorded_run(
        world,
        "moe-tpu-ablation",
        replace(MOE, framework="maxtext"),
        [
            ("failed", "2026-06-10T12:08:31", "2026-06-11T03:50:12", [(node, 8)]),
            ("succeeded", "2026-06-11T04:31:40", "2026-06-13T20:21:18", [(node, 8)]),
        ],
    )


def _cluster(world: World) -> None:
    """Nodes of eight chips in a node pool: side by side, handed over within the hour, and still running."""

    def pool(number: int, up: str, down: str) -> list[TpuNode]:
        times = (seconds(up), seconds(down))
        names = (f"gke-sweep-v5e-{number}-{worker}" for worker in "ab")
        return [add_node(world, name, RESEARCH, "europe-west4", "v5e", "on_demand", times, style="gke") for name in names]

    left, right = pool(1, "2026-05-12T10:00:00", "2026-05-15T07:30:00")
    whole = "2026-05-12T10:07:12"
    for name, stop in (("detr-tpu-01", "2026-05-15T07:21:40"), ("detr-tpu-02", "2026-05-15T04:18:05")):
        recorded_run(world, name, DETR, [("succeeded", whole, stop, [(left, 4), (right, 4)])])
    nodes = pool(2, "2026-07-20T13:00:00", "2026-07-24T09:00:00")
    recorded_run(
        world,
        "detr-tpu-03",
        DETR,
        [("stopped", "2026-07-20T13:04:50", "2026-07-22T16:24:38.750", [(node, None) for node in nodes])],
    )
    recorded_run(
        world,
        "detr-tpu-04",
        DETR,
        [("succeeded", "2026-07-22T16:25:22.250", "2026-07-24T08:52:57", [(node, 8) for node in nodes])],
    )
    nodes = pool(3, "2026-09-26T08:30:00", "2026-10-10T00:00:00")
    recorded_run(world, "detr-tpu-05", DETR, [("running", "2026-09-26T08:41:17", None, [(node, 8) for node in nodes])])


def _vertex_job(world: World) -> None:
    job = job_of(world)
    hold = Hold(job.name, "v5e", job.start * MICRO, job.end * MICRO, JOB_CHIPS)
    attempt = Attempt(job.display_name, "succeeded", job.start * MICRO, job.end * MICRO, (hold,))
    world.runs.append(Run(job.display_name, TUNE, [attempt], record="vertex", node_count=JOB_REPLICAS))


def _awkward(world: World) -> None:
    up = (seconds("2026-08-18T08:00:00"), seconds("2026-08-19T03:15:00"))
    stale = add_node(world, "align-v5e", RESEARCH, "us-central1", "v5e", "on_demand", up, tag="align-tpu-a" + world.suffix)
    for name, start, end in (
        ("align-tpu-a", "2026-08-18T08:05:10", "2026-08-18T18:33:47"),
        ("align-tpu-b", "2026-08-18T18:44:29", "2026-08-19T03:11:02"),
    ):
        recorded_run(world, name, TUNE, [("succeeded", start, end, [(stale, 8)])])
    up = (seconds("2026-07-02T11:10:00"), seconds("2026-07-02T20:40:00"))
    add_node(world, "ghost-v5e", RESEARCH, "us-central1", "v5e", "on_demand", up, tag="ghost-tpu-2026-07" + world.suffix)
    up = (seconds("2026-06-17T09:00:00"), seconds("2026-06-18T13:20:00"))
    add_node(world, "scratch-v5e", PLATFORM, "us-central1", "v5e", "on_demand", up)
