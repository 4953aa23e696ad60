"""Worlds that are drawn: how costs of pairs come about where no side is cheaper, or one is by a known ratio.

Both sides of a pair cost 100 USD a launch times noise, and what a world adds to one side is divided by its mean, so that the
expected cost of a reached target is what `true_ratio` has. All times of a world lie in twelve quarters.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any, TypeAlias

import numpy as np
import polars as pl

Dice = np.random.Generator
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
START = dt.date(2023, 1, 1)
QUARTERS = 12
FORTNIGHTS = 80
BOUNDS = np.array([(dt.date(2023 + n // 4, n % 4 * 3 + 1, 1) - START).days for n in range(QUARTERS + 1)])
TO_TARGET, PER_EXAFLOP = "cost_per_run_to_target", "cost_per_exaflop"


@dataclass(frozen=True)
class World:
    """One row of the table. `is_covered` is null where there is a difference to be found."""

    name: str
    is_covered: bool | None = True
    per_quarter: float = 5  # pairs; below 1 in some quarters only
    workloads: int = 1
    differ: int = 0  # the workloads with the true ratio; others have 1
    true_ratio: float = 1.0
    spread: float = 0.15  # of the logarithm of a pair's ratio
    noise: str = "normal"
    shocks: float = 0.3  # share of the variance that pairs of a fortnight have in common
    phi: float = 0.6  # of one fortnight to the next
    in_common: tuple[float, int] = (0.0, 1)  # share of the variance that pairs of the same team or compiler have, days it is used
    groups: int = 1  # teams side by side
    unequal: bool = False
    failing: float = 0.0  # of the launches on TPU, which are launched again
    restarts: float = 0.0  # of the launches on TPU that cost up to eleven times as much
    chosen_late: float = 0.0  # of the pairs that get their key after the costs are known, if TPU's is the lower one
    kpi: str = TO_TARGET
    reports: int = 1000


def drawn(world: World, seed: int) -> pl.DataFrame:
    """The pairs of all reports, with the columns of int_comparison_pairs that are not null, and `world`, the report."""
    dice = np.random.default_rng([seed, *world.name.encode()])
    report, workload, day = _pairs(world, dice)
    series = report * world.workloads + workload
    variance = dict(
        zip(("pair", "shock", "group"), (1 - world.shocks - world.in_common[0], world.shocks, world.in_common[0]), strict=True)
    )
    log_ratio = sqrt(variance["pair"]) * _noise(world, dice, len(day)) + sqrt(variance["shock"]) * _shocks(
        world, dice, series, day
    )
    log_ratio += sqrt(variance["group"]) * _groups(world, dice, series, day)
    log_ratio = log_ratio * world.spread + np.where(workload < world.differ, log(world.true_ratio), 0.0)
    if world.noise == "ties":
        log_ratio = np.round(log_ratio, 1)
    launches = np.ones(len(day), int) if not world.failing else dice.geometric(1 - world.failing, len(day))
    again = np.where(dice.random(len(day)) < world.restarts, dice.uniform(1, 11, len(day)), 1.0)
    of_tpu = np.exp(log_ratio / 2) * launches * again * (1 - world.failing) / (1 + 5 * world.restarts)
    # those without a key from the start get one where it suits; all others were registered, whatever they cost
    is_without = dice.random(len(day)) < world.chosen_late
    is_late = is_without & (log_ratio < 0)
    kept = is_late | ~is_without
    settled = [START + dt.timedelta(days=int(one)) for one in range(BOUNDS[-1] + 1)]
    frame = pl.DataFrame(
        {
            "world": report,
            "workload_key": pl.Series(workload).cast(pl.String),
            "pair_key": pl.Series(np.arange(len(day))).cast(pl.String),
            "settled_at": pl.Series(settled).cast(pl.Datetime("us"))[day],
            "is_registered": ~is_late,
            "trainium_total": 100 * np.exp(-log_ratio / 2),
            "tpu_total": 100 * of_tpu,
            "tpu_launches": launches,
        }
    )
    return _as_pairs(frame.filter(pl.Series(kept)), world)


def _pairs(world: World, dice: Dice) -> tuple[Numbers, Numbers, Numbers]:
    """Report, workload and day of every pair; each quarter of a workload has about as many."""
    of_quarter = np.full((world.reports * world.workloads, QUARTERS), world.per_quarter)
    if world.unequal:
        of_quarter = dice.geometric(1 / world.per_quarter, of_quarter.shape)
    count = np.floor(of_quarter + dice.random(of_quarter.shape) * (of_quarter % 1 > 0)).astype(int)
    series, quarter = np.repeat(np.indices(count.shape).reshape(2, -1), count.ravel(), axis=1)
    day = BOUNDS[quarter] + (dice.random(len(quarter)) * (BOUNDS[quarter + 1] - BOUNDS[quarter])).astype(int)
    return series // world.workloads, series % world.workloads, day


def _noise(world: World, dice: Dice, size: int) -> Numbers:
    """Of one pair, with mean 0 and variance 1."""
    found: Numbers = dice.standard_normal(size)
    if world.noise == "t3":
        found = dice.standard_t(3, size) / sqrt(3)
    if world.noise == "lognormal":
        found = (dice.lognormal(0, 1, size) - exp(0.5)) / sqrt(exp(1) * (exp(1) - 1))
    return found


def _shocks(world: World, dice: Dice, series: Numbers, day: Numbers) -> Numbers:
    """What the pairs of a workload and fortnight share: an autoregression from fortnight to fortnight."""
    steps = dice.standard_normal((world.reports * world.workloads, FORTNIGHTS))
    for one in range(1, FORTNIGHTS):
        steps[:, one] = world.phi * steps[:, one - 1] + sqrt(1 - world.phi**2) * steps[:, one]
    found: Numbers = steps[series, day // 14]
    return found


def _groups(world: World, dice: Dice, series: Numbers, day: Numbers) -> Numbers:
    """What the pairs of a team, or of a version of a compiler, share while it is there."""
    days = world.in_common[1]
    effects = dice.standard_normal((world.reports * world.workloads, BOUNDS[-1] // days + 2, world.groups))
    begins = dice.integers(0, days, world.reports * world.workloads)
    found: Numbers = effects[series, (day + begins[series]) // days, dice.integers(0, world.groups, len(day))]
    return found


def _as_pairs(frame: pl.DataFrame, world: World) -> pl.DataFrame:
    """With all that is the same for every pair, and what follows from the totals."""
    sides = ("trainium", "tpu")
    same = {
        "kpi": world.kpi,
        "factor_view": "chip",
        "setting": "",
        "unit": "USD",
        "promise": "to_target",
        "is_power_assumed": False,
    }
    of_sides: dict[str, tuple[Any, Any]] = {
        "accelerator_type": ("trn2", "v6e"),
        "region_id": ("a", "b"),
        "purchase": ("spot", "spot"),
        "software": ("1", "1"),
    }
    of_sides |= {"team": ("team", "team"), "reached": (1, 1), "is_running": (False, False)}
    columns = [pl.lit(value).alias(name) for name, value in same.items()]
    columns += [
        pl.lit(values[place]).alias(f"{side}_{name}") for name, values in of_sides.items() for place, side in enumerate(sides)
    ]
    registered, day = pl.col("is_registered"), pl.col("settled_at").dt.date()
    quarter = day.dt.truncate("1q")
    second = quarter.dt.offset_by("1mo15d")
    return frame.with_columns(
        *columns,
        *(pl.col(f"{side}_total").alias(f"{side}_value") for side in sides),
        trainium_launches=pl.lit(1),
        trainium_run_count=pl.lit(1),
        tpu_run_count=pl.col("tpu_launches"),
        log_ratio=(pl.col("tpu_total") / pl.col("trainium_total")).log(),
        cluster_start=pl.when(day >= second).then(second).otherwise(quarter),
        cluster_end=pl.when(day >= second).then(quarter.dt.offset_by("1q")).otherwise(second),
        closed_on=quarter.dt.offset_by("1q"),
        registered_by=pl.when(registered).then(pl.lit("plan")).otherwise(pl.lit("none")),
        evidence_of_time=pl.when(registered).then(pl.lit("object_store")),
        use=pl.when(registered).then(pl.lit("decides")).otherwise(pl.lit("descriptive")),
        use_reason=pl.when(~registered).then(pl.lit("labelled_later")),
    )


EVERY = (
    World("independent pairs, five a quarter", shocks=0),
    *(
        World(f"{pairs} independent pairs in twelve quarters", per_quarter=pairs / QUARTERS, shocks=0)
        for pairs in (2, 12, 40, 160)
    ),
    *(World(f"five pairs a quarter, shocks of share 0.3, phi {phi}", phi=phi) for phi in (0.0, 0.3, 0.6)),
    World("twenty pairs a quarter, shocks of share 0.3, phi 0.6", is_covered=False, per_quarter=20),
    World(
        "forty pairs a quarter, so that shocks of phi 0.6 are most of a cluster", is_covered=False, per_quarter=40, reports=500
    ),
    World("five pairs a quarter, drifts of share 0.3, phi 0.9", is_covered=False, phi=0.9),
    World("two teams at a time, other ones every six weeks, share 0.3", in_common=(0.3, 42), groups=2, shocks=0),
    World("a compiler for six weeks, share 0.3", in_common=(0.3, 42), shocks=0),
    World("a compiler for a quarter, share 0.3", is_covered=False, in_common=(0.3, 91), shocks=0),
    World("pairs of a quarter from 1 to 40", unequal=True, per_quarter=8),
    World("ratios in steps of 0.1", noise="ties"),
    World("Student's t with three degrees of freedom", noise="t3"),
    World("a third of the launches on TPU fails and is launched again", is_covered=False, failing=1 / 3),
    World("half of the pairs gets its key later, where TPU cost less", chosen_late=0.5, per_quarter=10),
    World("ten workloads", workloads=10, reports=500),
    World("restarts of up to eleven times in 5 % of the launches on TPU", is_covered=False, restarts=0.05),
    World("lognormal logarithms", is_covered=False, noise="lognormal", shocks=0, kpi=PER_EXAFLOP),
    *(
        World(f"five pairs a quarter at a true 0.8, spread {spread}", None, true_ratio=0.8, differ=1, spread=spread)
        for spread in (0.15, 0.25)
    ),
    World("two pairs a quarter at a true 0.8", None, per_quarter=2, true_ratio=0.8, differ=1),
    World("twenty pairs a quarter at a true 0.9", None, per_quarter=20, true_ratio=0.9, differ=1, reports=500),
    World(
        "a true 0.5 with restarts, forty pairs a quarter",
        None,
        per_quarter=40,
        true_ratio=0.5,
        differ=1,
        restarts=0.05,
        reports=1000,
    ),
    World("ten workloads, five of them at a true 0.8", workloads=10, differ=5, true_ratio=0.8, reports=500),
)
