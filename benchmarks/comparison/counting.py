"""Worlds decided by the compiled models, and the table of how often a side was claimed by the fourth, eighth, twelfth quarter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import duckdb
import polars as pl

from benchmarks.comparison.worlds import TO_TARGET, World, drawn

PAIRS = "int_comparison_pairs"
PART = 500  # reports that are decided in one database
ALLOWED = 0.02
AFTER = (4, 8, 12)
CLAIMS = f"""
    select
        world,
        cast(workload_key as bigint) as workload,
        (year(window_end) - 2023) * 4 + quarter(window_end) - 1 as quarters,
        verdict
    from marts.rpt_trainium_vs_tpu
    where factor_view = 'chip' and kpi in ('{TO_TARGET}', 'cost_per_exaflop')
        and verdict in ('trainium', 'tpu') and window_start = window_end - interval 1 year
"""
Decide = Callable[[dict[str, pl.DataFrame]], duckdb.DuckDBPyConnection]


@dataclass(frozen=True)
class Counted:
    """Shares of reports of a world by some quarters: with a claim that is false, and of workloads with the one that is true."""

    world: World
    false: tuple[float, ...]
    found: tuple[float, ...]

    @property
    def error(self) -> float:
        """A standard error of the share of false claims after twelve quarters, at 2 % or at what it is."""
        share = max(self.false[-1], ALLOWED)
        return sqrt(share * (1 - share) / self.world.reports)

    @property
    def keeps_its_promise(self) -> bool:
        """Whether a covered world has at most 2 %, within what a simulation of this size can tell."""
        return self.false[-1] <= ALLOWED + 2.33 * self.error


def counted(world: World, decide: Decide, seed: int, reports: int | None = None) -> Counted:
    """The reports of a world, decided in parts."""
    pairs, size = drawn(world, seed), reports or world.reports
    parts = (pairs.filter(pl.col("world").is_between(at, min(at + PART, size) - 1)) for at in range(0, size, PART))
    claims = pl.concat(list(_claims(world, parts, decide)))
    is_true = (pl.col("workload") < world.differ) & (pl.col("verdict") == ("tpu" if world.true_ratio < 1 else "trainium"))
    by = {after: claims.filter(pl.col("quarters") <= after) for after in AFTER}
    false = tuple(one.filter(~is_true)["world"].n_unique() / size for one in by.values())
    of = size * world.differ
    found = tuple(one.filter(is_true).select("world", "workload").n_unique() / of if of else 0.0 for one in by.values())
    return Counted(world, false, found)


def _claims(world: World, parts: Iterator[pl.DataFrame], decide: Decide) -> Iterator[pl.DataFrame]:
    for part in parts:
        with decide({PAIRS: part}) as connection:
            yield connection.execute(CLAIMS).pl()


def table(rows: Sequence[Counted]) -> str:
    """The page's section."""
    head = "| World | by quarter 4 | 8 | 12 | ± |\n|---|---|---|---|---|\n"
    text = []
    for title, chosen in (("Covered: at most 2 %", True), ("Not covered", False), ("Found, where there is a difference", None)):
        of_kind = [row for row in rows if row.world.is_covered is chosen]
        lines = [_line(row, row.false if chosen is not None else row.found) for row in of_kind]
        text.append(f"**{title}**\n\n{head}" + "\n".join(lines))
    return "\n\n".join(text)


def _line(row: Counted, shares: Sequence[float]) -> str:
    error = sqrt(max(shares[-1] * (1 - shares[-1]), 0.0) / (row.world.reports * max(row.world.differ, 1)))
    return f"| {row.world.name} | " + " | ".join(f"{100 * share:.1f}" for share in (*shares, error)) + " |"
