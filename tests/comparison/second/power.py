"""How far the terms of power that all runs share could move the logarithm of a ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from tests.comparison.second.clusters import Pair

POINT = 1.959964  # of a standard normal, below which 97.5 % lie
SIDES = ("trainium", "tpu")


@dataclass(frozen=True)
class Term:
    """One cause of doubt, by accelerator type: how far it reaches below and above."""

    name: str
    is_shared: bool
    columns: tuple[int, int]  # of the normals, for Trainium and TPU
    low: dict[str, float]
    high: dict[str, float]


@dataclass(frozen=True)
class Shifts:
    """The 1 and 99 % quantile of the draws of TPU minus Trainium."""

    low: float
    high: float


def bounds(pairs: Sequence[Pair], side: str) -> tuple[float, float]:
    """a and b of a side: how far the bounds lie below and above the figure, in logarithms, on the mean."""
    means = []
    for end in ("low", "high"):
        logs = [
            0.0 if pair[f"{side}_value_{end}"] is None else log(pair[f"{side}_value_{end}"] / pair[f"{side}_value"])
            for pair in pairs
        ]
        means.append(round(float(np.mean(logs)), 12))
    return max(0.0, -means[0]), max(0.0, means[1])


def taken(pairs: Sequence[Pair], side: str, terms: Sequence[Term]) -> list[tuple[float, float]]:
    """What each term takes of a side's bounds, in their order; the last takes what is left."""
    left_below, left_above = bounds(pairs, side)
    found = []
    for place, term in enumerate(terms):
        low, high = (
            float(np.mean([log(ends.get(pair[f"{side}_accelerator_type"], 1.0)) for pair in pairs]))
            for ends in (term.low, term.high)
        )
        is_last = place == len(terms) - 1
        below = left_below if is_last else min(left_below, -low)
        above = left_above if is_last else min(left_above, high)
        left_below, left_above = left_below - below, left_above - above
        found.append((below, above))
    return found


def shifts(pairs: Sequence[Pair], terms: Sequence[Term], normals: np.ndarray[Any, Any]) -> Shifts:
    """From the draws: each term log-normal, a shared one with one normal for both sides."""
    draws = np.zeros(len(normals))
    by_side = [taken(pairs, side, terms) for side in SIDES]
    for number, term in enumerate(terms):
        for direction, side in ((-1, 0), (1, 1)):
            below, above = by_side[side][number]
            draws += direction * ((above - below) / 2 + (above + below) / (2 * POINT) * normals[:, term.columns[side]])
    ordered = np.sort(np.round(draws, 12))
    rank = len(normals) // 100
    return Shifts(min(0.0, float(ordered[rank - 1])), max(0.0, float(ordered[-rank])))
