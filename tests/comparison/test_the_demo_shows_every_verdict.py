"""The finished demo: every verdict and every reason of one, each at the workload that was made for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from dagster_project.demo.trials import TRIALS

pytestmark = pytest.mark.slow
YEAR = "window_start = date '2025-10-01' and window_end = date '2026-10-01'"
PRIMARY = ("cost_per_run_to_target", "cost_per_run_of_fixed_work")
# what a run costs, by workload
COSTS = {
    "ranking-pretraining": ("trainium", "decided"),
    "translation-pretraining": ("tpu", "decided"),
    "summary-refresh": ("equivalent", "decided"),
    "bert-large-mlm": ("undecided", "sample"),
    "code-completion": ("undecided", "skewed"),
    "routing-policy": ("undecided", "heterogeneous"),
    "demand-forecast": ("undecided", "residual_share"),
    "llm-8b-continued-pretraining": ("descriptive", "too_few_clusters"),
    "game-agent": ("descriptive", "too_few"),
    "ranking-continued": ("descriptive", "labelled_later"),
    "speech-finetune": ("descriptive", "labelled_later"),
    "vit-huge-finetune": ("descriptive", "labelled_later"),
    "legacy-tagger": ("descriptive", "promise_unknown"),
    "dialogue-tuning": ("not_comparable", "promise_broken"),
    "alignment-small": ("not_comparable", "unpaired"),
    "detector-sweep": ("not_comparable", "unpaired"),
    "moe-120b-pretraining": ("not_comparable", "unpaired"),
}
# what a million tokens need, by workload
ENERGY = {
    "code-completion": ("undecided", "power"),
    "translation-pretraining": ("undecided", "assumed_power"),
    "summary-refresh": ("undecided", "mixed_basis"),
}
ALL_REASONS = {
    *("power", "sample", "too_few_clusters", "heterogeneous", "skewed", "residual_share", "unpaired", "too_few"),
    *("promise_broken", "promise_unknown", "labelled_later", "assumed_power", "mixed_basis", "view_is_descriptive"),
    *("no_data", "decided"),
}


@pytest.fixture(scope="module")
def demo(demo_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(demo_home / "trainledger-home" / "published" / "trainledger.duckdb"), read_only=True) as connection:
        yield connection


def verdicts(demo: duckdb.DuckDBPyConnection, *kpis: str) -> dict[str, tuple[str, str]]:
    """By workload, of the year and of machines; of the two costs of a run that of the workload's promise."""
    rows = demo.execute(
        "select workload_key, verdict, verdict_reason from marts.rpt_trainium_vs_tpu"
        f" where {YEAR} and kpi in (select unnest(?)) and factor_view = 'chip' order by verdict_reason = 'no_data' desc",
        [list(kpis)],
    ).fetchall()
    return {workload: (verdict, reason) for workload, verdict, reason in rows}


def test_the_cost_of_a_run_has_the_verdict_that_each_workload_was_made_for(demo: duckdb.DuckDBPyConnection) -> None:
    found = verdicts(demo, *PRIMARY)
    assert found == COSTS
    assert {trial.workload.workload_key: trial.meant for trial in TRIALS}.items() <= {
        workload: ": ".join(verdict) for workload, verdict in found.items()
    }.items()


def test_energy_has_the_verdicts_that_power_alone_withholds(demo: duckdb.DuckDBPyConnection) -> None:
    found = verdicts(demo, "energy_kwh_per_million_tokens")
    assert ENERGY.items() <= found.items()


def test_every_verdict_and_every_reason_is_shown(demo: duckdb.DuckDBPyConnection) -> None:
    rows = demo.execute(f"select verdict, verdict_reason, reason from marts.rpt_trainium_vs_tpu where {YEAR}").fetchall()
    assert {verdict for verdict, *_ in rows} == {"trainium", "tpu", "equivalent", "undecided", "descriptive", "not_comparable"}
    assert {reason for _, reason, _ in rows} == ALL_REASONS
    assert all(words.endswith(".") for *_, words in rows)


def test_pairs_are_registered_by_plans_and_one_by_the_recorder(demo: duckdb.DuckDBPyConnection) -> None:
    """Files of a folder: their times are those of files."""
    rows = demo.execute(
        "select workload_key, pair_key, registered_by, evidence_of_time, registered_at from marts.dim_comparison_registrations"
        " where is_registered"
    ).fetchall()
    by_recorder = [row for row in rows if row[2] == "recorder"]
    assert by_recorder == [("summary-refresh", "summary-08", "recorder", "file_time", by_recorder[0][4])]
    assert {row[3] for row in rows} == {"file_time"}
    assert max(row[4] for row in rows if row[2] == "plan").replace(tzinfo=UTC) < datetime(2026, 5, 1, tzinfo=UTC)
    labelled = {workload for workload, (_, reason) in COSTS.items() if reason in ("labelled_later", "unpaired")}
    assert {row[0] for row in rows} == COSTS.keys() - labelled


def test_no_verdict_on_energy_rests_on_assumed_power(demo: duckdb.DuckDBPyConnection) -> None:
    """Somebody states the power of Trainium2 and TPU v4, of the demo's other chips nobody who can be asked."""
    decided = demo.execute(
        "select distinct pairs.trainium_accelerator_type, pairs.tpu_accelerator_type from marts.rpt_trainium_vs_tpu as verdicts"
        " inner join marts.rpt_comparison_pairs as pairs using (window_start, window_end, workload_key, kpi, factor_view)"
        " where verdicts.verdict_reason = 'decided' and (kpi like 'energy%' or kpi like '%gco2e%')"
    ).fetchall()
    assert {*decided} <= {("trn2.3xlarge", "v4")}


def test_watts_of_one_workload_alone_decide_nothing(demo: duckdb.DuckDBPyConnection) -> None:
    """Profiles of one workload calibrate TPU v4 in August, so the two pairs of another workload in that month are set aside."""
    confidence = demo.execute(
        "select distinct power_confidence from marts.fct_training_run_energy"
        " inner join marts.dim_training_runs using (training_run_id)"
        " where accelerator_type = 'v4' and workload_key = 'ranking-continued'"
    ).fetchall()
    assert confidence == [("assumed",)]
    because = demo.execute(
        f"select set_aside_because from marts.rpt_trainium_vs_tpu where {YEAR} and workload_key = 'ranking-pretraining'"
        " and kpi = 'energy_kwh_per_million_tokens' and factor_view = 'chip'"
    ).fetchall()
    assert because == [("assumed_power 2",)]
