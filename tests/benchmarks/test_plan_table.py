"""The table of clusters that a comparison needs: what its script gives, and what must be true of it whatever that is."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from benchmarks.comparison.plan_table import EFFECTS, MOST, NEEDED, POWERS, SEED, claimed_by, ln_e, main

WORLDS = 20_000
ERROR = 3 * 0.5 / math.sqrt(WORLDS)


def rows() -> list[tuple[float, float, int]]:
    """Effect, power and clusters of each row; more than there can be where there are not enough."""
    with SEED.open(encoding="utf-8") as file:
        found = [*csv.DictReader(file)]
    return [(float(row["effect_over_spread"]), float(row["power"]), int(row["clusters_needed"] or MOST + 2)) for row in found]


def noise(number: int) -> np.ndarray:
    return np.random.default_rng(number).standard_normal((WORLDS, MOST))


@pytest.mark.slow
def test_the_seed_is_what_the_script_gives() -> None:
    assert main(["--check"]) == 0


def test_a_greater_effect_never_needs_more_clusters_and_more_power_never_fewer() -> None:
    needed = {(effect, power): clusters for effect, power, clusters in rows()}
    assert sorted(needed) == sorted((effect, power) for effect in EFFECTS for power in POWERS)
    for power in POWERS:
        column = [needed[effect, power] for effect in EFFECTS]
        assert column == sorted(column, reverse=True)
    assert all(needed[effect, 0.5] <= needed[effect, 0.8] <= needed[effect, 0.9] for effect in EFFECTS)
    assert min(needed.values()) >= 6


def test_the_e_value_is_the_ratio_of_two_densities_of_t() -> None:
    """Under the mixture t over the root of 1 + n has Student's distribution, without it t itself has."""
    n, mean, variance = 8, 0.7, 0.5
    t, v, scale = mean * math.sqrt(n / variance), n - 1, math.sqrt(1 + n)
    ratio = (1 + (t / scale) ** 2 / v) ** (-(v + 1) / 2) / (1 + t**2 / v) ** (-(v + 1) / 2) / scale
    assert math.exp(ln_e(np.array([n]), np.array([mean]), np.array([variance]))[0]) == pytest.approx(ratio)


def test_without_an_effect_at_most_one_in_fifty_is_ever_claimed() -> None:
    assert claimed_by(0.0, noise(1))[-1] <= 1 / NEEDED + ERROR


def test_five_pairs_a_quarter_at_a_true_ratio_of_four_fifths_decide_as_users_are_promised() -> None:
    """Spread 0.15 of a pair, of which the time has a share of 0.3: 57 % by the fourth quarter, all by the eighth."""
    spread = 0.15 * math.sqrt(0.3 + 0.7 / 2.5)
    by_clusters = dict(zip(range(6, MOST + 1, 2), claimed_by(math.log(1 / 0.8) / spread, noise(2)), strict=True))
    assert by_clusters[8] == pytest.approx(0.57, abs=0.04) and by_clusters[16] > 0.99


@pytest.mark.parametrize("effect", [0.6, 1.0, 2.0, 3.0])
def test_other_worlds_have_the_power_that_the_seed_states_within_a_look(effect: float) -> None:
    shares = dict(zip(range(6, MOST + 1, 2), claimed_by(effect, noise(3)), strict=True))
    for of_row, power, clusters in rows():
        if of_row == effect:
            assert shares[clusters] >= power - ERROR
            assert shares.get(clusters - 2, 0.0) <= power + ERROR
