"""How often a difference is claimed that is not there, and found where it is: 10,000 invented workloads at each number of pairs.

The published statement decides about all of them in one query; numpy only throws the dice.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from tests.comparison.invented import PAIR, TYPES, verdicts

pytestmark = pytest.mark.slow
CASES = 10_000
SIZES = (5, 6, 8, 12, 20, 40)
SPREAD = 0.15
STANDARD = {
    "normal": lambda dice, shape: dice.standard_normal(shape),
    "t3": lambda dice, shape: dice.standard_t(3, shape) / sqrt(3),
    "gamma": lambda dice, shape: (dice.gamma(4, 1, shape) - 4) / 2,  # skewness 1
}


def workloads(kind: str, size: int, true_ratio: float = 1.0) -> pl.DataFrame:
    """`size` pairs of each of 10,000 workloads, with one seed per kind and size."""
    dice = np.random.default_rng([size, *kind.encode()])
    log_ratios = STANDARD[kind](dice, (CASES, size)) * SPREAD + log(true_ratio)
    number = pl.Series(np.repeat(np.arange(CASES), size)).cast(pl.String)
    # twelve letters at most, which DuckDB keeps in place: groups of longer names cost five times as much
    return pl.DataFrame({"workload_key": f"{kind[0]}{size:02}{true_ratio:.1f}" + number, "log_ratio": log_ratios.ravel()})


@pytest.fixture(scope="module")
def claims(demo_home: Path) -> Iterator[dict[tuple[str, int, float], tuple[float, float]]]:
    """(share with a verdict for a side, share with one for the wrong side) by distribution, pairs and true ratio."""
    cases = [workloads(kind, size) for kind in STANDARD for size in SIZES] + [workloads("normal", 12, 1.2)]
    invented = pl.concat(cases)
    fixed = {name: "null" if value is None else repr(value) for name, value in PAIR.items()}
    values = fixed | {"workload_key": "workload_key", "log_ratio": "log_ratio"}
    columns = ", ".join(f"cast({value} as {TYPES.get(name, 'varchar')}) as {name}" for name, value in values.items())
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        connection.register("rolled", invented)
        connection.execute(f"create temp table invented as select {columns} from rolled")
        rows = connection.execute(
            f"""select workload_key[1], cast(workload_key[2:3] as integer), cast(workload_key[4:6] as double),
                avg(cast(verdict in ('trainium', 'tpu') as integer)), avg(cast(verdict = 'tpu' as integer)), count(*)
            from ({verdicts(connection)}) group by all"""
        ).fetchall()
    assert {row[-1] for row in rows} == {CASES} and len(rows) == len(cases)
    kinds = {kind[0]: kind for kind in STANDARD}
    yield {(kinds[letter], size, ratio): (claimed, wrong) for letter, size, ratio, claimed, wrong, _ in rows}


@pytest.mark.parametrize("kind", STANDARD)
@pytest.mark.parametrize("size", SIZES)
def test_a_difference_that_is_not_there_is_claimed_in_less_than_38_of_1000_comparisons(claims, kind: str, size: int) -> None:
    claimed, _ = claims[kind, size, 1.0]
    assert 0.005 < claimed <= 0.038  # and not because nothing is ever claimed


def test_twelve_pairs_find_a_ratio_of_1_2(claims) -> None:
    claimed, wrong = claims["normal", 12, 1.2]
    assert claimed >= 0.85
    assert wrong == 0


def test_the_page_shows_these_numbers(claims) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "methodology" / "comparison.md").read_text(encoding="utf-8")
    for size in SIZES:
        stated = " | ".join(f"{claims[kind, size, 1.0][0]:.1%}".removesuffix("%") for kind in STANDARD)
        assert f"| {size} | {stated} |" in page, f"{size} | {stated}"
    assert f"in {claims['normal', 12, 1.2][0]:.0%} of cases".replace("%", " %") in page
