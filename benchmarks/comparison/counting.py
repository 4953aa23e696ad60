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
    """Shares by some quarters: of reports with a false claim, of claims that are false, of true differences that are claimed."""

    world: World
    false: tuple[float, ...]
    of_claims: tuple[float, ...]  # the mean over reports; none of a report without a claim
    found: tuple[float, ...]

    @property
    def promised(self) -> tuple[float, ...]:
        """What e-BH holds at 2 %: where other workloads do differ that is the share of claims, not of reports."""
        return self.of_claims if self.world.differ else self.false

    @property
    def keeps_its_promise(self) -> bool:
        """Whether a covered world has at most 2 %, within what a simulation of this size can tell."""
        return self.promised[-1] <= ALLOWED + 2.33 * _error(self.promised[-1], self.world.reports)


def _error(share: float, reports: int) -> float:
    """A standard error at the share, or at 2 % where that is more: nothing found is not an error of 0."""
    share = max(share, ALLOWED)
    return sqrt(share * (1 - share) / reports)


def counted(world: World, decide: Decide, seed: int, reports: int | None = None) -> Counted:
    """The reports of a world, decided in parts."""
    pairs, size = drawn(world, seed), reports or world.reports
    parts = (pairs.filter(pl.col("world").is_between(at, min(at + PART, size) - 1)) for at in range(0, size, PART))
    claims = pl.concat(list(_claims(parts, decide)))
    is_true = (pl.col("workload") < world.differ) & (pl.col("verdict") == ("tpu" if world.true_ratio < 1 else "trainium"))
    by = {after: claims.filter(pl.col("quarters") <= after) for after in AFTER}
    false = tuple(one.filter(~is_true)["world"].n_unique() / size for one in by.values())
    of_claims = tuple(_false_of_claims(one, is_true) / size for one in by.values())
    of = size * world.differ
    found = tuple(one.filter(is_true).select("world", "workload").n_unique() / of if of else 0.0 for one in by.values())
    return Counted(world, false, of_claims, found)


def _false_of_claims(claims: pl.DataFrame, is_true: pl.Expr) -> float:
    """The sum over reports of the share of a report's claims that is false; each workload and side is one claim."""
    once = claims.select("world", "workload", "verdict", is_false=~is_true).unique()
    return float(once.group_by("world").agg(pl.col("is_false").mean())["is_false"].sum())


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


def table(rows: Sequence[Counted]) -> str:
    """The page's section."""
    head = "| World | by quarter 4 | 8 | 12 | ± | reports |\n|---|---|---|---|---|---|\n"
    titles = {True: "Covered: at most 2 % within the error", False: "Not covered", None: "Found, where there is a difference"}
    lines = [line for row in rows for line in _lines(row)]
    return "\n\n".join(
        f"**{title}**\n\n{head}" + "\n".join(line for of, line in lines if of is kind) for kind, title in titles.items()
    )


def _lines(row: Counted) -> Iterator[tuple[bool | None, str]]:
    """The lines of a world, each with the part of the table that it belongs to; one of which some workloads differ has three."""
    world, name = row.world, row.world.name
    is_mixed = 0 < world.differ < world.workloads
    if world.is_covered is not None:
        yield world.is_covered, _line(f"{name}: false of what is claimed" if is_mixed else name, row.promised, world.reports)
    if is_mixed:
        yield False, _line(f"{name}: reports with a false claim", row.false, world.reports)
    if world.differ:
        share = row.found[-1]
        yield None, _line(name, row.found, world.reports, sqrt(share * (1 - share) / (world.reports * world.differ)))


def _line(name: str, shares: tuple[float, ...], reports: int, error: float | None = None) -> str:
    of_world = (*shares, _error(shares[-1], reports) if error is None else error)
    return f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in of_world) + f" | {reports} |"
