"""Both payers' fleets: tagged runs with machines of their own, a Capacity Block, a shared cluster, and the awkward cases.

Awkward on purpose: a tag nobody recorded, a tag left on a machine another run then used, two ids that normalise alike, a
managed job without any machine of ours, and one cluster nobody logged.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import Any

from dagster_project.demo.aws.account import EFFICIENCY, PRODUCTION, RESEARCH, ROBOTICS, VISION
from dagster_project.demo.clock import HOUR, MICRO, MONTHS, NOW, iso, month_bounds, seconds
from dagster_project.demo.organisation import (
    ALIGN,
    BERT,
    DISTILL,
    EMBED,
    LLAMA,
    MOE,
    NODE_CHIPS,
    PAIR_KEYS,
    RANK,
    RANK_ON,
    SPEECH,
    SWEEP,
    VIT,
    Account,
    Workload,
    generator,
)
from dagster_project.demo.simulation import Attempt, Hold, Instance, Run, World, recorded_run
from dagster_project.demo.truth import Rest

NODE_TYPE = "trn1.32xlarge"
GPU_RANK = replace(RANK, framework="pytorch", mfu=0.38)
TYPES = {
    RANK: "trn2.3xlarge",
    RANK_ON: "trn2.3xlarge",
    DISTILL: "trn2.3xlarge",
    GPU_RANK: "p5.48xlarge",
}  # of the machines that are not NODE_TYPE
# where tagged runs launch their machines: account, region, purchase, nodes, GB of volume, a tagged CPU machine beside them
SHAPES: dict[Workload, tuple[Account, str, str, int, int, str | None]] = {
    LLAMA: (PRODUCTION, "us-east-1", "on_demand", 6, 500, "c6i.16xlarge"),
    BERT: (RESEARCH, "us-west-2", "spot", 3, 500, None),
    EMBED: (PRODUCTION, "us-east-1", "on_demand", 2, 500, None),
    ALIGN: (RESEARCH, "us-west-2", "on_demand", 1, 0, None),
    VIT: (VISION, "us-west-2", "on_demand", 2, 500, None),
    SPEECH: (VISION, "us-west-2", "on_demand", 1, 0, None),
    RANK: (EFFICIENCY, "us-east-2", "on_demand", 1, 0, None),
    RANK_ON: (EFFICIENCY, "us-east-2", "on_demand", 1, 0, None),
    DISTILL: (EFFICIENCY, "us-east-2", "on_demand", 1, 0, None),
    GPU_RANK: (EFFICIENCY, "us-east-2", "on_demand", 1, 0, None),
}
LLAMA_STARTS = """
2026-04-06T09:14:07 2026-04-20T13:02:41 2026-05-11T07:48:30 2026-05-29T20:11:53 2026-06-15T10:30:19
2026-07-10T15:45:02 2026-08-04T06:20:37 2026-09-08T11:05:44
"""
BERT_STARTS = """
2026-04-09T08:02:11 2026-04-27T16:40:28 2026-05-18T05:33:50 2026-06-09T12:21:06 2026-07-07T09:57:35
2026-07-30T22:16:14 2026-08-19T14:08:59 2026-09-16T07:36:22
"""
VIT_STARTS = "2026-06-23T10:17:38 2026-08-26T08:51:04"
SPEECH_STARTS = """
2026-07-06T13:05:21 2026-07-23T08:40:10 2026-08-05T14:31:48 2026-08-20T09:12:33 2026-09-03T10:44:02 2026-09-17T15:20:57
"""
# six without profiles of their TPU twins, and six with
RANK_STARTS = """
2026-05-04T08:10:00 2026-05-07T09:20:00 2026-05-12T07:45:00 2026-05-15T10:05:00 2026-05-20T08:30:00 2026-05-26T09:00:00
2026-08-03T08:15:00 2026-08-06T09:40:00 2026-08-11T07:50:00 2026-08-14T10:10:00 2026-08-19T08:25:00 2026-08-25T09:05:00
"""
# what meters were beside: the driver's power, a rack, NVML
METERED_RUNS = (
    ("distill-trn2-01", DISTILL, "2026-09-22T09:30:00", 3.0),
    ("distill-trn2-02", DISTILL, "2026-09-23T09:30:00", 3.0),
    ("ranker-gpu-01", GPU_RANK, "2026-09-15T13:00:00", 2.0),
)
# (part of the planned hours, state) of the attempts that did not finish, by run
BREAKS: dict[str, tuple[tuple[float, str], ...]] = {
    **dict.fromkeys(("llm8b-cpt-03", "llm8b-cpt-06"), ((0.16, "failed"),)),
    "bert-mlm-02": ((0.37, "interrupted"),),
    "bert-mlm-05": ((0.52, "interrupted"),),
    "bert-mlm-07": ((0.21, "interrupted"), (0.34, "interrupted")),
}
# the id in the record and the tag on the machines, where they are not spelled alike
SPELLINGS = {"llm8b-cpt-03": ("llm8b-cpt-03", "LLM8B.CPT-03"), "bert-mlm-04": ("BERT.Large/mlm-04", "bert-large-mlm-04")}
# a tag that another run left behind, a tag nobody recorded, and neither tag nor record
LONE_MACHINES = (
    ("align-sweep", RESEARCH, "us-west-2", "2026-08-25T08:00:00", "2026-08-26T02:10:00", "align-sweep-a"),
    ("ghost", PRODUCTION, "us-east-1", "2026-05-20T10:04:00", "2026-05-20T16:31:12", "ghost-run-2026-05"),
    ("slam-experiments", ROBOTICS, "eu-west-1", "2026-07-21T09:00:00", "2026-07-22T12:15:00", None),
)
# run b reuses run a's machine; the tag still names a
STALE_RUNS = (
    ("align-sweep-a", "succeeded", "2026-08-25T08:06:40", "2026-08-25T19:22:17", (0,), None),
    ("align-sweep-b", "succeeded", "2026-08-25T19:29:03", "2026-08-26T02:08:31", (0,), None),
)

# the Capacity Block: bought once, then instance-hours without charge
BLOCK_TYPE, BLOCK_NODES, BLOCK_REGION = "trn2.48xlarge", 8, "us-east-2"
BLOCK_BOUGHT, BLOCK_REFUNDED = seconds("2026-05-28T09:00:00"), seconds("2026-07-20T14:00:00")
BLOCK_START, BLOCK_END = seconds("2026-06-24T11:30:00"), seconds("2026-07-08T11:30:00")
BLOCK_SECONDS = BLOCK_NODES * (BLOCK_END - BLOCK_START)
# two stages across the month edge, a hand-over at odd seconds, then two runs side by side on eight chips each;
# (run, state, start, end, slots, chips): slot 5 has lost its host and comes back as slot 8
BLOCK_RUNS = (
    ("moe-120b-stage1", "failed", "2026-06-24T11:52:13", "2026-06-26T18:44:31", (0, 1, 2, 3, 4, 5, 6, 7), 16),
    ("moe-120b-stage1", "succeeded", "2026-06-26T19:10:09", "2026-06-29T03:17:41", (0, 1, 2, 3, 4, 6, 7), 16),
    ("moe-120b-stage2", "failed", "2026-06-29T03:21:09", "2026-07-01T04:40:13", (0, 1, 2, 3, 4, 6, 7, 8), None),
    ("moe-120b-stage2", "succeeded", "2026-07-01T05:05:58", "2026-07-05T16:33:27", (0, 1, 2, 3, 4, 6, 7, 8), None),
    ("moe-eval-left", "succeeded", "2026-07-05T16:41:44", "2026-07-08T11:12:36", (0, 1, 2, 3, 4, 6, 7, 8), 8),
    ("moe-eval-right", "succeeded", "2026-07-05T16:41:44", "2026-07-08T09:48:05", (0, 1, 2, 3, 4, 6, 7, 8), 8),
)

# campaigns of four shared machines without tags; the last still runs, and October's bill is not there yet
CAMPAIGNS = (
    ("2026-04-07T08:13:20", "2026-04-11T08:41:49"),
    ("2026-05-06T17:41:09", "2026-05-10T18:09:38"),
    ("2026-06-12T06:05:57", "2026-06-16T06:34:26"),
    ("2026-07-13T12:30:45", "2026-07-17T12:59:14"),
    ("2026-08-17T09:22:31", "2026-08-21T09:51:00"),
    ("2026-09-25T14:07:55", iso(NOW)),
)
# (run, state, start, end, slots, chips); each campaign shows one way of sharing its machines, campaign c has slots 4c to 4c + 3
SWEEPS = (
    # hand-over within an hour, with a quarter of a second in it
    ("detr-sweep-01", "succeeded", "2026-04-07T08:23:31", "2026-04-09T07:36:57.250", range(4), 16),
    ("detr-sweep-02", "succeeded", "2026-04-09T07:37:16.250", "2026-04-11T08:19:44", range(4), None),
    # eight chips each, side by side; one is stopped a little earlier
    ("detr-sweep-03", "succeeded", "2026-05-06T17:51:20", "2026-05-10T17:47:33", range(4, 8), 8),
    ("detr-sweep-04", "stopped", "2026-05-06T17:52:57", "2026-05-10T15:47:20", range(4, 8), 8),
    # one after the other
    ("detr-sweep-05", "succeeded", "2026-06-12T06:16:08", "2026-06-14T05:29:34", range(8, 12), None),
    ("detr-sweep-06", "succeeded", "2026-06-14T05:30:47", "2026-06-16T06:12:21", range(8, 12), None),
    # the old run lets go 47 s after the new one has begun: more chips promised than there are
    ("detr-sweep-07", "succeeded", "2026-07-13T12:40:56", "2026-07-15T11:55:09", range(12, 16), 16),
    ("detr-sweep-08", "succeeded", "2026-07-15T11:54:22", "2026-07-17T12:37:09", range(12, 16), 16),
    # a failure at night, two of four machines idle until the morning
    ("detr-sweep-09", "failed", "2026-08-17T09:32:42", "2026-08-18T23:46:08", range(16, 20), 16),
    ("detr-sweep-09", "succeeded", "2026-08-18T23:52:37", "2026-08-19T08:46:08", range(16, 18), 16),
    ("detr-sweep-10", "succeeded", "2026-08-19T08:46:19", "2026-08-21T09:28:55", range(16, 20), 16),
    ("detr-sweep-11", "succeeded", "2026-09-25T14:16:15", "2026-09-28T03:45:18", range(20, 24), 16),
    ("detr-sweep-12", "running", "2026-09-28T03:45:49", None, range(20, 24), 16),
)

# the SageMaker training job: no machine of ours, only its ARN
JOB_NODES = 2
JOB_START, JOB_END = seconds("2026-08-11T07:03:26"), seconds("2026-08-12T14:18:49")


def block_arn(world: World) -> str:
    return f"arn:aws:ec2:us-east-2:{PRODUCTION.account_id}:capacity-reservation/cr-0a11ce5b10c7{world.replica:05d}"


def fee_share(world: World, second_count: int) -> Rest:
    """An hour row's part of the block's fee: its seconds of all the instance-seconds that were bought."""
    return Rest(block_arn(world), *Fraction(second_count, BLOCK_SECONDS).as_integer_ratio())


def job_arn(world: World) -> str:
    return f"arn:aws:sagemaker:us-east-1:{VISION.account_id}:training-job/segmenter-ft-2026-08-11{world.suffix}"


def build(world: World) -> None:
    _paired_runs(world)
    # two nodes nearly always busy: what the Savings Plan was bought for
    for month in MONTHS:
        first, last = month_bounds(month)
        hours = (last - first) / HOUR - (0.8 if month == "2026-06" else 1.9)
        _elastic_run(world, f"embedding-refresh-{month}", EMBED, iso(first + 35 * 60 + 12), hours)
    _standing_runs(world, _block_machines(world), MOE, BLOCK_RUNS)
    for name, start in (("Ablation.7B_a", "2026-06-03T13:20:00"), ("ablation-7b_a", "2026-06-04T09:10:00")):
        _elastic_run(world, name, ALIGN, start, 1.6)
    for number, (key, start) in enumerate(zip(PAIR_KEYS[VIT.workload_key], VIT_STARTS.split(), strict=True), start=1):
        _elastic_run(world, f"vit-h14-{number:02d}", VIT, start, 22.4 + number, pair_key=key)
    for number, (key, start) in enumerate(zip(PAIR_KEYS[SPEECH.workload_key], SPEECH_STARTS.split(), strict=True), start=1):
        _elastic_run(world, f"speech-{number:02d}", SPEECH, start, 1.5 + number / 8, pair_key=key)
    ranked = [(workload, key) for workload in (RANK, RANK_ON) for key in PAIR_KEYS[workload.workload_key]]
    for (workload, key), start in zip(ranked, RANK_STARTS.split(), strict=True):
        _elastic_run(world, f"ranker-trn2-{key[-2:]}", workload, start, 8.0, pair_key=key)
    for name, workload, start, hours in METERED_RUNS:
        _elastic_run(world, name, workload, start, hours)
    _standing_runs(world, _shared_machines(world), SWEEP, SWEEPS)
    lone = []
    for name, account, region_id, up, down, tag in LONE_MACHINES:
        life = (seconds(up), seconds(down))
        lone.append(world.launch(name, account, region_id, NODE_TYPE, "on_demand", life, tag=tag and tag + world.suffix))
    _standing_runs(world, lone, ALIGN, STALE_RUNS)
    hold = Hold(job_arn(world), NODE_TYPE, JOB_START * MICRO, JOB_END * MICRO)
    name = "segmenter-ft-2026-08-11" + world.suffix
    attempt = Attempt(name, "succeeded", hold.start, hold.end, (hold,))
    world.runs.append(Run(name, VIT, [attempt], record="sagemaker", node_count=JOB_NODES))


def _paired_runs(world: World) -> None:
    random = generator("paired", world.replica)
    for workload, stem, starts, shortest, longest in (
        (LLAMA, "llm8b-cpt", LLAMA_STARTS, 50, 66),
        (BERT, "bert-mlm", BERT_STARTS, 30, 38),
    ):
        for number, (key, start) in enumerate(zip(PAIR_KEYS[workload.workload_key], starts.split(), strict=True), start=1):
            name, hours = f"{stem}-{number:02d}", random.uniform(shortest, longest)
            aliases = (("slurm", str(41_000 + 100 * world.replica + number)),) if workload is LLAMA else ()
            _elastic_run(world, name, workload, start, hours, pair_key=key, aliases=aliases)


def _elastic_run(world: World, name: str, workload: Workload, start: str, planned: float, **more: Any) -> None:
    """Launch tagged machines for every attempt of a run of `planned` hours; boot and teardown are billed to the tag, not held."""
    account, region_id, purchase, nodes, volume_gb, helper = SHAPES[workload]
    kind = TYPES.get(workload, NODE_TYPE)
    recorded, spelled = SPELLINGS.get(name, (name, name))
    tag, random = spelled + world.suffix, generator("tagged", world.replica, recorded)
    clock, left = seconds(start), planned
    attempts = []
    for number, (part, state) in enumerate((*BREAKS.get(name, ()), (1.0, "succeeded")), start=1):
        stem = f"{recorded}{world.suffix}-{number}"
        hours = left if state == "succeeded" else planned * part
        left -= hours
        end = clock + int(hours * HOUR) + random.randrange(60)
        held = []
        for node in range(nodes):
            up = (clock - random.randrange(150, 420), end + random.randrange(25, 180))
            machine = world.launch(f"{stem}-{node}", account, region_id, kind, purchase, up, tag=tag, volume_gb=volume_gb)
            held.append((machine, NODE_CHIPS[kind] if node % 2 else None))
        if helper:
            world.launch(f"{stem}-data", account, region_id, helper, "on_demand", (clock, end), tag=tag)
        attempts.append((state, iso(clock), iso(end), held))
        clock = end + random.randrange(900, 3_600)
    recorded_run(world, recorded, workload, attempts, speed=random.uniform(0.97, 1.03), **more)


def _block_machines(world: World) -> list[Instance]:
    """Up at multiples of 9 seconds, so that hours billed are short decimals; slot 5 loses its host and comes back."""
    lives = [(f"block-{slot}", BLOCK_START + 9 * (20 + 7 * slot), BLOCK_END) for slot in range(BLOCK_NODES)]
    lives[5] = (*lives[5][:2], seconds("2026-06-26T18:45:00"))
    lives.append(("block-5-again", seconds("2026-06-28T20:00:09"), BLOCK_END))
    return [world.launch(name, PRODUCTION, BLOCK_REGION, BLOCK_TYPE, "block", (up, down)) for name, up, down in lives]


def _shared_machines(world: World) -> list[Instance]:
    slots = []
    for number, (start, end) in enumerate(CAMPAIGNS, start=1):
        random = generator("campaign", world.replica, number)
        for node in range(4):
            up = (seconds(start) + random.randrange(240), seconds(end) + random.randrange(45, 400))
            slots.append(world.launch(f"shared-{number}-{node}", VISION, "us-west-2", NODE_TYPE, "on_demand", up))
    return slots


def _standing_runs(world: World, slots: list[Instance], workload: Workload, table: tuple[Any, ...]) -> None:
    """The runs of a table such as SWEEPS, on machines that outlive them."""
    for name, rows in groupby(table, key=lambda row: row[0]):
        attempts = [(state, start, end, [(slots[slot], chips) for slot in held]) for _, state, start, end, held, chips in rows]
        recorded = name + world.suffix
        more: dict[str, Any] = {"speed": generator("sweep", recorded).uniform(0.9, 1.1)}
        if workload is SWEEP:
            more |= {"aliases": (("kubernetes", f"vision/{recorded}"),), "tags": {"cluster": "shared"}}
        recorded_run(world, name, workload, attempts, **more)
