"""Write generated months of an AWS bill as Data Exports lay them out, with carbon, run records and a configuration.

`python -m benchmarks.generate_cur --rows 1000000 --months 1 --start 2026-04 --out DIR`

As irregular as the public samples, whose densities the constants below keep (benchmarks/README.md has the table and how each was
found): 388 shapes in 1,281 rows of a real legacy report and 285 in 942 rows drawn from a real FOCUS export, growing with rows to
the power of 0.42 and 0.64 in their subsamples; 20 rows an id in a real hourly export (989 ids, 19,946 rows), growing with rows;
0.41 sets of tags a resource and 66 accounts in the FOCUS sample.
"""

from __future__ import annotations

import argparse
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs.cur_columns import SCHEMA
from benchmarks.inputs.fleet import BLOCK_HOURS, Fleet, draw_fleet, write_records
from benchmarks.inputs.held import Held, draw_held
from dagster_project.demo.files import put, put_json

HERE = Path(__file__).parent / "inputs"
EXPORT, CARBON, PAYER = "bench-cur", "bench-carbon", "004217390156"
ROWS_PER_FILE = 250_000
# what a thousand rows show, and how it grows: see benchmarks/README.md, "How irregular"
SHAPES_AT_1000, SHAPE_GROWTH = 300, 0.53
SERIES_PER_ROW = 0.047
RESOURCES_PER_ROW = 0.025
TAG_SETS_PER_RESOURCE = 0.41
ACCOUNTS = 69
MACHINES_PER_ROW = 4e-5
PUBLISHED_AFTER = timedelta(
    days=5, hours=6
)  # the month's end; earlier than either provider's carbon, so that a month comes whole

CONFIGURATION = """\
# Generated: {rows} rows a month from {first}, {months} months. Set TRAINLEDGER_NOW={now}.
organisation: {{name: "Benchmark (synthetic)", reporting_currency: USD}}
home: {home}
run_tag_keys: [training_run_id]
sources:
  - {{name: bench-cur,  kind: aws_cur,       location: {root}/exports/bench-cur}}
  - {{name: bench-carbon, kind: aws_carbon, location: {root}/exports/bench-carbon}}
  - {{name: runs, kind: training_runs, location: {root}/exports/runs}}
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a bill may be like beside its size."""

    accounts: int = ACCOUNTS
    rows_per_file: int = ROWS_PER_FILE
    is_distinct: bool = False  # no two rows with a resource are of the same


ORDINARY = Shape()


def month_starts(first: str, count: int) -> list[datetime]:
    months = [datetime.fromisoformat(f"{first}-01").replace(tzinfo=UTC)]
    while len(months) < count:
        months.append(next_month(months[-1]))
    return months


def next_month(month: datetime) -> datetime:
    return (month + timedelta(days=32)).replace(day=1)


def write_months(
    out: Path,
    rows: int,
    first: str,
    count: int,
    seed: int = 1,
    home: str = "./home",
    held: Held | None = None,
    shape: Shape = ORDINARY,
) -> int:
    """Write the months and what belongs to them; return the rows of all. With 0 rows a month has one row and no runs.

    held: a fleet in place of the few machines, and how much of the bill it is; shape: what else is unusual of it.
    """
    months, written = month_starts(first, count), 0
    out.mkdir(parents=True, exist_ok=True)
    for month in months:
        if not rows:
            fleet = Fleet()
        elif held:
            fleet = draw_held(seed, month, rows, held, PAYER)
        else:
            fleet = draw_fleet(seed, month, round(rows * MACHINES_PER_ROW), PAYER)
        written += _write_month(out / "exports", rows, month, seed, fleet, held, shape)
        write_records(out / "exports" / "runs", month, fleet.records)
    (out / "exports" / "runs").mkdir(exist_ok=True)
    now = next_month(months[-1]) + timedelta(days=20)
    text = CONFIGURATION.format(
        rows=rows, first=first, months=count, now=f"{now:%Y-%m-%dT%H:%M:%SZ}", home=home, root=out.resolve()
    )
    put(out / "trainledger.yaml", text, int(now.timestamp()))
    return written


def _write_month(exports: Path, rows: int, month: datetime, seed: int, fleet: Fleet, held: Held | None, shape: Shape) -> int:
    """The bill's parts, then its manifest, and the same for the month's carbon."""
    partition, keys, parts, total = f"BILLING_PERIOD={month:%Y-%m}", [], max(1, round(rows / shape.rows_per_file)), 0
    with duckdb.connect() as engine:
        engine.execute("set threads = 2; set timezone = 'UTC'")
        engine.execute(f"set temp_directory = '{exports.parent / 'spill'}'")  # fifty million rows do not fit into memory
        _fill(engine, rows, month, seed, fleet, parts, held, shape)
        engine.execute("set threads = 1")  # two would hand over the rows in another order each time
        for part in range(parts):
            engine.execute(f"set variable part = {part}")
            limit = "" if rows else " limit 1"  # what is left of an empty month, as a month without any row is refused
            table = _as_declared(engine.execute((HERE / "aws_rows.sql").read_text() + limit).to_arrow_table())
            total += table.num_rows
            keys.append(f"data/{partition}/{EXPORT}-{part + 1:05d}.snappy.parquet")
            _write_parquet(exports / EXPORT / keys[-1], table)
        carbon = engine.execute((HERE / "aws_carbon.sql").read_text()).to_arrow_table()
    _write_manifest(exports / EXPORT, EXPORT, partition, keys, month)
    period = f"carbon_model_version=v3.0.1/usage_period={month:%Y-%m}"
    key = f"data/{period}/{CARBON}-00001.snappy.parquet"
    _write_parquet(exports / CARBON / key, carbon if rows else carbon.slice(0, 1))
    _write_manifest(exports / CARBON, CARBON, period, [key], month)
    return total


