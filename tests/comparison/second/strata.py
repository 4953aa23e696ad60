"""Whether teams, accelerators, regions, software or purchase options have ratios of their own: a one-way F test of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tests.comparison.second.clusters import Pair, log_ratio

KINDS = {
    "team": "team",
    "accelerator": "accelerator_type",
    "region": "region_id",
    "software": "software",
    "purchase": "purchase",
}
SMALLEST = 3
Quantiles = Mapping[tuple[int, int], float]  # of 99 %, by degrees of freedom of numerator and denominator


@dataclass(frozen=True)
class Strata:
    """The kinds whose test holds, each with the strata that it has."""

    holding: dict[str, list[str]]

    @property
    def holds(self) -> bool:
        return bool(self.holding)


def stratum_of(pair: Pair, kind: str) -> str:
    trainium, tpu = (pair[f"{side}_{KINDS[kind]}"] or "unknown" for side in ("trainium", "tpu"))
    return f"Trainium: {trainium}; TPU: {tpu}"


def test(pairs: Sequence[Pair], quantiles: Quantiles) -> Strata:
    """Every kind, over the logarithms of these pairs."""
    known = [pair for pair in pairs if pair["log_ratio"] is not None]
    logs = np.array([log_ratio(pair) for pair in known])
    holding = {}
    for kind in KINDS:
        names = [stratum_of(pair, kind) for pair in known]
        sizes = Counter(names)
        groups = np.array([name if sizes[name] >= SMALLEST else "rest" for name in names])
        if holds(logs, groups, quantiles):
            holding[kind] = sorted(sizes)
    return Strata(holding)


test.__test__ = False  # type: ignore[attr-defined]


def holds(logs: np.ndarray, groups: np.ndarray, quantiles: Quantiles) -> bool:
    """The F test at 1 %."""
    names = sorted(set(groups))
    between, within = len(names) - 1, len(logs) - len(names)
    if between < 1 or within == 0:
        return False
    means = {name: round(float(logs[groups == name].mean()), 12) for name in names}
    mean = round(float(logs.mean()), 12)
    of_groups = sum(float((groups == name).sum()) * (means[name] - mean) ** 2 for name in names)
    inside = sum(float(((logs[groups == name] - means[name]) ** 2).sum()) for name in names)
    if inside == 0:
        return of_groups > 0
    return of_groups / between / (inside / within) > quantile(between, within, quantiles)


def quantile(between: int, within: int, quantiles: Quantiles) -> float:
    """Of the row with the greatest degrees of freedom that are not above these."""
    first = max(one for one, _ in quantiles if one <= between)
    second = max(two for one, two in quantiles if one == first and two <= within)
    return quantiles[first, second]
