"""Payer B's fleet: a shared cluster without tags, two tagged runs, a SageMaker job, and one cluster nobody logged."""

from __future__ import annotations

from dataclasses import dataclass

from demo.aws.tagged import TaggedPlan, tagged_run
from demo.clock import HOUR, MICRO, NOW, seconds
from demo.organisation import PAIR_KEYS, ROBOTICS, SWEEP, VISION, VIT, generator
from demo.simulation import Attempt, Hold, Instance, Run, World

SHARED_TYPE = "trn1.32xlarge"
JOB_NODES = 2
JOB_NAME = "segmenter-ft-2026-08-11"
CAMPAIGNS = ("2026-04-07T08:13:20", "2026-05-06T17:41:09", "2026-06-12T06:05:57", "2026-07-13T12:30:45", "2026-08-17T09:22:31")


@dataclass(frozen=True, slots=True)
class Job:
    """A SageMaker training job: no machine of ours, only the ARN."""

    name: str
    arn: str
    start: int
    end: int


def job_of(world: World) -> Job:
    name = JOB_NAME + world.suffix
    arn = f"arn:aws:sagemaker:us-east-1:{VISION.account_id}:training-job/{name}"
    return Job(name, arn, seconds("2026-08-11T07:03:26"), seconds("2026-08-12T14:18:49"))


def build(world: World) -> None:
    for number, start in enumerate(("2026-06-23T10:17:38", "2026-08-26T08:51:04"), start=1):
        name, key = f"vit-h14-{number:02d}", PAIR_KEYS[VIT.workload_key][number - 1]
        tagged_run(world, TaggedPlan(name, VIT, VISION, "us-west-2", "on_demand", 2, start, 22.4 + number, key))
    for number, start in enumerate(CAMPAIGNS, start=1):
        _campaign(world, number, seconds(start))
    _last_campaign(world)
    job = job_of(world)
    hold = Hold(job.arn, SHARED_TYPE, job.start * MICRO, job.end * MICRO)
    attempt = Attempt(job.name, "succeeded", job.start * MICRO, job.end * MICRO, (hold,))
    world.runs.append(Run(job.name, VIT, [attempt], record="sagemaker", node_count=JOB_NODES))
    slam = (seconds("2026-07-21T09:00:00"), seconds("2026-07-22T12:15:00"))
    world.launch("slam-experiments", ROBOTICS, "eu-west-1", SHARED_TYPE, "on_demand", slam)


def _machines(world: World, campaign: int, start: int, end: int, count: int = 4) -> list[Instance]:
    random = generator("campaign", world.replica, campaign)
    return [
        world.launch(
            f"shared-{campaign}-{node}",
            VISION,
            "us-west-2",
            SHARED_TYPE,
            "on_demand",
            (start + random.randrange(240), end + random.randrange(45, 400)),
        )
        for node in range(count)
    ]


def _sweep(world: World, name: str, attempts: list[tuple[str, int, int | None, list[Instance], int | None]]) -> None:
    """A run of the shared cluster; attempts are (state, start, end, machines, chips) in microseconds."""
    recorded = name + world.suffix
    built = [
        Attempt(
            f"{recorded}-a{number}",
            state,
            start,
            end,
            tuple(Hold(machine.instance_id, SHARED_TYPE, start, end, chips) for machine in machines),
        )
        for number, (state, start, end, machines, chips) in enumerate(attempts, start=1)
    ]
    speed = generator("sweep", recorded).uniform(0.9, 1.1)
    aliases = (("kubernetes", f"vision/{recorded}"),)
    count = max(len(machines) for _, _, _, machines, _ in attempts)
    world.runs.append(Run(recorded, SWEEP, built, None, aliases, {"cluster": "shared"}, speed, node_count=count))


def _campaign(world: World, number: int, start: int) -> None:
    """Four machines, two runs; each campaign shows one way of sharing them."""
    end = start + 96 * HOUR + 1_709
    middle = start + 47 * HOUR + 23 * 60 + 37
    machines = _machines(world, number, start, end)
    begun, handed, done = (start + 611) * MICRO, middle * MICRO, (end - 1_325) * MICRO
    left, right = f"detr-sweep-{2 * number - 1:02d}", f"detr-sweep-{2 * number:02d}"
    if number == 1:  # hand-over within an hour, with a quarter of a second in it
        _sweep(world, left, [("succeeded", begun, handed + 250_000, machines, 16)])
        _sweep(world, right, [("succeeded", handed + 19_250_000, done, machines, None)])
    elif number == 2:  # eight chips each, side by side; one is stopped a little earlier
        _sweep(world, left, [("succeeded", begun, done, machines, 8)])
        _sweep(world, right, [("stopped", begun + 97 * MICRO, done - 2 * HOUR * MICRO - 13_000_000, machines, 8)])
    elif number == 3:
        _sweep(world, left, [("succeeded", begun, handed, machines, None)])
        _sweep(world, right, [("succeeded", handed + 73 * MICRO, done, machines, None)])
    elif number == 4:  # the old run lets go 47 s after the new one has begun: more chips promised than there are
        _sweep(world, left, [("succeeded", begun, handed + 47 * MICRO, machines, 16)])
        _sweep(world, right, [("succeeded", handed, done, machines, 16)])
    else:  # a failure at night, two of four machines idle until the morning
        failed = (middle - 9 * HOUR) * MICRO
        _sweep(
            world, left, [("failed", begun, failed, machines, 16), ("succeeded", failed + 389 * MICRO, handed, machines[:2], 16)]
        )
        _sweep(world, right, [("succeeded", handed + 11 * MICRO, done, machines, 16)])


def _last_campaign(world: World) -> None:
    """Begun in September and still running; October's bill is not there yet."""
    start = seconds("2026-09-25T14:07:55")
    machines = _machines(world, 6, start, NOW)
    handed = (start + 61 * HOUR + 2_243) * MICRO
    _sweep(world, "detr-sweep-11", [("succeeded", (start + 500) * MICRO, handed, machines, 16)])
    _sweep(world, "detr-sweep-12", [("running", handed + 31 * MICRO, None, machines, 16)])