def _write_parquet(path: Path, table: pa.Table) -> None:
    """As AWS's writer leaves it: snappy, int96 times, no Arrow schema, one row group."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        table, path, compression="snappy", use_deprecated_int96_timestamps=True, store_schema=False, row_group_size=1 << 24
    )


def _write_manifest(root: Path, export: str, partition: str, keys: list[str], month: datetime) -> None:
    manifest = {
        "exportName": export,
        "executionId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{export}|{month:%Y-%m}")),
        "billingPeriod": {"start": f"{month:%Y-%m-%d}T00:00:00.000Z", "end": f"{next_month(month):%Y-%m-%d}T00:00:00.000Z"},
        "dataFiles": [f"s3://synthetic-exports/exports/{export}/{key}" for key in keys],
        "additionalOutputFiles": [],
    }
    published = int((next_month(month) + PUBLISHED_AFTER).timestamp())
    put_json(root / f"metadata/{partition}/{export}-Manifest.json", manifest, published)


def _fill(
    engine: duckdb.DuckDBPyConnection,
    rows: int,
    month: datetime,
    seed: int,
    fleet: Fleet,
    parts: int,
    held: Held | None,
    shape: Shape,
) -> None:
    rows = round(rows * (1 - held.share)) if held else rows
    resources = rows * RESOURCES_PER_ROW
    variables = {
        "seed": str(seed),
        "payer": PAYER,
        "invoice": f"26{month:%y%m}390156",
        "shapes": round(SHAPES_AT_1000 * max(1, rows / 1000) ** SHAPE_GROWTH),
        "series": max(100, round(rows * SERIES_PER_ROW)),
        "tag_sets": max(8, round(resources * TAG_SETS_PER_RESOURCE)),
        "accounts": shape.accounts,
        "apart": shape.is_distinct,
        "block_hours": BLOCK_HOURS,
        "parts": parts,
        "bare": held is not None,
        "pods": 2 if held and held.has_pods else 0,
    }
    for name, value in variables.items():
        engine.execute(f"set variable {name} = {value!r}")
    engine.execute(f"set variable month = timestamp '{month:%Y-%m-%d}'")
    columns = (
        "n, resource_id, instance_type, region_id, zone, account_n, tag_set, purchase, rate, first_hour, last_hour, block_arn"
    )
    _table(engine, "nodes", columns, fleet.nodes)
    _table(engine, "holds", "n, first_hour, last_hour, tag", fleet.holds)
    _table(engine, "jobs", "n, resource_id, account_n, tag_set, first_hour, last_hour, machines", fleet.jobs)
    for name in ("aws_prices.sql", "aws_month.sql"):
        engine.execute((HERE / name).read_text())


_TEXTS = {"resource_id", "instance_type", "region_id", "zone", "purchase", "block_arn", "tag"}


def _table(engine: duckdb.DuckDBPyConnection, name: str, columns: str, values: list[tuple[Any, ...]]) -> None:
    names = columns.split(", ")
    kinds = [pa.string() if column in _TEXTS else pa.float64() if column == "rate" else pa.int64() for column in names]
    lists = [pa.array([row[i] for row in values], type=kind) for i, kind in enumerate(kinds)]
    drawn = pa.Table.from_arrays(lists, names=names)
    engine.register("drawn", drawn)
    engine.execute(f"create table {name} as select * from drawn")
    engine.unregister("drawn")


def _as_declared(table: pa.Table) -> pa.Table:
    """All 118 columns, in AWS's types; those the bill has nothing for are null."""
    if unknown := set(table.column_names) - set(SCHEMA.names):
        raise ValueError(f"columns that no export has: {sorted(unknown)}")
    columns = [
        table[field.name] if field.name in table.column_names else pa.nulls(table.num_rows, field.type) for field in SCHEMA
    ]
    return pa.Table.from_arrays([column.cast(field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="about so many in each month")
    parser.add_argument("--months", type=int, default=1)
    parser.add_argument("--start", default="2026-04")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--home", default="./home", help="written into trainledger.yaml")
    arguments = parser.parse_args()
    written = write_months(arguments.out, arguments.rows, arguments.start, arguments.months, arguments.seed, arguments.home)
    print(f"{written} rows in {arguments.months} months: {arguments.out}")


if __name__ == "__main__":
    main()
