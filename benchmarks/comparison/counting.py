"""Worlds decided by the compiled models, and the table of how often a side was claimed by the fourth, eighth, twelfth quarter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import duckdb
import polars as pl

from benchmarks.comparison.worlds import QUARTERS, START, TO_TARGET, World, drawn

GIVEN = ("int_report_windows", *(f"int_comparison_{name}" for name in ("pairs", "members", "figures", "shares", "strata_tests")))
# every pair of a world is of one stratum of each kind: clusters and tests of strata are left out, they take most of the time
KEPT = {"int_comparison_clusters": "stratum_kind = ''"}
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
    claims = pl.concat(list(_claims(parts, decide)))
    is_true = (pl.col("workload") < world.differ) & (pl.col("verdict") == ("tpu" if world.true_ratio < 1 else "trainium"))
    by = {after: claims.filter(pl.col("quarters") <= after) for after in AFTER}
    false = tuple(one.filter(~is_true)["world"].n_unique() / size for one in by.values())
    of = size * world.differ
    found = tuple(one.filter(is_true).select("world", "workload").n_unique() / of if of else 0.0 for one in by.values())
    return Counted(world, false, found)


def _claims(parts: Iterator[pl.DataFrame], decide: Decide) -> Iterator[pl.DataFrame]:
    for part in parts:
        with decide(tables(part)) as connection:
            yield connection.execute(CLAIMS).pl()


def tables(pairs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The pairs, and what a verdict asks beside them: windows of a year, a run of each side, and no cost that no run carries."""
    ends = pl.select(window_end=pl.date_range(START, START.replace(START.year + QUARTERS // 4), "1q", closed="right"))
    windows = ends.with_columns(window_start=pl.col("window_end").dt.offset_by("-1y"))
    reports, rows = pairs.select("world").unique(), pairs.select("world", "workload_key", "kpi", "factor_view").unique()
    of_sides = pl.DataFrame({"accelerator_family": ["trainium", "tpu"]})
    runs = rows.join(of_sides, how="cross").with_columns(training_run_id=pl.concat_str("workload_key", "accelerator_family"))
    members = runs.join(windows, how="cross").drop("kpi", "factor_view")
    shares = [pl.lit(0.0).alias(f"{side}_{name}") for side in ("trainium", "tpu") for name in ("share", "least_share")]
    found = (
        reports.join(windows, how="cross"),
        pairs,
        members.with_columns(is_in_window=True, is_in_pair=True),
        runs.select("world", "training_run_id", "kpi", "factor_view", setting=pl.lit(""), unit=pl.lit("USD"), value=pl.lit(1.0)),
        rows.join(ends.rename({"window_end": "quarter_end"}), how="cross").with_columns(*shares, basis_class=pl.lit("")),
        rows.clear(),
    )
    return dict(zip(GIVEN, found, strict=True))


def table(rows: Sequence[Counted], worlds: Sequence[World] = ()) -> str:
    """The page's section: what was counted, and those of `worlds` that were not with their names alone."""
    by_name = {world.name: _not_counted(world) for world in worlds} | {row.world.name: _line(row) for row in rows}
    kinds = {world.name: world.is_covered for world in (*worlds, *(row.world for row in rows))}
    head = "| World | by quarter 4 | 8 | 12 | ± | reports |\n|---|---|---|---|---|---|\n"
    text = []
    titles = {True: "Covered: at most 2 % within the error", False: "Not covered", None: "Found, where there is a difference"}
    for chosen, title in titles.items():
        text.append(f"**{title}**\n\n{head}" + "\n".join(by_name[name] for name, kind in kinds.items() if kind is chosen))
    return "\n\n".join(text)


def _not_counted(world: World) -> str:
    return f"| {world.name} | not counted yet | | | | |"


def _line(row: Counted) -> str:
    """Of worlds without a difference with the error at 2 % where less was found: nothing found is not an error of 0."""
    shares, error = row.false, row.error
    if row.world.is_covered is None:
        shares = row.found
        error = sqrt(shares[-1] * (1 - shares[-1]) / (row.world.reports * row.world.differ))
    of_world = " | ".join(f"{100 * share:.1f}" for share in (*shares, error))
    return f"| {row.world.name} | {of_world} | {row.world.reports} |"
