"""Of the values of clusters: the e value, its inversion, skewness, and the ratio of totals with its jackknife interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, log1p, sqrt

import numpy as np
from scipy import stats

G = 1.0  # variance of the mixture's effect over that of a cluster value
FEWEST = 6
LOG_CAP = round(12 * log(10), 9)
SKEWED = 1.25


@dataclass(frozen=True)
class Values:
    """The values of the clusters of a look, in any order."""

    values: tuple[float, ...]

    @property
    def n(self) -> int:
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        return round(float(np.mean(self.values)), 12) if self.values else 0.0

    @cached_property
    def deviations(self) -> np.ndarray:
        return np.round(np.array(self.values) - self.mean, 12)

    @cached_property
    def spread(self) -> float:
        return sqrt(float((self.deviations**2).sum()) / (self.n - 1))

    @property
    def skewness(self) -> float:
        second = float((self.deviations**2).mean())
        return float((np.round(self.deviations, 9) ** 3).mean()) / second**1.5 if second else 0.0

    @property
    def is_skewed(self) -> bool:
        return self.n > 0 and abs(self.skewness) > SKEWED

    def log_e(self, shift: float = 0.0) -> float | None:
        """ln e of the t mixture, with every value moved by a shift; null of fewer than two."""
        if self.n < 2:
            return None
        mean, odds = self.mean + shift, 1 + self.n * G
        if self.spread == 0:
            found = (self.n - 1) / 2 * log(odds) if mean else -log(odds) / 2
        else:
            squared = mean**2 * self.n / self.spread**2 / (self.n - 1)
            found = -log(odds) / 2 + self.n / 2 * (log1p(squared) - log1p(squared / odds))
        return round(min(found, LOG_CAP), 9)

    def interval(self, log_needed: float, shift: float = 0.0) -> tuple[float, float]:
        """Logarithms of the ratios that the sequence does not reject at E; endless where it could reject none."""
        odds = 1 + self.n * G
        k = exp(2 / self.n * (log_needed + log(odds) / 2))
        half = inf if k >= odds else self.spread / sqrt(self.n) * sqrt((self.n - 1) * (k - 1) / (1 - k / odds))
        return self.mean + shift - half, self.mean + shift + half


@dataclass(frozen=True)
class Totals:
    """What one cluster, or several, cost on each side, and the launches that reached the target."""

    trainium_cost: float = 0.0
    tpu_cost: float = 0.0
    trainium_reached: int = 0
    tpu_reached: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.trainium_cost + other.trainium_cost,
            self.tpu_cost + other.tpu_cost,
            self.trainium_reached + other.trainium_reached,
            self.tpu_reached + other.tpu_reached,
        )

    @property
    def unreached(self) -> str | None:
        """The side that reached nothing."""
        sides = [side for side, reached in (("trainium", self.trainium_reached), ("tpu", self.tpu_reached)) if not reached]
        return "both" if len(sides) == 2 else sides[0] if sides else None

    @property
    def log_ratio(self) -> float:
        tpu, trainium = self.tpu_cost / self.tpu_reached, self.trainium_cost / self.trainium_reached
        return round(log(tpu / trainium), 12)


def jackknife(clusters: Sequence[Totals]) -> tuple[float, float, float] | None:
    """The logarithm of the ratio of totals with its 98 % interval, by leaving out one cluster after the other."""
    n = len(clusters)
    without = [sum((one for other, one in enumerate(clusters) if other != place), Totals()) for place in range(n)]
    if n < 5 or any(one.unreached for one in without):
        return None
    left_out = np.array([one.log_ratio for one in without])
    middle = sum(clusters, Totals()).log_ratio
    error = sqrt((n - 1) / n * float(((left_out - round(float(left_out.mean()), 12)) ** 2).sum()))
    half = round(float(stats.t.ppf(0.99, min(n - 1, 120))), 6) * error
    return middle, middle - half, middle + half
