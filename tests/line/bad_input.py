"""A home that bad input comes to: what is good at first, what is doubtful, what is spoiled, and what was reported each time."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.conftest import Command
from tests.line.kit import NOW, date_files, published_bytes, query, write_small_exports
from tests.oracle.builders import Exports, carbon, hour, run

DATA = "data/BILLING_PERIOD=2026-04"
MANIFEST = "metadata/BILLING_PERIOD=2026-04/export-Manifest.json"
FORMULA = '=HYPERLINK("http://example.org","x")'


@dataclass(frozen=True)
class Fault:
    """What is done to the second delivery of a source of its own, and what must be stated of it."""

    spoil: Callable[[Path], None]
    reason: str
    source_object: str
    said: str
    row_number: int | None = None
    column_name: str | None = None
    value: str | None = None
    is_csv: bool = False


def parquet_of(location: Path) -> Path:
    return next(location.glob(f"{DATA}/*.parquet"))


def rewritten(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def spoil(location: Path) -> None:
        path = parquet_of(location)
        pq.write_table(change(pq.read_table(path, partitioning=None)), path)

    return spoil


def with_values(name: str, values: list[Any], kind: pa.DataType) -> Callable[[Path], None]:
    return rewritten(lambda table: table.set_column(table.schema.get_field_index(name), name, pa.array(values, kind)))


def cut(pattern: str) -> Callable[[Path], None]:
    def spoil(location: Path) -> None:
        path = next(location.glob(f"{DATA}/{pattern}"))
        path.write_bytes(path.read_bytes()[: -(path.stat().st_size // 3)])

    return spoil


def manifest_text(text: str) -> Callable[[Path], None]:
    return lambda location: (location / MANIFEST).write_text(text) and None


def parquet_key(name: str) -> str:
    return f"{DATA}/{name}-00001.snappy.parquet"


FAULTS = {
    "column-gone": Fault(
        rewritten(lambda table: table.drop_columns(["line_item_unblended_cost"])),
        "missing_column", parquet_key("column-gone"), "is missing columns line_item_unblended_cost",
        column_name="line_item_unblended_cost",
    ),
    "cut-parquet": Fault(cut("*.parquet"), "truncated", parquet_key("cut-parquet"), "is cut off or damaged"),
    "cut-gzip": Fault(cut("*.csv.gz"), "truncated", f"{DATA}/cut-gzip-00001.csv.gz", "is cut off or damaged", is_csv=True),
    "text-in-cost": Fault(
        with_values("line_item_unblended_cost", ["1.5", "a lot", "2"], pa.string()),
        "wrong_type", parquet_key("text-in-cost"), "row 2: line_item_unblended_cost is 'a lot'",
        row_number=2, column_name="line_item_unblended_cost", value="a lot",
    ),
    "nan-cost": Fault(
        with_values("line_item_unblended_cost", [1.5, 2.0, float("nan")], pa.float64()),
        "wrong_type", parquet_key("nan-cost"), "row 3: line_item_unblended_cost is 'nan'",
        row_number=3, column_name="line_item_unblended_cost", value="nan",
    ),
    "null-account": Fault(
        with_values("line_item_usage_account_id", ["000000000001", None, "000000000001"], pa.string()),
        "missing_value", parquet_key("null-account"), "row 2: line_item_usage_account_id is nothing",
        row_number=2, column_name="line_item_usage_account_id",
    ),
    "no-bytes": Fault(
        lambda location: parquet_of(location).write_bytes(b"") and None,
        "truncated", parquet_key("no-bytes"), "is cut off: it has no bytes",
    ),
    "absent-object": Fault(
        manifest_text('{"dataFiles": ["b/p/absent-object/data/BILLING_PERIOD=2026-04/gone.snappy.parquet"]}'),
        "absent_object", f"{DATA}/gone.snappy.parquet", "which is not in the location",
    ),
    "leads-out": Fault(
        manifest_text('{"dataFiles": ["b/p/leads-out/../../../etc/passwd.parquet"]}'),
        "unsafe_path", MANIFEST, "does not lie below the export", value="b/p/leads-out/../../../etc/passwd.parquet",
    ),
    "manifest-no-json": Fault(manifest_text("<html>504</html>"), "bad_json", MANIFEST, "is no JSON"),
}  # fmt: skip


@dataclass(frozen=True)
class Told:
    """What one refresh said, and what was published after it."""

    process: subprocess.CompletedProcess[str]
    status: dict[str, dict[str, Any]]
    numbers: dict[str, list[tuple]]
    parquet: dict[str, str]

    @property
    def text(self) -> str:
        return self.process.stdout + self.process.stderr

    def problem(self, source: str) -> str:
        """The one line that speaks of a source."""
        [line] = [line for line in self.text.splitlines() if line.startswith(f"Unreadable or quarantined: {source}")]
        return line


@dataclass(frozen=True)
class Story:
    folder: Path
    good: Told
    doubtful: Told
    spoiled: Told

    @property
    def home(self) -> Path:
        return self.folder / "home"


def numbers_by_source(home: Path) -> dict[str, list[tuple]]:
    """Every published cost of every source."""
    numbers: dict[str, list[tuple]] = {}
    for table, name in (("fct_run_cell_costs", "training_run_id"), ("fct_residual_costs", "reason")):
        for source, *rest in query(
            home,
            f"select source_name, {name}, payer_account_id, usage_month, billed_cost, effective_cost"
            f" from marts.{table} order by all",
        ):
            numbers.setdefault(source, []).append(tuple(rest))
    return numbers


def refreshed(folder: Path, trainledger: Command) -> Told:
    config, home = folder / "trainledger.yaml", folder / "home"
    process = trainledger("refresh", "--config", config, now=NOW)
    status = trainledger("status", "--json", "--config", config, now=NOW)
    assert status.returncode == 0, status.stderr
    by_name = {source["name"]: source for source in json.loads(status.stdout)["sources"]}
    return Told(process, by_name, numbers_by_source(home), published_bytes(home))


def write_good(folder: Path) -> Exports:
    """The small organisation, and one small bill of its own payer for every fault."""
    exports = write_small_exports(folder)
    for number, (name, fault) in enumerate(FAULTS.items(), start=1):
        payer = f"{number:012d}"
        rows = [
            hour(f"2026-04-03T0{at}:00:00", 1.25 + at, bill_payer_account_id=payer, line_item_usage_account_id=payer,
                 line_item_resource_id=f"i-{name}", resource_tags={"user_training_run_id": "run-a"})
            for at in range(3)
        ]  # fmt: skip
        if fault.is_csv:
            rows[2]["line_item_usage_amount"] = "1E30"  # more than an exact number holds; nothing but hours is read from it
            exports.csv_bill(rows, name=name)
        else:
            exports.bill(rows, name=name)
    exports.bill(
        [hour("2026-04-04T00:00:00", 9.5, bill_payer_account_id="000000000042", line_item_resource_id="i-twice")], name="twice"
    )
    exports.bill(
        [hour("2026-04-04T00:00:00", 4.5, bill_payer_account_id="000000000043", line_item_resource_id="i-gone")],
        name="folder-gone",
    )
    exports.runs(run("run-broken", ("i-broken", "2026-04-02T00:00:00Z", "2026-04-02T01:00:00Z", 16), team="first"))
    exports.config()
    date_files(folder / "exports", datetime(2026, 5, 20, tzinfo=UTC))
    return exports


def add_doubtful(exports: Exports) -> None:
    """Rows and records that are held back one by one, or kept and listed."""
    folder = exports.folder / "exports"
    april = pq.read_table(folder / "cur" / parquet_key("cur"), partitioning=None).to_pylist()
    for row in april:
        row["resource_tags"] = dict(row["resource_tags"] or {})
    more = [
        hour("2026-04-06T00:00:00", 6.0, product_region_code="xx-moon-1", line_item_resource_id="i-moon"),
        hour("2026-04-06T01:00:00", 6.5, product_region_code="xx-moon-1", line_item_resource_id="i-moon"),
        hour("2026-04-07T00:00:00", 7.0, line_item_resource_id="i-formula", resource_tags={"user_training_run_id": FORMULA}),
        hour("2026-04-07T01:00:00", 7.5, line_item_made_up="somebody added me"),
        hour("2026-04-07T02:00:00", 8.25, line_item_product_code=None, line_item_resource_id="i-no-product"),
    ]
    exports.bill([*april, *more])
    exports.carbon(
        [
            carbon(0.123457, 0.023457),
            carbon(-0.5, 0.25, product_code="AmazonS3"),
            carbon(0.75, 0.125, region_code="xx-moon-1", location="Moon"),
            carbon(0.375, 0.0625, product_code="AmazonCloudFront", region_code=None, location=None),
        ]
    )
    empty = folder / "carbon/data/model_version=v3.0.1/usage_period=2026-05"
    empty.mkdir(parents=True)
    (empty / "carbon-00001.snappy.parquet").touch()
    metadata = folder / "carbon/metadata/model_version=v3.0.1/usage_period=2026-05"
    metadata.mkdir(parents=True)
    (metadata / "export-Manifest.json").write_text(
        '{"dataFiles": ["p/carbon/data/model_version=v3.0.1/usage_period=2026-05/carbon-00001.snappy.parquet"]}'
    )
    first = folder / "cur" / parquet_key("cur")
    surplus = first.with_name("cur-00002.snappy.parquet")
    pq.write_table(pq.read_table(first, partitioning=None).slice(0, 0), surplus)
    (folder / "cur" / MANIFEST).write_text(json.dumps({"dataFiles": [f"p/cur/{DATA}/{path.name}" for path in (first, surplus)]}))
    exports.runs({"training_run_id": "run-bare", "provider_name": "AWS", "team": "three"})
    for name in ("cur", "carbon", "twice"):
        date_files(folder / name, datetime(2026, 6, 1, tzinfo=UTC))
    date_files(folder / "runs", datetime(2026, 6, 1, tzinfo=UTC))


def spoil_all(exports: Exports) -> None:
    folder = exports.folder / "exports"
    for name, fault in FAULTS.items():
        fault.spoil(folder / name)
        date_files(folder / name, datetime(2026, 6, 10, tzinfo=UTC))
    broken = next(path for path in (folder / "runs").glob("*.json") if "run-broken" in path.read_text())
    broken.write_text(json.dumps({"training_run_id": "run-broken", "attempts": "none", "team": "second"}))
    shutil.rmtree(folder / "folder-gone")
