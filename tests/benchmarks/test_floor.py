"""The floor is the ledger's own arithmetic and nothing else, and peers sum the same columns."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.floor import FLOOR, rollup
from benchmarks.inputs.cur_columns import SCHEMA as WRITTEN
from connectors.aws.cur_columns import SCHEMA as READ

ROOT = Path(__file__).resolve().parents[2]
# of a generated bill: what only rows of pods and tasks have (split cost allocation) is not among its columns
MEASURES = [name for name in READ.measures if name in WRITTEN.names]


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_casts_of_the_floor_are_those_of_the_models() -> None:
    macros = (ROOT / "dbt/macros/exact.sql").read_text()
    rendered = jinja2.Environment().from_string(macros + "{{ double_to_decimal('x', 12) }}").render()
    macro = FLOOR.read_text().partition(";\n")[0].partition("create or replace temp macro exact(x) as")[2]
    assert words(macro) == words(rendered)


def test_the_floor_sums_every_measure_of_a_bill() -> None:
    text = FLOOR.read_text()
    assert len(MEASURES) == 14
    assert all(f"sum(exact({name})) as {name}" in words(text) for name in MEASURES)


def test_pandas_and_polars_sum_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks/peers")
    import rollup_columns

    assert set(rollup_columns.MEASURES) == set(MEASURES)
    sys.modules.pop("rollup_columns")


def test_the_floor_adds_exactly_what_doubles_do_not(tmp_path: Path) -> None:
    row = {
        "line_item_unblended_cost": 0.1,
        "resource_tags": [("user_training_run_id", "run-1")],
        "product": [("region", "us-east-1")],
    }
    rows = [{**dict.fromkeys(WRITTEN.names), **row} for _ in range(3)]
    pq.write_table(pa.Table.from_pylist(rows, schema=WRITTEN), tmp_path / "part.parquet")
    [found] = rollup([str(tmp_path / "part.parquet")]).to_arrow_table().to_pylist()
    assert (found["run"], found["region"], found["lines"]) == ("run-1", "us-east-1", 3)
    assert str(found["line_item_unblended_cost"]) == "0.300000000000"
