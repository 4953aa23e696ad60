"""Every number of a worked example on the page of the comparison, decided again by the published statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import fmean, pstdev

import duckdb
import pytest

from tests.comparison.invented import decided, pairs
from tests.docs.test_worked_examples import has, seed

pytestmark = pytest.mark.slow
QUANTILES = seed("t_quantiles", "degrees_of_freedom")


@pytest.fixture(scope="module")
def decide(demo_home: Path) -> Iterator[Callable[..., list[dict]]]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield partial(decided, connection)


def test_the_interval_of_five_pairs(decide) -> None:
    [row] = decide(*pairs((0.78, 0.80, 0.82, 0.79, 0.81)))
    assert row["verdict"] == "tpu"
    told = "geometric mean {:.6f}, and with t = {} the interval {:.6f} to {:.6f}".format(
        row["geometric_mean_ratio"], QUANTILES["4"]["t_1"], row["ratio_low"], row["ratio_high"]
    )
    has("comparison", told)


def test_how_many_more_pairs_would_decide(decide) -> None:
    [row] = decide(*pairs((0.90, 1.02, 0.95, 1.01, 0.94)))
    low, high = row["ratio_low"], row["ratio_high"]
    has("comparison", f"0.94 give {row['geometric_mean_ratio']:.6f} and the interval {low:.6f} to {high:.6f}.")
    has("comparison", f"`pairs_needed` {row['pairs_needed']}.")


def test_one_pair_that_makes_the_mean(decide) -> None:
    from math import log

    ratios = (0.80, 0.81, 0.79, 0.80, 0.80, 0.81, 0.20)
    logs = [log(ratio) for ratio in ratios]
    skewness = fmean((x - fmean(logs)) ** 3 for x in logs) / pstdev(logs) ** 3
    has("comparison", f"0.81 and 0.20 have skewness −{-skewness:.2f}")
    assert decide(*pairs(ratios))[0]["verdict_reason"] == "skewed"


def test_the_smallest_of_three(decide) -> None:
    near = pairs((0.90, 0.99, 0.86, 0.96, 0.88, 0.95), kpi="cost_per_exaflop")
    has("comparison", f"Alone {QUANTILES['5']['t_1']} is asked", f"As the smallest of three it takes {QUANTILES['5']['t_3']}")
    others = [row for kpi in ("mfu_ratio", "cost_per_million_tokens") for row in pairs((0.97, 1.03, 0.99, 1.02, 1.0), kpi=kpi)]
    assert decide(*near)[0]["verdict"] == "tpu"
    assert {row["verdict"] for row in decide(*near, *others)} == {"undecided"}


def test_ten_pairs_and_two(decide) -> None:
    ten, two = pairs((0.66, 0.67, 0.68, 0.65, 0.66) * 2), (1.08, 1.10)
    assert decide(*ten, *pairs(two, place="b"))[0]["verdict_reason"] == "simpson"
    [together] = decide(*ten, *pairs(two))
    has("comparison", f"together they would say {together['geometric_mean_ratio']:.2f}")


@pytest.mark.parametrize(
    ("ratio", "told"), [(1.9, "A ratio of 1.9 has the corners {} and {}: `power`"), (2.2, "2.2 has {} and {}: ")]
)
def test_the_corners_of_bounds_that_are_two_apart(decide, ratio: float, told: str) -> None:
    [row] = decide(*pairs((ratio,) * 5, kpi="energy_kwh_per_million_tokens", bounds=2))
    has("comparison", told.format(*(f"{row[f'ratio_corner_{end}']:.3g}" for end in ("low", "high"))))
    assert (row["verdict_reason"] == "power") == (ratio < 2)


def test_utilisation_and_cost_per_exaflop() -> None:
    peak = 512 * 190e12 * 3600 / 1e18
    has("comparison", f"{peak:.3f} EFLOP, and needed {peak * 0.35:.4f} useful EFLOP: utilisation 0.35")
    has("comparison", f"are {180 / (peak * 0.35):.5f} USD per EFLOP")
