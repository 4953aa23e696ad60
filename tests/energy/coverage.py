"""How often bounds hold what they promise, in the tables of the energy page: `python -m tests.energy.coverage` writes them.

What is drawn knows no rule (drawn_calibrations.py, drawn_fleets.py), and the models are those that a build runs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path

import duckdb
import polars as pl

from dagster_project.warehouse import modelling
from tests.energy import drawn_calibrations, drawn_fleets, raw_tables
from tests.energy.conftest import build_models

PAGE = Path(__file__).resolve().parents[2] / "docs" / "methodology" / "energy.md"
ALL_SETS = 2_000  # of each case, for the page
MONTH = date(2026, 7, 1)
WINDOWS = """usage_month date, accelerator_type varchar, sdk_version varchar, source_kind varchar,
    unmetered_share decimal(9, 6), host varchar, training_run_id varchar, workload varchar, window_from_us bigint,
    window_to_us bigint,
    metered_us decimal(38, 0), metered_uw_us decimal(38, 0), mean_uw decimal(38, 0), window_class varchar"""

ENERGY = """select training_run_id as run,
    case energy_basis when 'utilisation_model' then power_confidence else energy_basis end as basis,
    cast(chip_energy_kwh_low as double) as low, cast(chip_energy_kwh as double) as mid,
    cast(chip_energy_kwh_high as double) as high
from marts.fct_training_run_energy"""


def calibrations(connection: duckdb.DuckDBPyConnection, work: Path) -> None:
    """The model of a full build as view `calibrations`, with empty windows, months and the seeds that it reads."""
    [compiled] = [text for name, text in modelling.compiled(work).items() if name.endswith(".int_power_calibrations")]
    connection.execute("attach ':memory:' as build; create schema build.raw; create schema build.intermediate; use build")
    connection.execute(
        "create schema seeds; create table raw.months (usage_month date); create table raw.build_months (usage_month date)"
    )
    connection.execute(f"create table intermediate.int_power_windows ({WINDOWS})")
    for seed in ("calibration_terms", "t_two_sided", "power_doubts", "accelerator_power"):
        path = PAGE.parents[2] / "dbt" / "seeds" / f"{seed}.csv"
        connection.execute(f"create table seeds.{seed} as from read_csv('{path}')")
    connection.execute(f"create view calibrations as {compiled}")


def calibrated(connection: duckdb.DuckDBPyConnection, sets: int) -> pl.DataFrame:
    """By case how often full power lay within its bounds, their half width, and the one that 95 of 100 sets needed."""
    connection.execute("insert into raw.months values (?)", [MONTH])
    for workloads, spread in drawn_calibrations.CASES:
        drawn = drawn_calibrations.draw(workloads, spread, sets)
        rows = drawn_calibrations.as_windows(drawn, f"drawn-{workloads}-{round(100 * spread)}", MONTH)
        connection.register("drawn", rows.to_arrow())
        energy = "cast(mean_uw as decimal(19, 0)) * cast(metered_us as decimal(18, 0)) as metered_uw_us"
        connection.execute(f"insert into intermediate.int_power_windows by name select *, {energy} from drawn")
        connection.unregister("drawn")
    found = connection.execute(
        """select accelerator_type, refused_reason, cast(busy_uw as double) / 1e6 as busy_w,
            cast(spread_uw as double) / busy_uw as half
        from calibrations where coverage_promised = 0.95 or refused_reason is not null"""
    ).pl()
    assert len(found) == sets * len(drawn_calibrations.CASES)
    missed = (pl.col("busy_w") - drawn_calibrations.TRUE_W).abs() / pl.col("busy_w")
    judged = (
        found.filter(pl.col("refused_reason").is_null())
        .group_by("accelerator_type")
        .agg(covered=(missed <= pl.col("half")).mean(), half=pl.col("half").median(), needed=missed.quantile(0.95))
    )
    place = pl.col("accelerator_type").str.split("-")
    cases = judged.with_columns(workloads=place.list[1].cast(int), spread=place.list[2].cast(int) / 100)
    return cases.with_columns(wider=pl.col("half") / pl.col("needed")).sort("workloads", "spread")


def fleets(work: Path, homes: int = drawn_fleets.HOMES) -> pl.DataFrame:
    """By basis: how often a run's energy lay within its bounds, and how far these lie from the middle."""
    found = []
    for number in range(homes):
        drawn, database = drawn_fleets.home(number), work / f"home-{number}" / "build.duckdb"
        database.parent.mkdir()
        with duckdb.connect(str(database)) as connection:
            raw_tables.create(connection)
            raw_tables.insert(connection, "months", provider_name="AWS", payer_account_id="1", usage_month=MONTH)
            raw_tables.insert(connection, "build_months", usage_month=MONTH)
            for table, rows in drawn.rows.items():
                frame = pl.DataFrame(rows, infer_schema_length=None).with_row_index("_row_number", 1)
                frame = frame.with_columns(_source_name=pl.lit(table), _source_object=pl.lit(f"drawn/{table}"), _is_book=True)
                frame = frame.with_columns(_published_at=pl.lit(datetime(2026, 8, 2)))  # noqa: DTZ001 raw times are UTC without a zone
                connection.register("drawn", frame)
                connection.execute(f"insert into raw.{table} by name select * from drawn")
                connection.unregister("drawn")
        build_models(database)
        with duckdb.connect(str(database), read_only=True) as connection:
            rows = connection.execute(ENERGY).pl()
        truth = pl.DataFrame({"run": list(drawn.true_kwh), "true_kwh": list(drawn.true_kwh.values())})
        found.append(truth.join(rows, on="run", how="left", validate="1:1"))
    runs = pl.concat(found).with_columns(drawn_as=pl.col("run").str.split("-").list[1])
    strange = runs.filter(pl.col("basis").ne_missing(pl.col("drawn_as")))
    assert strange.is_empty(), f"runs of another basis than they were drawn with: {strange}"
    judged = runs.group_by("basis").agg(
        runs=pl.len(),
        covered=pl.col("true_kwh").is_between("low", "high").mean(),
        low=(pl.col("low") / pl.col("mid") - 1).median(),
        high=(pl.col("high") / pl.col("mid") - 1).median(),
    )
    promised = pl.DataFrame({"basis": list(drawn_fleets.PROMISED), "promised": list(drawn_fleets.PROMISED.values())})
    return promised.join(judged, on="basis", how="left", maintain_order="left")


def calibration_table(found: pl.DataFrame) -> str:
    rows = [
        (
            row["workloads"],
            f"{row['spread']:.0%}",
            f"{row['covered']:.1%}",
            f"{row['half']:.1%}",
            f"{row['needed']:.1%}",
            f"{row['wider']:.2f}",
        )
        for row in found.iter_rows(named=True)
    ]
    return table(
        ("workloads", "workloads differ by", "full power within", "half width, median", "narrowest that covers 95 %", "wider by"),
        rows,
    )


def fleet_table(found: pl.DataFrame) -> str:
    rows = [
        (
            f"`{row['basis']}`",
            f"{row['promised']:.0%}",
            row["runs"],
            f"{row['covered']:.1%}",
            f"{row['low']:.0%}",
            f"+{row['high']:.0%}",
        )
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
        drawn = fleets(Path(work))
    for name, shown in (("coverage of calibration", calibration_table(found)), ("coverage by basis", fleet_table(drawn))):
        before, _, after = on_page(name)
        PAGE.write_text(before + shown + after, encoding="utf-8")
        sys.stdout.write(f"{shown}\n\n")


if __name__ == "__main__":
    main()
