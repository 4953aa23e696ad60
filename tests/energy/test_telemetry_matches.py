"""Telemetry that fits no run or another machine is counted, and an accelerator type that is unknown keeps what is known."""

from __future__ import annotations

from decimal import Decimal as D

import pytest

from dagster_project.base.kinds import KINDS, built_kinds

JULY = "2026-07-01"


def match(marts, host: str, key: str = "") -> tuple:
    (row,) = marts.rows(f"select * from marts.fct_telemetry_matches where host = '{host}' and run_key = '{key}'")
    assert row["usage_month"].isoformat() == JULY
    return row["training_run_id"], row["sample_count"], row["matched_sample_count"], row["reason"]


def conflicts(marts, run_id: str) -> list[tuple]:
    rows = marts.rows(f"select * from marts.fct_run_conflicts where training_run_id = '{run_id}'")
    return [tuple(row[name] for name in ("field", "source_a", "value_a", "source_b", "value_b", "chosen")) for row in rows]


def test_telemetry_of_a_machine_that_no_run_held_is_counted(marts) -> None:
    assert match(marts, "i-nobody") == ("", 60, 0, "no_run")


def test_a_run_key_that_was_not_recorded_is_reported_also_where_the_machine_is_known(marts) -> None:
    assert match(marts, "i-odd-key", "somebody") == ("odd-key", 60, 60, "unknown_run_key")
    assert match(marts, "i-elsewhere", "somebody") == ("", 60, 0, "unknown_run_key")


def test_samples_outside_their_run_are_counted_with_it(marts) -> None:
    # the minute that begins where the run ends shows that there is no gap
    assert match(marts, "i-half-hour", "half-hour") == ("half-hour", 60, 31, "outside_run")
    assert match(marts, "i-not-recorded", "half-hour") == ("half-hour", 60, 0, "outside_run")


def test_a_managed_jobs_key_makes_the_connection(marts) -> None:
    assert match(marts, "algo-1", "london") == ("london", 60, 60, None)


def test_what_a_sample_of_a_shared_machine_met_is_one_run(marts) -> None:
    assert match(marts, "i-mean") == ("mean-a", 960, 960, None)


@pytest.mark.parametrize(
    ("run_id", "reason", "conflict"),
    [
        ("other-type", "type_differs", ("accelerator type of i-other-type", "run records", "trn1.32xlarge", "trn2.48xlarge")),
        ("other-count", "device_count_differs", ("devices of i-other-count", "run records", "16", "8")),
        ("no-type", "device_count_differs", ("devices of i-no-type", "type in the documents", "16", "8")),
    ],
)
def test_documents_of_another_machine_contradict_the_record(marts, run_id: str, reason: str, conflict: tuple) -> None:
    assert match(marts, f"i-{run_id}") == (run_id, 2, 2, reason)
    field, evidence, recorded, seen = conflict
    telemetry = "telemetry neuron_monitor"
    assert conflicts(marts, run_id) == [(f"{field} in 2026-07", evidence, recorded, telemetry, seen, recorded)]


def test_more_chips_than_the_machine_has_contradict_the_record(marts) -> None:
    assert match(marts, "node-small") == ("small-tpu", 16, 16, "device_count_differs")
    assert [row[2:] for row in conflicts(marts, "small-tpu")] == [("4", "telemetry tpu_monitoring", "8", "4")]


def test_a_part_of_a_machine_and_chips_that_were_numbered_anew_contradict_nothing(marts) -> None:
    assert match(marts, "i-part") == ("part-of-node", 2, 2, None)
    assert match(marts, "i-container", "in-a-container") == ("in-a-container", 2, 2, None)
    assert match(marts, "projects/p/zones/us-central1-a/instances/t5")[3] is None
    assert conflicts(marts, "part-of-node") == conflicts(marts, "renumbered") == []


def test_every_sample_is_counted_once(marts) -> None:
    kinds = [kind for kind in built_kinds() if KINDS[kind].fact == "telemetry"]
    assert len(kinds) == 8
    delivered = " + ".join(f"(select count(*) from raw.{kind})" for kind in kinds)
    (row,) = marts.rows(
        f"select {delivered} as delivered, (select sum(sample_count) from marts.fct_telemetry_matches) as counted"
    )
    assert row["delivered"] == row["counted"]


def test_what_two_samples_of_a_device_cover_counts_once(marts) -> None:
    (row,) = marts.rows("select * from marts.fct_telemetry_matches where host = 'i-twice'")
    assert (row["sample_count"], row["observed_chip_hours"]) == (120, D(1))


@pytest.mark.parametrize(
    ("run_id", "type_", "family", "chips"),
    [("next-generation", "v8t", "tpu", 4), ("next-trainium", "trn9.48xlarge", "trainium", 8)],
)
def test_a_type_that_is_unknown_keeps_its_name_chips_and_hours_and_has_no_energy(marts, run_id, type_, family, chips) -> None:
    (run,) = marts.rows(f"select * from marts.dim_training_runs where training_run_id = '{run_id}'")
    assert (run["accelerator_type"], run["accelerator_family"], run["chip_count"]) == (type_, family, chips)
    row = marts.energy(run_id)
    assert row["reserved_chip_hours"] == chips
    assert {row[name] for name in row if "energy_kwh" in name} == {None}


def test_one_alert_for_each_unknown_type_names_the_known_ones(marts) -> None:
    rows = marts.rows("select * from marts.fct_quarantine where reason = 'unknown_accelerator_type' order by value")
    assert [(row["value"], row["source_name"], row["column_name"]) for row in rows] == [
        ("trn9.48xlarge", "runs", "accelerator_type"),
        ("v100", "runs", "accelerator_type"),  # of a published study: own_figures.py; v8t is known, and its watts are not
    ]
    assert all("trn1.32xlarge, trn1n.32xlarge" in row["remedy"] and "v5e, v5p, v6e" in row["remedy"] for row in rows)
