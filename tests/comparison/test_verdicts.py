"""Each rule of the comparison on a few invented pairs, decided by the published statement itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.comparison.invented import decided, pairs

pytestmark = pytest.mark.slow
ENERGY = "energy_kwh_per_million_tokens"
LOW = (0.78, 0.80, 0.82, 0.79, 0.81)  # TPU a fifth less
HIGH = tuple(1 / ratio for ratio in LOW)
EVEN = (0.97, 1.03, 0.99, 1.02, 1.0)


@pytest.fixture(scope="module")
def decide(demo_home: Path) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield partial(decided, connection)


def said(row: dict[str, Any]) -> tuple[str, str]:
    return row["verdict"], row["verdict_reason"]


def test_the_cheaper_side_is_named_with_its_ratio_and_interval(decide) -> None:
    [tpu], [trainium] = decide(*pairs(LOW)), decide(*pairs(HIGH))
    assert said(tpu) == ("tpu", "none") and said(trainium) == ("trainium", "none")
    assert tpu["ratio_low"] < tpu["geometric_mean_ratio"] < tpu["ratio_high"] < 1 < trainium["ratio_low"]
    assert tpu["reason"].startswith("TPU's cost per run to target is 0.800 times Trainium's, 98 % interval 0.")
    assert tpu["pairs_needed"] == 0 and tpu["ratio_corner_low"] is None


def test_an_interval_that_includes_1_is_undecided_and_shows_how_many_pairs_would_decide(decide) -> None:
    [row] = decide(*pairs((0.9, 1.02, 0.95, 1.01, 0.94)))
    assert said(row) == ("undecided", "none") and row["ratio_low"] < 1 < row["ratio_high"]
    assert row["pairs_needed"] == 22  # with the t quantile of five pairs, so a few too many
    [more] = decide(*pairs((0.9, 1.02, 0.95, 1.01, 0.94) * ((row["pairs_needed"] + 9) // 5)))
    assert more["verdict"] == "tpu"


def test_fewer_than_five_pairs_are_described(decide) -> None:
    [row] = decide(*pairs(LOW[:4]))
    assert said(row) == ("descriptive", "too_few") and row["pairs_needed"] == 1
    assert row["geometric_mean_ratio"] and row["ratio_low"] is None
    [one] = decide(*pairs(LOW[:1]))
    assert said(one) == ("descriptive", "too_few") and one["pairs_needed"] == 4


def test_more_of_a_utilisation_is_better(decide) -> None:
    assert said(decide(*pairs(LOW, kpi="mfu_ratio"))[0]) == ("trainium", "none")


def test_the_other_view_is_never_a_verdict(decide) -> None:
    for kpi in (ENERGY, "market_based_gco2e_per_million_tokens"):
        [row] = decide(*pairs((0.1,) * 5, kpi=kpi, factor_view="deployed", bounds=1.1))
        assert said(row) == ("descriptive", "view_is_descriptive")
        assert row["geometric_mean_ratio"] == pytest.approx(0.1) and row["pairs_needed"] is None


def test_strata_that_point_in_different_directions_withhold_the_ratio_of_all(decide) -> None:
    """Simpson: ten pairs say a third less, two of another region say more. Together they would say less."""
    rows = pairs((0.66, 0.67, 0.68, 0.65, 0.66) * 2) + pairs((1.08, 1.1), place="b")
    [row] = decide(*rows)
    assert said(row) == ("undecided", "simpson")
    assert row["geometric_mean_ratio"] is row["ratio_low"] is row["ratio_high"] is row["pairs_needed"] is None
    [alike] = decide(*pairs((0.66, 0.67, 0.68, 0.65, 0.66) * 2), *pairs((0.68, 0.7), place="b"))
    assert alike["verdict"] == "tpu"


def test_one_pair_far_from_all_others_is_skewed(decide) -> None:
    [row] = decide(*pairs((0.80, 0.81, 0.79, 0.80, 0.80, 0.81, 0.2)))
    assert said(row) == ("undecided", "skewed") and row["pairs_needed"] is None


@pytest.mark.parametrize(("shares", "expected"), [(("0.30", "0.05"), "undecided"), (("0.20", "0.05"), "tpu")])
def test_residual_shares_that_differ_by_more_than_the_effect_leave_no_verdict(decide, shares, expected: str) -> None:
    """TPU costs a fifth less, an effect of 0.2: shares 0.25 apart could hide it, shares 0.15 apart could not."""
    [row] = decide(*pairs(LOW), shares=shares)
    assert row["verdict"] == expected
    assert row["verdict_reason"] == ("residual_share" if expected == "undecided" else "none")


def test_a_residual_share_that_is_not_known_leaves_no_verdict(decide) -> None:
    assert said(decide(*pairs(LOW), shares=("cast(null as double)", "0e0"))[0]) == ("undecided", "residual_share")


@pytest.mark.parametrize(("ratio", "verdict"), [(0.55, "undecided"), (1.9, "undecided"), (0.45, "tpu"), (2.2, "trainium")])
def test_no_energy_claim_below_a_ratio_of_two_where_bounds_are_two_apart(decide, ratio: float, verdict: str) -> None:
    for kpi in (ENERGY, "location_based_gco2e_per_million_tokens", "sci_gco2e_per_million_tokens"):
        [row] = decide(*pairs((ratio, ratio * 1.01, ratio * 0.99, ratio, ratio), kpi=kpi, bounds=2))
        assert said(row) == (verdict, "power" if verdict == "undecided" else "none")
        assert (row["ratio_corner_low"] < 1 < row["ratio_corner_high"]) == (verdict == "undecided")
        assert row["pairs_needed"] == (None if verdict == "undecided" else 0)


def test_a_modelled_figure_without_bounds_claims_nothing(decide) -> None:
    assert said(decide(*pairs(LOW, kpi=ENERGY))[0]) == ("undecided", "power")


def test_assumed_power_is_reported_before_the_corners_and_before_a_mixed_basis(decide) -> None:
    [row] = decide(*pairs((0.1,) * 5, kpi=ENERGY, bounds=1.1, is_power_assumed=True, basis_class="mixed"))
    assert said(row) == ("undecided", "assumed_power") and "measured interval" in row["reason"]
    assert said(decide(*pairs(LOW, is_power_assumed=True))[0]) == ("tpu", "none")  # cost rests on no watt


def test_a_measured_side_is_not_compared_with_a_modelled_one(decide) -> None:
    [row] = decide(*pairs((0.1,) * 5, kpi=ENERGY, bounds=1.1, basis_class="mixed"))
    assert said(row) == ("undecided", "mixed_basis")
    halves = (*pairs((0.1,) * 5, kpi=ENERGY, bounds=1.1), *pairs((0.1,) * 5, kpi=ENERGY, bounds=1.1, basis_class="measured"))
    assert said(decide(*halves)[0]) == ("undecided", "mixed_basis")


def test_the_primary_is_tested_alone_and_the_others_by_holm(decide) -> None:
    """Six pairs with p of 0.015: enough alone. As one of three secondary figures it takes a third of 2 %; not so the primary."""
    near = (0.9, 0.99, 0.86, 0.96, 0.88, 0.95)
    secondary = ("cost_per_exaflop", "cost_per_million_tokens", "mfu_ratio")
    [alone] = decide(*pairs(near, kpi="cost_per_exaflop"))
    assert said(alone) == ("tpu", "none")
    others = [pairs(EVEN, kpi=kpi) for kpi in secondary[1:]]
    together = decide(*pairs(near), *pairs(near, kpi="cost_per_exaflop"), *others[0], *others[1])
    verdicts = {row["kpi"]: said(row) for row in together}
    assert verdicts["cost_per_run_to_target"] == ("tpu", "none")
    assert verdicts["cost_per_exaflop"] == ("undecided", "none")
    corrected = next(row for row in together if row["kpi"] == "cost_per_exaflop")
    assert corrected["ratio_high"] < 1 and "corrected" in corrected["reason"] and corrected["pairs_needed"] > 0


def test_holm_asks_less_of_the_next_once_one_is_found(decide) -> None:
    """Beside a difference that is plain, the near one is the only one left to test."""
    near = (0.9, 0.99, 0.86, 0.96, 0.88, 0.95)
    together = decide(*pairs(near, kpi="cost_per_exaflop"), *pairs((0.5, 0.51, 0.49, 0.5, 0.5), kpi="cost_per_million_tokens"))
    assert [said(row) for row in together] == [("tpu", "none"), ("tpu", "none")]
