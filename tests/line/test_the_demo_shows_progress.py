"""The finished demo's progress of runs against truth.json: goodput as recorded, MFU that can be believed, the quarter before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home/published/trainledger.duckdb"), read_only=True) as connection:
        yield connection


def test_goodput_of_every_recorded_run_is_that_of_the_truth_and_of_others_it_is_unknown(published, demo_home: Path) -> None:
    truth = json.loads((demo_home / "truth.json").read_text())["goodput"]
    rows = published.execute(
        "select training_run_id, goodput_ratio, useful_hours, held_hours from marts.fct_run_progress"
        " where goodput_because is null"
    ).fetchall()
    assert {run for run, *_ in rows} == truth.keys() and len(truth) == 4
    for run, ratio, useful, held in rows:
        seconds, whole = truth[run]
        assert (round(useful * 3600), round(held * 3600)) == (seconds, whole)
        assert ratio == pytest.approx(seconds / whole, rel=1e-8) and 0.9 < ratio < 0.99
    worst = min(rows, key=lambda row: row[1])
    assert worst[0] == "moe-tpu-ablation"  # it went back to a checkpoint


def test_of_an_attempt_that_failed_what_the_checkpoint_had_is_not_lost(published) -> None:
    [(lost, kept)] = published.execute(
        "select epoch(ended_at - kept_until), kept_because from marts.fct_run_attempts"
        " where training_run_id = 'moe-tpu-ablation' and state = 'failed'"
    ).fetchall()
    assert kept and 3_600 < lost < 20_000


def test_the_mfu_of_every_run_can_be_believed_on_every_type(published) -> None:
    rows = published.execute(
        "select accelerator_type, min(mfu_ratio), max(mfu_ratio), count(mfu_ratio) from marts.fct_run_progress"
        " join marts.dim_training_runs using (training_run_id) where mfu_ratio is not null group by all order by all"
    ).fetchall()
    assert len(rows) == 8 and sum(count for *_, count in rows) > 90
    for type_, low, high, count in rows:
        assert 0.25 < low <= high < 0.55, type_
        assert count == 1 or high / low > 1.04, f"the runs on {type_} are all alike"


def test_the_quarter_before_is_beside_every_headline_figure(published) -> None:
    figures = "select figure_id || unit, value from marts.rpt_quarterly_figures where quarter = '2026Q2'"
    earlier = dict(published.execute(figures).fetchall())
    rows = published.execute(
        "select figure_id || unit, prior_value, prior_quarter from marts.rpt_quarterly_figures where quarter = '2026Q3'"
    ).fetchall()
    assert {prior for *_, prior in rows} == {"2026Q2"}
    assert {figure: value for figure, value, _ in rows} == earlier
    assert sum(value is not None for value in earlier.values()) > 10
