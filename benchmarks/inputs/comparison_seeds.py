"""Writes the two computed seeds of the comparison: 99 % quantiles of F, and the standard normals of the power terms.

    python -m benchmarks.inputs.comparison_seeds

scipy is needed here only: no engine works out a tail, and a draw is a row. Half of the normals are the other half with the sign
turned, so that swapping the two sides of a comparison turns its bounds exactly.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import scipy  # type: ignore[import-untyped]
from scipy import stats

SEEDS = Path(__file__).resolve().parents[2] / "dbt" / "seeds"
DATE = "2026-11-28"
NUMERATORS = (*range(1, 21), 24, 30, 40, 60, 120)
DENOMINATORS = (*range(1, 41), 50, 60, 80, 100, 120, 200, 500, 1000)
TERMS = ("overhead", "pue_method", "rails", "host_share", "sensor_trainium", "sensor_tpu", "own_trainium", "own_tpu")
DRAWS = 2000


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with (SEEDS / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*header, "source", "source_date", "confidence", "note"])
        writer.writerows(rows)


def f_quantiles() -> Iterable[Sequence[object]]:
    source = f"computed: scipy {scipy.__version__}, stats.f.ppf(0.99, numerator_df, denominator_df)"
    for numerator in NUMERATORS:
        for denominator in DENOMINATORS:
            quantile = stats.f.ppf(0.99, numerator, denominator)
            yield numerator, denominator, f"{quantile:.6f}", source, DATE, "high", ""


def standard_normals() -> Iterable[Sequence[object]]:
    half = np.random.default_rng(24).standard_normal((DRAWS // 2, len(TERMS)))
    for draw, row in enumerate(np.concatenate((half, -half)), start=1):
        yield draw, *(f"{x:.6f}" for x in row), "drawn: numpy, default_rng(24)", DATE, "high", ""


if __name__ == "__main__":
    write("f_quantiles", ("numerator_df", "denominator_df", "f_99"), f_quantiles())
    write("standard_normals", ("draw", *TERMS), standard_normals())
