"""How often bounds hold what they promise, as tables of docs/methodology/energy.md: `python -m tests.energy.coverage` draws and writes them.

What is drawn knows no rule (drawn_calibrations.py, drawn_fleets.py), and the models are those that a build runs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from dagster_project.warehouse import modelling
from tests.energy import drawn_calibrations, drawn_fleets

PAGE = Path(__file__).resolve().parents[2] / "docs" / "methodology" / "energy.md"
ALL_SETS = 2_000  # of each case, for the page
MONTH = date(2026, 7, 1)
WINDOWS = """usage_month date, accelerator_type varchar, sdk_version varchar, source_kind varchar,
    unmetered_share decimal(9, 6), host varchar, training_run_id varchar, workload varchar, window_from_us bigint, window_to_us bigint,
    metered_us decimal(38, 0), metered_uw_us decimal(38, 0), mean_uw decimal(38, 0), window_class varchar"""


def calibrations(connection: duckdb.DuckDBPyConnection, work: Path) -> None:
    """The model of a full build as view `calibrations`, with empty windows, months and the seeds that it reads."""
    [compiled] = [text for name, text in modelling.compiled(work).items() if name.endswith(".int_power_calibrations")]
    connection.execute("attach ':memory:' as build; create schema build.raw; create schema build.intermediate; use build")
    connection.execute("create schema seeds; create table raw.months (usage_month date); create table raw.build_months (usage_month date)")
    connection.execute(f"create table intermediate.int_power_windows ({WINDOWS})")
    for seed in ("calibration_terms", "t_two_sided", "accelerator_power"):
        path = PAGE.parents[2] / "dbt" / "seeds" / f"{seed}.csv"
        connection.execute(f"create table seeds.{seed} as from read_csv('{path}')")
    connection.execute(f"create view calibrations as {compiled}")


def calibrated(connection: duckdb.DuckDBPyConnection, sets: int) -> pl.DataFrame:
    """Each case with how often full power lay within its bounds, their half width, and the half width that 95 of 100 sets needed."""
    connection.execute("insert into raw.months values (?)", [MONTH])
    for workloads, spread in drawn_calibrations.CASES:
        drawn = drawn_calibrations.draw(workloads, spread, sets)
        rows = drawn_calibrations.as_windows(drawn, f"drawn-{workloads}-{round(100 * spread)}", MONTH)
        connection.register("drawn", rows.to_arrow())
        energy = "cast(mean_uw as decimal(19, 0)) * cast(metered_us as decimal(18, 0)) as metered_uw_us"
        connection.execute(f"insert into intermediate.int_power_windows by name select *, {energy} from drawn")
        connection.unregister("drawn")
    found = connection.execute(
        """select accelerator_type, cast(busy_uw as double) / 1e6 as busy_w, busy_ppm / 1e6 as half, refused_reason
        from calibrations where coverage_promised = 0.95 or refused_reason is not null"""
    ).pl()
    assert len(found) == sets * len(drawn_calibrations.CASES)
    missed = (pl.col("busy_w") - drawn_calibrations.TRUE_W).abs() / pl.col("busy_w")
    judged = found.filter(pl.col("refused_reason").is_null()).group_by("accelerator_type").agg(
        covered=(missed <= pl.col("half")).mean(), half=pl.col("half").median(), needed=missed.quantile(0.95)
    )
    place = pl.col("accelerator_type").str.split("-")
    cases = judged.with_columns(workloads=place.list[1].cast(int), spread=place.list[2].cast(int) / 100)
    return cases.with_columns(wider=pl.col("half") / pl.col("needed")).sort("workloads", "spread")


def calibration_table(found: pl.DataFrame) -> str:
    rows = [
        (row["workloads"], f"{row['spread']:.0%}", f"{row['covered']:.1%}", f"{row['half']:.1%}", f"{row['needed']:.1%}", f"{row['wider']:.2f}")
        for row in found.iter_rows(named=True)
    ]
    return table(("workloads", "workloads differ by", "full power within", "half width, median", "narrowest that covers 95 %", "wider by"), rows)


def fleet_table(found: pl.DataFrame) -> str:
    rows = [
        (f"`{row['basis']}`", f"{row['promised']:.0%}", row["runs"], f"{row['covered']:.1%}", f"{row['low']:.0%}", f"+{row['high']:.0%}")
        for row in found.iter_rows(named=True)
    ]
    return table(("basis", "promised", "runs", "energy within", "low, median", "high, median"), rows)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('%', ' %') for cell in line)} |".replace("  %", " %") for line in lines)


def on_page(name: str) -> tuple[str, str, str]:
    """The page before a table, the table and what comes after it."""
    start, end = f"<!-- generated: {name} -->\n\n", "\n\n<!-- end of generated -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(start)
    shown, after = rest.split(end, 1)
    return before + start, shown, end + after


def main() -> None:
    """Draw everything, print both tables and write them into the page."""
    with tempfile.TemporaryDirectory() as work, duckdb.connect() as connection:
        calibrations(connection, Path(work))
        found = calibrated(connection, ALL_SETS)
        fleets = drawn_fleets.judged(Path(work))
    for name, shown in (("coverage of calibration", calibration_table(found)), ("coverage by basis", fleet_table(fleets))):
        before, _, after = on_page(name)
        PAGE.write_text(before + shown + after, encoding="utf-8")
        sys.stdout.write(f"{shown}\n\n")


if __name__ == "__main__":
    main()
