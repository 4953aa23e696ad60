"""Payer A's fleet: tagged on-demand, Savings Plan and Spot runs on trn1, a Capacity Block of trn2, and the awkward cases.

Awkward on purpose: a tag nobody recorded, a tag left on a machine another run then used, two ids that normalise alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from demo.aws.tagged import TaggedPlan, tagged_run
from demo.clock import HOUR, MICRO, MONTHS, iso, month_bounds, seconds
from demo.organisation import ALIGN, BERT, EMBED, LLAMA, MOE, PAIR_KEYS, PRODUCTION, RESEARCH, Workload, generator
from demo.simulation import Attempt, Hold, Instance, Run, World

LLAMA_STARTS = """
2026-04-06T09:14:07 2026-04-20T13:02:41 2026-05-11T07:48:30 2026-05-29T20:11:53 2026-06-15T10:30:19
2026-07-10T15:45:02 2026-08-04T06:20:37 2026-09-08T11:05:44
"""
BERT_STARTS = """
2026-04-09T08:02:11 2026-04-27T16:40:28 2026-05-18T05:33:50 2026-06-09T12:21:06 2026-07-07T09:57:35
2026-07-30T22:16:14 2026-08-19T14:08:59 2026-09-16T07:36:22
"""
Breaks = dict[int, tuple[tuple[float, str], ...]]
LLAMA_BREAKS: Breaks = dict.fromkeys((3, 6), ((0.16, "failed"),))
BERT_BREAKS: Breaks = {
    2: ((0.37, "interrupted"),),
    5: ((0.52, "interrupted"),),
    7: ((0.21, "interrupted"), (0.34, "interrupted")),
}


@dataclass(frozen=True, slots=True)
class Block:
    """A Capacity Block: bought once, then instance-hours without charge."""

    arn: str
    region_id: str
    instance_type: str
    instances: int
    bought: int
    start: int
    end: int
    refunded: int

    @property
    def instance_seconds(self) -> int:
        return self.instances * (self.end - self.start)


def block_of(world: World) -> Block:
    arn = f"arn:aws:ec2:us-east-2:{PRODUCTION.account_id}:capacity-reservation/cr-0a11ce5b10c7{world.replica:05d}"
    times = map(seconds, ("2026-05-28T09:00:00", "2026-06-24T11:30:00", "2026-07-08T11:30:00", "2026-07-20T14:00:00"))
    return Block(arn, "us-east-2", "trn2.48xlarge", 8, *times)


def build(world: World) -> None:
    _paired_runs(world)
    _monthly_refreshes(world)
    _block_runs(world)
    _ambiguous_pair(world)
    _stale_tag(world)
    ghost = (seconds("2026-05-20T10:04:00"), seconds("2026-05-20T16:31:12"))  # tagged, but nobody wrote a record
    world.launch("ghost", PRODUCTION, "us-east-1", "trn1.32xlarge", "on_demand", ghost, tag="ghost-run-2026-05" + world.suffix)


def _paired_runs(world: World) -> None:
    random = generator("paired", world.replica)
    for number, start in enumerate(LLAMA_STARTS.split(), start=1):
        name, key, hours = f"llm8b-cpt-{number:02d}", PAIR_KEYS[LLAMA.workload_key][number - 1], random.uniform(50, 66)
        tag, breaks = "LLM8B.CPT-03" if number == 3 else None, LLAMA_BREAKS.get(number, ())
        plan = TaggedPlan(name, LLAMA, PRODUCTION, "us-east-1", "on_demand", 6, start, hours, key, tag, breaks)
        slurm = ("slurm", str(41_000 + 100 * world.replica + number))
        tagged_run(world, replace(plan, helper="c6i.16xlarge", aliases=(slurm,)))
    for number, start in enumerate(BERT_STARTS.split(), start=1):
        name, tag = ("BERT.Large/mlm-04", "bert-large-mlm-04") if number == 4 else (f"bert-mlm-{number:02d}", None)
        key, hours, breaks = PAIR_KEYS[BERT.workload_key][number - 1], random.uniform(30, 38), BERT_BREAKS.get(number, ())
        tagged_run(world, TaggedPlan(name, BERT, RESEARCH, "us-west-2", "spot", 3, start, hours, key, tag, breaks))


def _monthly_refreshes(world: World) -> None:
    """Two nodes nearly always busy: what the Savings Plan was bought for."""
    for month in MONTHS:
        first, last = month_bounds(month)
        start = first + 35 * 60 + 12
        hours = (last - first) / HOUR - (0.8 if month == "2026-06" else 1.9)
        tagged_run(
            world,
            TaggedPlan(f"embedding-refresh-{month}", EMBED, PRODUCTION, "us-east-1", "on_demand", 2, iso(start)[:-1], hours),
        )


def _ambiguous_pair(world: World) -> None:
    for name, start in (("Ablation.7B_a", "2026-06-03T13:20:00"), ("ablation-7b_a", "2026-06-04T09:10:00")):
        tagged_run(world, TaggedPlan(name, ALIGN, RESEARCH, "us-west-2", "on_demand", 1, start, 1.6, volume_gb=0))


def _stale_tag(world: World) -> None:
    """Run b reuses run a's machine; the tag still names a."""
    tag = "align-sweep-a" + world.suffix
    up = (seconds("2026-08-25T08:00:00"), seconds("2026-08-26T02:10:00"))
    machine = world.launch("align-sweep", RESEARCH, "us-west-2", "trn1.32xlarge", "on_demand", up, tag=tag)
    for name, start, end in (
        ("align-sweep-a", "2026-08-25T08:06:40", "2026-08-25T19:22:17"),
        ("align-sweep-b", "2026-08-25T19:29:03", "2026-08-26T02:08:31"),
    ):
        _record(world, name, ALIGN, [("succeeded", start, end, [(machine, None, start, end)])])


