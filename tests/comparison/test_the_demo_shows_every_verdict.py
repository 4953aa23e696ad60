"""The finished demo: every kind of verdict, and the workloads that its README has."""

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
    assert found.pop("ranking-pretraining") == found.pop("ranking-continued") == "trainium"
    assert found.pop("bert-large-mlm") == "undecided"
    assert found.pop("vit-huge-finetune") == "descriptive"
    assert set(found.values()) == {"not_comparable"}


ENERGY = (
    "select distinct verdict, verdict_reason from marts.rpt_trainium_vs_tpu"
    " where pair_count >= 5 and factor_view = 'chip' and (kpi like 'energy%' or kpi like '%gco2e%')"
)
RANKING = ("ranking-pretraining", "ranking-continued")


def test_no_verdict_on_energy_rests_on_assumed_power(demo: duckdb.DuckDBPyConnection) -> None:
    """Somebody states the power of Trainium2 and TPU v4, of the demo's other chips nobody who can be asked."""
    rows = demo.execute(f"{ENERGY} and workload_key not in {RANKING}").fetchall()
    assert rows == [("undecided", "assumed_power")]


def test_watts_of_one_workload_alone_decide_nothing(demo: duckdb.DuckDBPyConnection) -> None:
    """The same machines, hours and use in both: the second has profiles, of six runs of that workload, so bounds are assumed."""
    found = {key: demo.execute(f"{ENERGY} and workload_key = ? and {YEAR}", [key]).fetchall() for key in RANKING}
    assert found == {RANKING[0]: [("undecided", "power")], RANKING[1]: [("undecided", "assumed_power")]}
    rows = demo.execute(
        "select workload_key, power_confidence, count(*) from marts.fct_training_run_energy"
        " join marts.dim_training_runs using (training_run_id) where accelerator_type = 'v4' group by all order by all desc"
    ).fetchall()
    assert rows == [(RANKING[0], "published", 6), (RANKING[1], "assumed", 6)]


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
