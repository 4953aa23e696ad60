"""One run from what its schedulers and logs tell, and what is lost of it; evidence_scenario.py shows what was reported."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal as D

import pytest

pytestmark = pytest.mark.slow


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 7, 1, hour, minute)  # noqa: DTZ001 published times are UTC without a zone


def of(marts, table: str, run: str) -> list[dict]:
    return marts.rows(f"select * from marts.{table} where training_run_id = '{run}' order by all")


def test_a_jobset_its_pods_its_logs_and_two_records_are_one_run(marts) -> None:
    [run] = of(marts, "dim_training_runs", "team-run-1")
    assert (run["team"], run["provider_name"], run["accelerator_type"], run["chip_count"]) == (
        "research",
        "Google Cloud",
        "v6e",
        16,
    )
    assert (run["attempt_count"], run["state"], run["started_at"], run["ended_at"]) == (2, "succeeded", at(0), at(4, 1))
    assert (run["framework"], run["framework_version"], run["slice_name"]) == ("maxtext", "0.7.1", "llama-slice-0")
    assert (
        marts.rows("select training_run_id from marts.dim_training_runs where training_run_id in ('llama', 'llama-pretrain')")
        == []
    )


def test_what_two_pieces_of_evidence_say_otherwise_is_a_conflict_and_our_own_record_is_chosen(marts) -> None:
    stated = {
        (row["field"], row["value_a"], row["value_b"], row["chosen"]) for row in of(marts, "fct_run_conflicts", "team-run-1")
    }
    assert stated == {
        ("framework_version", "0.7.1", "0.7.2", "0.7.1"),
        ("team", "research", "core", "research"),
        ("steps", "6", "5", "6"),  # a step that was done twice is one
    }


def test_files_in_another_order_in_pieces_and_twice_give_the_same_run(marts) -> None:
    for table in ("dim_training_runs", "fct_run_attempts", "fct_run_progress"):
        one, two = (
            [{name: value for name, value in row.items() if not name.endswith("_id") and name != "slice_name"} for row in rows]
            for rows in (of(marts, table, "team-run-1"), of(marts, table, "team-run-2"))
        )
        assert one == two, table


def test_steps_tokens_and_operations_are_those_of_the_log_and_a_repeated_step_is_useful_once(marts) -> None:
    [row] = of(marts, "fct_run_progress", "team-run-1")
    assert (row["steps"], row["tokens"], row["useful_tokens"]) == (6, 6 * 4096 * 16, 5 * 4096 * 16)
    assert row["model_flops"] == 5 * 45.9e15 * 16
    assert row["steps_source"] == "run_json"
    assert {row[f"{name}_source"] for name in ("tokens", "useful_tokens", "model_flops")} == {"maxtext"}
    # 45.9e15 operations in 100 s, of 918e12 a second that a v6e does in bf16
    assert (row["mfu_ratio"], row["mfu_arithmetic"]) == (0.5, "bf16, which no log states")


def test_goodput_is_time_of_steps_that_were_kept_over_time_of_attempts(marts) -> None:
    """Steps 0 to 2, and 3 to 16 again, of ten minutes each, less six that were no step; attempts of 62 and 151 minutes."""
    [row] = of(marts, "fct_run_progress", "team-run-1")
    assert (row["useful_hours"], row["held_hours"]) == (D("2.733333333"), D("3.55"))
    assert row["goodput_ratio"] == round(164 / 213, 9)
    [other] = of(marts, "fct_run_progress", "ultra")
    assert (other["goodput_ratio"], other["goodput_because"]) == (None, "no log tells when its steps began")
    assert (other["mfu_ratio"], other["mfu_because"]) == (None, "no record and no log states operations of the model")


def test_an_attempt_is_lost_from_the_step_that_was_resumed_and_its_machines_wait_for_the_one_that_left(marts) -> None:
    """Step 3 began at 0:30 and was resumed; host 3 left at 1:00, three hosts of four chips waited until 1:02."""
    first, second = of(marts, "fct_run_attempts", "team-run-1")
    assert (first["state"], first["kept_until"], first["kept_because"]) == ("interrupted", at(0, 30), "step that was resumed")
    assert (first["lost_hours"], first["lost_chip_hours"]) == (D("0.533333333"), D("8.4"))  # 12 x 32 and 4 x 30 chip-minutes
    assert first["waiting_chip_hours"] == D("0.4")
    assert (second["state"], second["lost_hours"], second["lost_because"]) == ("succeeded", None, None)


def test_of_a_lost_attempt_only_the_hours_after_its_last_checkpoint_are_lost_work(marts) -> None:
    """Of four hours of an UltraServer the first two were saved; without a checkpoint all four are lost. An hour costs 1.34375."""
    first, _ = of(marts, "fct_run_attempts", "ultra")
    assert (first["kept_until"], first["kept_because"]) == (at(2), "checkpoint")
    # 16 chips for two hours and 16 for one; then the first machine waits an hour for the second
    assert (first["lost_chip_hours"], first["waiting_chip_hours"]) == (D(48), D(16))
    [saved] = of(marts, "fct_lost_work", "ultra")
    [whole] = of(marts, "fct_lost_work", "no-checkpoint")
    assert (saved["cause"], saved["effective_cost"]) == ("interrupted", 2 * D("1.34375"))
    assert (whole["cause"], whole["effective_cost"]) == ("failed", 4 * D("1.34375"))
    [row] = of(marts, "fct_run_attempts", "no-checkpoint")
    assert row["lost_because"].startswith("neither a checkpoint nor the step")
