"""Every number of a worked example on the page of the comparison, worked out again by its formulas."""

from __future__ import annotations

from math import exp, log, log1p, sqrt
from statistics import fmean, geometric_mean, stdev

import pytest

from tests.docs.test_worked_examples import has

EVEN = (0.78, 0.80, 0.82, 0.79, 0.81, 0.80)
APART = (0.90, 1.02, 0.95, 1.01, 0.94, 0.97)


def ln_e(n: int, mean: float, spread: float) -> float:
    x = mean**2 * n / spread**2 / (n - 1)
    return -0.5 * log(1 + n) + n / 2 * (log1p(x) - log1p(x / (1 + n)))


def half_width(n: int, spread: float, needed: float) -> tuple[float, float]:
    k = (needed * sqrt(1 + n)) ** (2 / n)
    return k, spread / sqrt(n) * sqrt((n - 1) * (k - 1) / (1 - k / (1 + n)))


def test_six_clusters_that_decide_and_six_that_do_not() -> None:
    logs = [log(ratio) for ratio in EVEN]
    mean, spread = fmean(logs), stdev(logs)
    evidence = ln_e(6, mean, spread)
    k, h = half_width(6, spread, 50)
    has("comparison", f"m̄ = −{-mean:.9f}, s = {spread:.9f}, ln e = {evidence:.9f}, e = {exp(evidence):.3f}")
    has("comparison", f"K = {k:.6f}, h = {h:.9f}, {exp(mean - h):.6f} to {exp(mean + h):.6f}: it excludes 1")
    logs = [log(ratio) for ratio in APART]
    mean, spread = fmean(logs), stdev(logs)
    h = half_width(6, spread, 50)[1]
    evidence = exp(ln_e(6, mean, spread))
    has("comparison", f"s = {spread:.9f}, e = {evidence:.4f}, h = {h:.9f}, {exp(mean - h):.6f} to {exp(mean + h):.6f}")


def test_five_clusters_can_never_decide() -> None:
    most = {n: (1 + n) ** ((n - 1) / 2) for n in (5, 6)}
    has("comparison", f"Six clusters reach e = {most[6]:.2f} at most, five {most[5]:.0f}")
    assert most[5] < 50 < most[6]


@pytest.mark.parametrize("needed", [50, 150, 400])
def test_the_interval_excludes_1_exactly_where_e_reaches_what_is_needed(needed: float) -> None:
    n, spread = 12, 0.2
    h = half_width(n, spread, needed)[1]
    assert exp(ln_e(n, h, spread)) == pytest.approx(needed)


def test_two_of_three_workloads_are_claimed() -> None:
    found, m = sorted((200, 90, 10), reverse=True), 3
    k = max(place for place, e in enumerate(found, start=1) if e >= 50 * m / place)
    has("comparison", f"k = {k}, the first two are claimed at E = {50 * m / k:.0f}, the third needs {50 * m / (k + 1):.0f}")


def test_shares_that_no_run_carries() -> None:
    loaded, turned = 0.80 * 0.95 / 0.80, 0.80 * 0.95 / 0.70
    has("comparison", f"0.80 · 0.95 ÷ 0.80 = {loaded:.2f}, verdict. With 0.05 and 0.30: {turned:.3f}, none")


def test_a_launch_that_failed_is_paid_by_those_that_reached() -> None:
    has("comparison", f"350 ÷ 3 = {350 / 3:.2f}")


def test_a_side_of_several_runs_is_their_geometric_mean() -> None:
    found, mean = geometric_mean((0.5, 2)), fmean((0.5, 2))
    has("pairs", f"√(0.5 · 2) = {found:.0f}, not {mean}; against 4 on Trainium the ratio is {found / 4:.2f}")
