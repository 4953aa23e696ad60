"""What the benchmarks generate is what providers deliver: every column, their layout, exact totals, as irregular as samples."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from benchmarks import generate_cur, generate_google
from benchmarks.inputs.cur_columns import SCHEMA as WRITTEN
from connectors.aws.cur_columns import SCHEMA as READ
from tests.landing.kit import Organisation

ROWS = 12_000
SOURCES = (
    {"name": "bench-cur", "kind": "aws_cur"},
    {"name": "bench-carbon", "kind": "aws_carbon"},
    {"name": "runs", "kind": "training_runs"},
    {"name": "gcp-billing", "kind": "gcp_billing"},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("generated")
    generate_cur.write_months(made, ROWS, "2026-04", 1)
    google = made / "exports/gcp-billing"
    generate_google.write_month(google, 2_000)
    for day in sorted(google.iterdir())[2:]:  # two partitions are as good as thirty
        shutil.rmtree(day)
    return made


@pytest.fixture(scope="module")
def bill(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as engine:
        engine.execute(f"create view bill as from read_parquet('{folder}/exports/bench-cur/data/*/*.parquet')")
        yield engine


def one(bill: duckdb.DuckDBPyConnection, what: str) -> Any:
    found = bill.execute(f"select {what} from bill").fetchone()
    assert found
    return found[0]


def test_a_generated_bill_has_all_118_columns_that_aws_documents_without_its_rare_settings() -> None:
    known = {*READ.names, *READ.documented}
    rare = {name for name in known if name.startswith("split_line_item")} | {"line_item_iam_principal", "tags"}
    rare.add("line_count")  # of groups alone: no export has it
    assert len(WRITTEN) == 118
    assert set(WRITTEN.names) == known - rare


def test_every_generated_delivery_lands_and_its_control_totals_are_exact(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", generate_clock(folder))
    organisation = Organisation(folder, *SOURCES)
    assert set(organisation.outcomes()) == {"landed"}
    members = organisation.line.elect().members
    [cur] = [member for member in members if member.source.name == "bench-cur"]
    stated = {total.name: Decimal(total.total) for total in cur.contents.measures if total.total is not None}
    columns = [name for name in stated if name in WRITTEN.names]
    assert len(columns) == 14
    table = pq.ParquetDataset(sorted((folder / "exports/bench-cur/data").rglob("*.parquet"))).read(columns)
    for name in columns:
        written = sum(Decimal(repr(value)) for value in table[name].to_pylist() if value is not None)
        assert stated[name] == written, name


def generate_clock(folder: Path) -> str:
    return (folder / "trainledger.yaml").read_text().splitlines()[0].rpartition("=")[2].rstrip(".")


def test_covered_usage_and_its_negations_cancel(bill: duckdb.DuckDBPyConnection) -> None:
    kept = "line_item_line_item_type in ('SavingsPlanCoveredUsage', 'SavingsPlanNegation')"
    assert one(bill, f"count(*) filter ({kept})") > 100
    assert one(bill, f"sum(cast(line_item_unblended_cost as decimal(38,10))) filter ({kept})") == 0


def test_a_line_is_found_by_its_id_and_interval_and_not_by_its_id(bill: duckdb.DuckDBPyConnection) -> None:
    rows, ids = one(bill, "count(*)"), one(bill, "count(distinct identity_line_item_id)")
    assert one(bill, "count(distinct (identity_line_item_id, identity_time_interval))") == rows
    assert ids < rows / 5


def test_generated_rows_are_as_irregular_as_real_ones(bill: duckdb.DuckDBPyConnection) -> None:
    """The bounds are those of real bills of a like size: benchmarks/README.md shows which and how they grow."""
    ids = one(bill, "count(distinct identity_line_item_id)")
    shape = "line_item_line_item_type, line_item_usage_type, line_item_operation, line_item_product_code, pricing_term"
    assert ids > 989 / 19_946 * ROWS  # a real export of 19,946 rows has 989
    assert one(bill, f"count(distinct ({shape}))") > ids / 2  # in the legacy sample every id is a shape of its own
    assert one(bill, "count(distinct line_item_resource_id)") > ids / 4
    assert one(bill, "count(distinct cast(resource_tags as varchar))") > 60
    assert one(bill, "count(*) filter (line_item_resource_id is null)") > 0
    others = "coalesce(line_item_resource_id, '') not like '%-0acce%'"  # the accelerators are never free
    assert 0.25 < one(bill, f"avg(cast(line_item_unblended_cost = 0 as int)) filter ({others})") < 0.5


def test_a_month_of_no_rows_has_one_which_lands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert generate_cur.write_months(tmp_path, 0, "2026-04", 1) == 1
    monkeypatch.setenv("TRAINLEDGER_NOW", generate_clock(tmp_path))
    assert Organisation(tmp_path, *SOURCES[:3]).outcomes() == {"landed": 2}


def test_the_same_seed_writes_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    def written(name: str, seed: int) -> dict[str, bytes]:
        generate_cur.write_months(tmp_path / name, 500, "2026-04", 1, seed)
        root = tmp_path / name / "exports"
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.parquet"))}

    assert written("once", 1) == written("again", 1)
    assert written("again", 1) != written("other", 2)
