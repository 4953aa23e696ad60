"""The finished demo: every kind of verdict, and the workloads that its README tells of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

pytestmark = pytest.mark.slow
YEAR = "window_start = date '2025-10-01' and window_end = date '2026-10-01'"


@pytest.fixture(scope="module")
def demo(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield connection


def test_the_demo_shows_every_kind_of_verdict(demo: duckdb.DuckDBPyConnection) -> None:
    found = dict(
        demo.execute(
            f"select workload_key, verdict from marts.rpt_trainium_vs_tpu where {YEAR} and kpi = 'cost_per_run_to_target'"
        ).fetchall()
    )
    assert found.pop("llm-8b-continued-pretraining") == "tpu"
    assert found.pop("speech-finetune") == "trainium"
    assert found.pop("bert-large-mlm") == "undecided"
    assert found.pop("vit-huge-finetune") == "descriptive"
    assert set(found.values()) == {"not_comparable"}


def test_no_verdict_on_energy_rests_on_assumed_power(demo: duckdb.DuckDBPyConnection) -> None:
    """Only TPU v4 has a published power: of the demo's chips none."""
    asked = (
        "select distinct verdict, verdict_reason from marts.rpt_trainium_vs_tpu where pair_count >= 5 and factor_view = 'chip'"
    )
    rows = demo.execute(f"{asked} and (kpi like 'energy%' or kpi like '%gco2e%')").fetchall()
    assert rows == [("undecided", "assumed_power")]


def test_every_row_has_one_of_the_reasons_of_its_verdict(demo: duckdb.DuckDBPyConnection) -> None:
    allowed = {
        "trainium": {"none"},
        "tpu": {"none"},
        "undecided": {"none", "power", "skewed", "residual_share", "simpson", "assumed_power", "mixed_basis"},
        "descriptive": {"too_few", "view_is_descriptive"},
        "not_comparable": {"unpaired", "no_data"},
    }
    rows = demo.execute("select verdict, verdict_reason, reason, pair_count from marts.rpt_trainium_vs_tpu").fetchall()
    assert rows and all(reason in allowed[verdict] and words.endswith(".") for verdict, reason, words, _ in rows)
    assert all(pairs == 0 for verdict, _, _, pairs in rows if verdict == "not_comparable")
