"""Comparisons of small machines, one for each verdict: which is meant and why, and what TPU costs of what Trainium does by pair.

A pair runs on one day of a half quarter, both sides in accounts of their own, so the other bills of the demo stay as they are.
The costs are as exact as whole seconds allow: the Trainium side has its hours, the TPU side as many as its ratio asks for.
What the verdict really is belongs to the product and is no part of this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from dagster_project.demo.aws.account import ON_DEMAND
from dagster_project.demo.aws.account import TRIALS as AWS_ACCOUNT
from dagster_project.demo.aws.machines import SPOT_RATE
from dagster_project.demo.clock import HOUR, MICRO, iso, seconds
from dagster_project.demo.gcp.account import BILLED_CHIPS, tpu_sku
from dagster_project.demo.gcp.account import TRIALS as PROJECT
from dagster_project.demo.gcp.fleet import TpuNode
from dagster_project.demo.organisation import BERT, NEURONX, RANK, Workload
from dagster_project.demo.runs import tokens_of
from dagster_project.demo.simulation import Attempt, Hold, Run, World, recorded_run

# a day of each half of four quarters, of every other comparison another one, so that no month is without a bill
DAYS = (
    *(("2025-11-04", "2025-11-04"), ("2025-11-19", "2025-12-17"), ("2026-02-03", "2026-01-14"), ("2026-02-18", "2026-03-18")),
    *(("2026-05-05", "2026-05-05"), ("2026-05-20", "2026-05-20"), ("2026-08-04", "2026-08-04"), ("2026-08-19", "2026-08-19")),
)
TPU_LATER = 3 * HOUR  # from the start of one side to that of the other
BOOT, TEARDOWN = 180, 60  # seconds, billed to the tag and held by nobody
STOPPING = 60  # seconds after the last full hour of a Trainium run
SUMMARY_STEM = "summary"


class Trial(NamedTuple):
    workload: Workload
    stem: str  # of pair keys and of the ids of runs
    meant: str  # verdict and reason of its cost
    ratios: tuple[float | None, ...]  # by half quarter; None: no pair
    instance_type: str = "trn2.3xlarge"
    regions: tuple[str, ...] = ("us-east-2",)  # in turn
    slice: tuple[str, str, int] = ("v4", "us-central2", 4)  # kind of chip, region, chips
    purchase: str = "on_demand"
    is_tagged: bool = True  # else its machines run on for an hour, and that is no run's
    tpu_target: float | None = None  # where the two sides do not promise the same
    fails_in: int | None = None  # the pair of which a TPU launch failed first, after so many times the cost of the other
    fails_after: float = 1.9
    never_reaches: bool = False  # all TPU launches fail
    hours: int = 2  # of a Trainium run
    libtpu_version: str | None = "0.0.34"


def _workload(key: str, model: str, team: str, target: tuple[str, str, float] | None) -> Workload:
    metric, direction, value = target or (None, None, None)
    return Workload(key, model, NEURONX, team, 1_000_000_000, 0.3, metric, direction, value, is_steady=True)


LOSS = ("eval_loss", "min", 2.4)
NONE = (None,) * 4
TRIALS = (
    Trial(BERT, "bert-early", "undecided: sample", (1.22, 0.84, 1.15, 0.88, *NONE), "trn1.32xlarge", ("us-west-2",),
          ("v5e", "us-central1", 16), "spot", libtpu_version=None),
    Trial(RANK, "rank-early", "trainium: decided", (1.95, 1.94, 1.96, 1.95, None, None, 1.84, 1.83), hours=8,
          libtpu_version=None),
    Trial(_workload("translation-pretraining", "translator-1b", "language", LOSS), "translate", "tpu: decided",
          (0.78, 0.81, 0.77, 0.8, 0.79, 0.76, 0.8, 0.78), slice=("v6e", "us-east5", 4)),
    Trial(_workload("summary-refresh", "summariser-1b", "language", None), SUMMARY_STEM, "equivalent: decided",
          (1.005, 0.995, 1.01, 0.997, 1.002, 0.993, 1.004, 0.998)),
    Trial(_workload("code-completion", "coder-1b", "language", LOSS), "coder", "undecided: skewed",
          (2.78, 2.84, 2.75, 2.82, 2.86, 2.77, 2.81, 2.79), fails_in=6),
    Trial(_workload("routing-policy", "router-1b", "logistics", LOSS), "routing", "undecided: heterogeneous",
          (0.8, 1.26, 0.78, 1.24, 0.81, 1.27, 0.79, 1.25), regions=("us-east-2", "us-west-2")),
    Trial(_workload("demand-forecast", "forecaster-1b", "logistics", LOSS), "forecast", "undecided: residual_share",
          (1.14, 1.17, 1.15, 1.16, 1.13, 1.18, 1.15, 1.16), "trn1.2xlarge", is_tagged=False),
    Trial(_workload("dialogue-tuning", "dialogue-1b", "language", LOSS), "dialogue", "not_comparable: promise_broken",
          (*NONE, 0.9, None, 0.92, None), tpu_target=2.6),
    Trial(_workload("legacy-tagger", "", "language", LOSS), "tagger", "descriptive: promise_unknown",
          (*NONE, 1.1, None, 1.08, None)),
    Trial(_workload("game-agent", "agent-1b", "logistics", ("reward", "max", 0.8)), "agent", "descriptive: too_few",
          (*NONE, 1.2, None, 1.3, None), never_reaches=True),
)  # fmt: skip


class Pair(NamedTuple):
    trial: Trial
    number: int
    key: str
    start: int  # of the Trainium side
    ratio: float

    def name(self, side: str) -> str:
        return f"{self.trial.stem}-{side}-{self.number:02d}"


def pairs() -> Iterator[Pair]:
    for place, trial in enumerate(TRIALS):
        for number, (days, ratio) in enumerate(zip(DAYS, trial.ratios, strict=True), start=1):
            if ratio is not None:
                start = seconds(f"{days[place % 2]}T07:00:00") + 300 * place
                yield Pair(trial, number, f"{trial.stem}-{number:02d}", start, ratio)


def _counted(workload: Workload) -> Workload:
    """With tokens alone: hours that follow from a ratio of costs say nothing of how well a chip was used."""
    return replace(workload, counts_flops=False)


def add_trainium(world: World) -> None:
    for pair in pairs():
        trial, end = pair.trial, pair.start + pair.trial.hours * HOUR + STOPPING
        tag, region_id = pair.name("trn") + world.suffix, trial.regions[pair.number % len(trial.regions)]
        up = (pair.start - BOOT, end + (TEARDOWN if trial.is_tagged else HOUR))
        more = {"tag": tag} if trial.is_tagged else {}
        machine = world.launch(tag, AWS_ACCOUNT, region_id, trial.instance_type, trial.purchase, up, **more)
        attempt = ("succeeded", iso(pair.start), iso(end), [(machine, None)])
        recorded_run(world, pair.name("trn"), _counted(trial.workload), [attempt], pair_key=pair.key)


def add_tpu(world: World, twins: Mapping[str, Run]) -> None:
    for pair in pairs():
        trial, start = pair.trial, pair.start + TPU_LATER
        workload = replace(_counted(trial.workload), framework="jax", libtpu_version=trial.libtpu_version)
        if trial.tpu_target is not None:
            workload = replace(workload, target_value=trial.tpu_target)
        length = _billed_seconds(pair, start)
        if trial.fails_in == pair.number:
            failing = round(trial.fails_after * length)
            _launch(world, pair, workload, pair.name("tpu") + "-failed", start, failing, twins)
            start += failing + HOUR // 2
        _launch(world, pair, workload, pair.name("tpu"), start, length, twins)


def _launch(world: World, pair: Pair, workload: Workload, name: str, start: int, length: int, twins: Mapping[str, Run]) -> None:
    kind, region_id, chips = pair.trial.slice
    recorded_id, node_name = name + world.suffix, f"{name}-n1"
    up = (start - BOOT, start - BOOT + length)
    node = TpuNode(
        node_name + world.suffix, PROJECT, region_id, kind, pair.trial.purchase, *up, recorded_id, name=node_name, chips=chips
    )
    world.instances.append(node)
    state = "failed" if pair.trial.never_reaches or name.endswith("-failed") else "succeeded"
    hold = Hold(node.instance_id, kind, start * MICRO, (up[1] - TEARDOWN) * MICRO, chips)
    attempt = Attempt(f"{recorded_id}-a1", state, hold.start, (up[1] - TEARDOWN) * MICRO, (hold,))
    tokens = tokens_of(twins[pair.key])
    tags = {"cost_center": workload.team}
    world.runs.append(Run(recorded_id, workload, [attempt], pair.key, tags=tags, tokens=tokens))


def _billed_seconds(pair: Pair, start: int) -> int:
    """How long a slice is up that costs `ratio` times the Trainium side, at the price of that day."""
    trial = pair.trial
    kind, region_id, chips = trial.slice
    held = trial.hours * HOUR + STOPPING + (BOOT + TEARDOWN if trial.is_tagged else 0)
    rate = SPOT_RATE if trial.purchase == "spot" else ON_DEMAND[trial.instance_type]
    hourly = tpu_sku(kind, trial.purchase, region_id).price_paid(start) * chips // BILLED_CHIPS.get(kind, 1)
    return round(pair.ratio * rate * held / hourly)