def _record(world: World, name: str, workload: Workload, attempts: list[tuple], speed: float = 1.0) -> Run:
    """A run from (state, start, end, [(machine, chips, start, end)]) with times as text."""
    built = []
    for number, (state, start, end, nodes) in enumerate(attempts, start=1):
        holds = tuple(
            Hold(machine.instance_id, machine.instance_type, seconds(a) * MICRO, seconds(b) * MICRO, chips)
            for machine, chips, a, b in nodes
        )
        recorded = f"{name}{world.suffix}-a{number}"
        built.append(Attempt(recorded, state, seconds(start) * MICRO, seconds(end) * MICRO, holds))
    count = max(len(attempt.holds) for attempt in built)
    run = Run(name + world.suffix, workload, built, tags={"cost_center": workload.team}, speed=speed, node_count=count)
    world.runs.append(run)
    return run


def _block_machines(world: World, block: Block) -> list[Instance]:
    """Up at multiples of 9 seconds, so that hours billed are short decimals; slot 5 loses its host and comes back."""
    slots = []
    for slot in range(block.instances):
        up = block.start + 9 * (20 + 7 * slot)
        end = block.end if slot != 5 else seconds("2026-06-26T18:45:00")
        slots.append(world.launch(f"block-{slot}", PRODUCTION, block.region_id, block.instance_type, "block", (up, end)))
    again = (seconds("2026-06-28T20:00:09"), block.end)
    slots.append(world.launch("block-5-again", PRODUCTION, block.region_id, block.instance_type, "block", again))
    return slots


def _block_runs(world: World) -> None:
    """Two stages across the month edge, a hand-over at odd seconds, then two runs side by side on eight chips each."""
    machines = _block_machines(world, block_of(world))
    first, later = machines[:8], [*machines[:5], *machines[6:]]
    seven = [machine for machine in first if machine is not machines[5]]
    launched, crash, resumed, handed = "2026-06-24T11:52:13", "2026-06-26T18:44:31", "2026-06-26T19:10:09", "2026-06-29T03:17:41"
    failed = ("failed", launched, crash, [(m, 16, launched, crash) for m in first])
    _record(world, "moe-120b-stage1", MOE, [failed, ("succeeded", resumed, handed, [(m, 16, resumed, handed) for m in seven])])
    begun, broken, back, done = "2026-06-29T03:21:09", "2026-07-01T04:40:13", "2026-07-01T05:05:58", "2026-07-05T16:33:27"
    broken_off = ("failed", begun, broken, [(m, None, begun, broken) for m in later])
    _record(world, "moe-120b-stage2", MOE, [broken_off, ("succeeded", back, done, [(m, None, back, done) for m in later])])
    start, end = "2026-07-05T16:41:44", "2026-07-08T11:12:36"
    for name, stop in (("moe-eval-left", end), ("moe-eval-right", "2026-07-08T09:48:05")):
        _record(world, name, MOE, [("succeeded", start, stop, [(m, 8, start, stop) for m in later])])
