"""How many clusters a comparison needs: writes dbt/seeds/comparison_plan_power.csv, or checks that it is what would be written.

    python -m benchmarks.comparison.plan_table [--check]

Worlds without dependence: cluster values are normal, of spread 1 around the effect. The sequence is that of one workload whose
clusters close two by two at the quarters' ends, as in docs/methodology/comparison.md: ln e of the t mixture with g = 1, from six
clusters on, claimed at e >= 50; what was claimed at one quarter's end counts at all later ones. The seed has the first quarter's
end by which that had happened in the share `power` of the worlds, in clusters; null where no look of ten years is enough.

Nothing of the published SQL is used: tests/benchmarks compare the two.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

SEED = Path(__file__).resolve().parents[2] / "dbt" / "seeds" / "comparison_plan_power.csv"
G, NEEDED, LEAST, MOST, LOOK = 1.0, 50.0, 6, 80, 2  # clusters are half quarters: 80 are ten years
WORLDS, NUMBER = 40_000, 20261128
EFFECTS = [round(0.05 * step, 2) for step in range(4, 81)]  # 0.20 to 4.00 spreads
POWERS = (0.50, 0.80, 0.90)
HEADER = "effect_over_spread,power,clusters_needed,source,source_date,confidence,note"
SOURCE = f'"own simulation: benchmarks/comparison/plan_table.py, {WORLDS} worlds, random number {NUMBER}"'


def ln_e(n: Floats, mean: Floats, variance: Floats) -> Floats:
    """The logarithm of the e value of n clusters of this mean and variance (of n - 1)."""
    v: Floats = n - 1
    t2 = n * mean**2 / variance
    found: Floats = -0.5 * np.log1p(n * G) + n / 2 * (np.log1p(t2 / v) - np.log1p(t2 / (v * (1 + n * G))))
    return found


def claimed_by(effect: float, noise: Floats) -> Floats:
    """For each look the share of worlds in which it or an earlier one claims a difference."""
    looks = np.arange(LEAST, MOST + 1, LOOK)
    sums, squares = np.cumsum(noise, axis=1)[:, looks - 1], np.cumsum(noise**2, axis=1)[:, looks - 1]
    variance = (squares - sums**2 / looks) / (looks - 1)
    is_claimed = ln_e(looks.astype(np.float64), sums / looks + effect, variance) >= np.log(NEEDED)
    shares: Floats = np.logical_or.accumulate(is_claimed, axis=1).mean(axis=0)
    return shares


def clusters_needed(shares: Floats, power: float) -> int | None:
    """The first look with enough power."""
    enough = np.flatnonzero(shares >= power)
    return LEAST + LOOK * int(enough[0]) if enough.size else None


def lines() -> Iterator[str]:
    """The seed's lines. Every effect meets the same worlds, so that a greater one never needs more clusters."""
    yield HEADER
    noise = np.random.default_rng(NUMBER).standard_normal((WORLDS, MOST))
    for effect in EFFECTS:
        shares = claimed_by(effect, noise)
        for power in POWERS:
            clusters = clusters_needed(shares, power)
            yield f"{effect:.2f},{power:.2f},{'' if clusters is None else clusters},{SOURCE},2026-11-28,high,"


def main(arguments: list[str] | None = None) -> int:
    """Write the seed, or say whether it is the one that would be written."""
    parser = argparse.ArgumentParser(description="Clusters that a comparison needs, as a seed.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where the seed is another")
    asked = parser.parse_args(arguments)
    text = "\n".join(lines()) + "\n"
    if asked.check:
        is_same = SEED.read_text(encoding="utf-8") == text
        print(f"{SEED} is {'what' if is_same else 'not what'} this simulation gives")
        return 0 if is_same else 1
    SEED.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
