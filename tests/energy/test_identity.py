"""Which run a job is where several clusters count jobs from 1, and what its records state otherwise (identity_scenario.py)."""

from __future__ import annotations

from decimal import Decimal as D

import pytest

pytestmark = pytest.mark.slow


def runs(marts, where: str) -> dict[str, tuple]:
    rows = marts.rows(f"select training_run_id, recorded_id, state, chip_count from marts.dim_training_runs where {where}")
    return {row.pop("training_run_id"): tuple(row.values()) for row in rows}


def test_jobs_of_one_number_in_two_clusters_are_two_runs_and_a_number_is_enough_while_there_is_one(marts) -> None:
    assert runs(marts, "recorded_id similar to '(prod/|dev/)?700[0-4]'") == {
        "7000": ("prod/7000", "succeeded", 16),
        "prod-7001": ("prod/7001", "succeeded", 16),
        "dev-7001": ("dev/7001", "succeeded", 16),
        "prod-7002": ("prod/7002", "succeeded", 16),
        "prod-7003": ("prod/7003", "succeeded", 16),
        "7004": ("7004", "unknown", 16),
    }


def test_a_record_that_names_its_cluster_has_its_job_and_a_number_alone_has_none(marts) -> None:
    assert runs(marts, "training_run_id in ('team-b', 'team-c')") == {
        "team-b": ("team-b", "succeeded", 16),
        "team-c": ("team-c", "unknown", None),
    }
    unclear = marts.rows("select value, column_name from marts.fct_quarantine where reason = 'ambiguous_run_id' order by all")
    assert [row["value"] for row in unclear if row["column_name"] == "aliases" and "tune" not in row["value"]] == ["7003"]
    assert [row["value"] for row in unclear if "700" in row["value"]] == ["7003", "7004"]


def test_a_number_on_a_bill_means_its_job_and_of_two_jobs_neither(marts) -> None:
    costs = marts.rows("select training_run_id, billed_cost from marts.fct_training_run_costs where attribution_rule = 'tag'")
    assert {row["training_run_id"]: row["billed_cost"] for row in costs if "700" in row["training_run_id"]} == {
        "7000": D("1.34375"),
        "dev-7001": D("1.34375"),
    }
    [rest] = marts.rows(
        "select billed_cost from marts.fct_residual_costs where reason = 'unattributed' and usage_month = '2026-08-01'"
    )
    assert rest["billed_cost"] == D("1.34375")


def test_workloads_of_one_name_in_two_clusters_are_two_runs_and_a_name_alone_is_enough_while_there_is_one(marts) -> None:
    """East is known in July, west from August on. A seventh of a GPU is what each of their pods asked for."""
    assert runs(marts, "training_run_id in ('prep', 'tune', 'east-tune', 'west-tune', 'team-d', 'team-e', 'unplaced')") == {
        "prep": ("east/prep", "succeeded", 1),
        "east-tune": ("east/tune", "succeeded", 1),
        "team-d": ("team-d", "succeeded", 1),
        "team-e": ("team-e", "unknown", None),
        "unplaced": ("unplaced", "unknown", 1),
    }
    unclear = marts.rows("select value, column_name from marts.fct_quarantine where reason = 'ambiguous_run_id'")
    named = {row["value"]: row["column_name"] for row in unclear if row["value"] in ("unplaced", "ml/tune", "east/tune")}
    assert named == {"unplaced": "training_run_id", "ml/tune": "aliases"}


def test_parts_of_a_chip_have_their_part_of_the_machine_in_cost_and_energy(marts) -> None:
    """Half of a GPU and a seventh of one in a machine of eight, for an hour of 1.34375 USD: to the millionth of a chip."""
    costs = {
        row["training_run_id"]: row["billed_cost"]
        for row in marts.rows("select training_run_id, billed_cost from marts.fct_training_run_costs where billed_cost > 0")
    }
    assert (costs["half"], costs["seventh"]) == (D("0.083984375"), D("0.023995511719"))
    [rest] = marts.rows(
        "select sum(billed_cost) as rest from marts.fct_residual_costs where reason = 'idle' and usage_month = '2026-08-01'"
    )
    assert rest["rest"] == D("1.34375") - costs["half"] - costs["seventh"]
    counts = marts.rows("select * from marts.dim_training_runs where training_run_id in ('half', 'seventh') order by 1")
    assert [(row["chip_count"], row["chip_equivalents"]) for row in counts] == [(1, D("0.5")), (1, D("0.142857"))]
    row = marts.energy("half", "2026-08-01")
    assert row["reserved_chip_hours"] == D("0.5")
    assert (row["chip_energy_kwh"], row["chip_host_energy_kwh"]) == (D("0.297"), D("0.3775"))
    assert marts.energy("seventh", "2026-08-01")["chip_energy_kwh"] == D("0.084857058")


def test_more_chips_claimed_than_a_machine_has_are_a_row_of_each_run_and_the_hour_is_shared_by_the_claims(marts) -> None:
    rows = marts.rows(
        "select * from marts.fct_run_conflicts where source_b = 'its size' and training_run_id like 'claims-%' order by 1"
    )
    assert [(row["training_run_id"], row["field"], row["source_a"], row["value_a"], row["value_b"]) for row in rows] == [
        (run, "chips", "run records of i-claimed in 2026-08", "20", "16") for run in ("claims-12", "claims-8")
    ]
    costs = marts.rows(
        "select billed_cost from marts.fct_training_run_costs where training_run_id like 'claims-%' order by training_run_id"
    )
    assert [row["billed_cost"] for row in costs] == [D("0.80625"), D("0.5375")]


def test_what_a_record_and_its_scheduler_state_otherwise_is_a_row_each(marts) -> None:
    """Its end is 45 s later there, which is no contradiction, and its log began inside the job."""
    rows = marts.rows("select field, value_a, value_b, chosen from marts.fct_run_conflicts where training_run_id = 'fell'")
    assert {row.pop("field"): tuple(row.values()) for row in rows} == {
        "state": ("succeeded", "failed", "succeeded"),
        "started_at": ("2026-08-03 01:00:00", "2026-08-03 01:02:00", "2026-08-03 01:00:00"),
        "machines": ("1", "2", "1"),
        "chips": ("16", "32", "16"),
    }


def test_a_log_names_no_machine_and_that_is_a_doubt_only_where_no_record_does(marts) -> None:
    rows = marts.rows("select value from marts.fct_quarantine where reason = 'run_without_node' and value in ('fell', 'lonely')")
    assert [row["value"] for row in rows] == ["lonely"]


def test_joules_of_a_machine_need_no_type_and_no_chips(marts) -> None:
    """7.2 MJ are 2 kWh at the machine; with network, storage and PUE 2 x 1.05 x 1.14. What the chips drew of it is unknown."""
    for run in ("prod-7011", "prod-7012"):
        row = marts.energy(run, "2026-08-01")
        assert (row["chip_host_energy_kwh"], row["chip_energy_kwh"]) == (D(2), None)
        assert row["facility_energy_kwh"] == row["energy_kwh_measured"] == D("2.394")
        assert row["energy_basis"] == row["power_confidence"] == "measured"


def test_a_schedulers_name_of_a_chip_is_a_type_with_watts(marts) -> None:
    """Eight H100 for an hour that nothing observed: the mean of 594 W each, and a host of 161 W a chip."""
    row = marts.energy("prod-7013", "2026-08-01")
    assert (row["chip_energy_kwh"], row["chip_host_energy_kwh"]) == (8 * D("0.594"), 8 * (D("0.594") + D("0.161")))
    assert row["energy_basis"] == "time_model"


def test_a_run_over_the_end_of_a_month_keeps_its_region_and_pue_until_the_second_bill_is_there(marts) -> None:
    """An hour on each side of midnight, of one machine: the same energy and the same emissions."""
    first, second = (marts.energy("over-the-end", month) for month in ("2026-07-01", "2026-08-01"))
    assert first["facility_energy_kwh"] == second["facility_energy_kwh"] > 0
    assert (first["pue_ratio"], first["pue_source"]) == (second["pue_ratio"], second["pue_source"])
    places = [marts.modelled("over-the-end", month)["region_id"] for month in ("2026-07-01", "2026-08-01")]
    assert places == ["us-east-1", "us-east-1"]
