"""Energy from run records and telemetry to the marts, with figures a person can work out.

One Trainium1 chip: idle 43 W, full 142 W, unwatched 121 W (bounds 20 to 133 and 115 to 244 W); its node 33 W (19 to 105); network
and storage 5 % (2 to 10 %); the AWS fleet's PUE of 2025 is 1.14. So an hour at half use is 43 + 0.5 x 99 = 92.5 Wh of chip, 125.5
with its host, x 1.05 = 131.775 of IT, x 1.14 = 150.2235 at the facility.
"""

from __future__ import annotations

from decimal import Decimal as D

import pytest

pytestmark = pytest.mark.slow


def test_an_hour_at_half_use_at_four_boundaries(marts) -> None:
    row = marts.energy("plain")
    assert row["chip_energy_kwh"] == D("0.0925")
    assert row["chip_host_energy_kwh"] == D("0.1255")
    assert row["it_energy_kwh"] == D("0.131775")
    assert row["facility_energy_kwh"] == D("0.1502235")
    # low: (20 + 0.5 x 113 + 19) x 1.02 x 1.14; high: (115 + 0.5 x 129 + 105) x 1.10 x 1.14
    assert (row["facility_energy_kwh_low"], row["facility_energy_kwh_high"]) == (D("0.111047400"), D("0.356763000"))
    assert (row["energy_basis"], row["power_confidence"], row["telemetry_coverage_ratio"]) == (
        "utilisation_model",
        "assumed",
        1.0,
    )
    assert (row["reserved_chip_hours"], row["busy_chip_hours"]) == (D(1), D("0.5"))
    assert row["energy_kwh_utilisation_model"] == row["facility_energy_kwh"]
    assert (row["pue_ratio"], row["pue_source"]) == (1.14, "AWS sustainability page, 2025, fleet")


@pytest.mark.parametrize("told", ["shuffled", "twice", "rechunked", "jittered", "late", "noisy", "two-attempts"])
def test_the_same_hour_recorded_otherwise_gives_the_same_figures(marts, told: str) -> None:
    assert marts.figures(told) == marts.figures("plain")


def test_two_runs_after_each_other_carry_what_one_would_have_carried(marts) -> None:
    whole, first, second = marts.figures("plain"), marts.figures("first-half"), marts.figures("second-half")
    for name in (
        "chip_energy_kwh",
        "facility_energy_kwh",
        "facility_energy_kwh_low",
        "facility_energy_kwh_high",
        "busy_chip_hours",
    ):
        assert abs(first[name] + second[name] - whole[name]) <= D("1e-9"), name  # each rounds once
    assert first["telemetry_coverage_ratio"] == second["telemetry_coverage_ratio"] == 1.0


def test_a_gap_that_is_none_is_none_between_two_runs_and_two_months_too(marts) -> None:
    halves = [marts.energy("late-first-half"), marts.energy("late-second-half")]
    months = [marts.energy("late-over-midnight"), marts.energy("late-over-midnight", "2026-08-01")]
    for row in (*halves, *months):
        assert (row["chip_energy_kwh"], row["telemetry_coverage_ratio"]) == (D("0.04625"), 1.0)
        assert row["energy_basis"] == "utilisation_model"


@pytest.mark.parametrize("run_id", ["gap", "error"])
def test_a_minute_that_was_not_seen_lowers_coverage_and_widens_the_bounds(marts, run_id: str) -> None:
    row, plain = marts.energy(run_id), marts.energy("plain")
    assert row["telemetry_coverage_ratio"] == 0.983333333  # 59 of 60, cut
    # 59 minutes at 92.5 W and one at 121 W, in Wh: (59 x 92.5 + 121) / 60 = 92.975
    assert row["chip_energy_kwh"] == D("0.092975")
    # low: one minute at 20 W; high: one minute at 244 W
    assert row["chip_energy_kwh_low"] == D("0.075558333")
    assert row["chip_energy_kwh_high"] == D("0.180575000")
    assert (
        row["chip_energy_kwh_low"] < plain["chip_energy_kwh_low"] and row["chip_energy_kwh_high"] > plain["chip_energy_kwh_high"]
    )
    assert row["energy_basis"] == "time_model"
    assert row["energy_kwh_utilisation_model"] + row["energy_kwh_time_model"] == row["facility_energy_kwh"]
    assert row["energy_kwh_time_model"] > 0


def test_without_telemetry_time_means_use_and_nothing_is_called_busy(marts) -> None:
    row = marts.energy("unwatched")
    assert (row["chip_energy_kwh"], row["chip_energy_kwh_low"], row["chip_energy_kwh_high"]) == (
        D("0.121"),
        D("0.020"),
        D("0.244"),
    )
    assert (row["telemetry_coverage_ratio"], row["busy_chip_hours"], row["energy_basis"]) == (0.0, None, "time_model")


def test_a_machine_of_which_a_run_held_no_chip_leaves_nothing_unseen(marts) -> None:
    row = marts.energy("nothing-elsewhere")
    assert (row["energy_basis"], row["telemetry_coverage_ratio"], row["energy_kwh_time_model"]) == ("utilisation_model", 1.0, 0)


def test_an_idle_hour_inside_the_window_adds_its_idle_power(marts) -> None:
    row = marts.energy("idle-stretch")
    assert row["chip_energy_kwh"] == D("0.0925") + D("0.043")
    assert (row["busy_chip_hours"], row["telemetry_coverage_ratio"]) == (D("0.5"), 1.0)


def test_runs_that_nothing_distinguishes_carry_the_node_by_their_chips(marts) -> None:
    # 8 of 16 chips busy: each run has 8 chips at half use, 8 x 92.5 W
    for run_id in ("mean-a", "mean-b"):
        assert marts.energy(run_id)["chip_energy_kwh"] == D("0.740")
        assert marts.energy(run_id)["chip_host_energy_kwh"] == D("0.740") + D("0.2615")  # half of 523 W


def test_runs_with_telemetry_of_their_own_carry_their_own_chips(marts) -> None:
    assert marts.energy("keyed-a")["chip_energy_kwh"] == D("1.136")  # 8 x 142 W
    assert marts.energy("keyed-b")["chip_energy_kwh"] == D("0.542")  # 8 x (43 + 0.25 x 99) W
    assert marts.energy("keyed-b")["telemetry_coverage_ratio"] == 1.0


def test_telemetry_of_its_own_earlier_in_the_month_shows_nothing_about_a_shared_node(marts) -> None:
    # half an hour of the whole node, 8 of 16 chips busy, then 8 chips at the node's mean: 0.5 x 16 x 92.5 + 0.5 x 8 x 92.5 W
    assert (marts.energy("joined")["chip_energy_kwh"], marts.energy("joined")["busy_chip_hours"]) == (D("1.11"), D(6))
    assert (marts.energy("joining")["chip_energy_kwh"], marts.energy("joining")["busy_chip_hours"]) == (D("0.37"), D(2))


def test_an_oversubscribed_node_adds_up_to_one_node(marts) -> None:
    for run_id in ("greedy-a", "greedy-b"):
        assert marts.energy(run_id)["reserved_chip_hours"] == D(8)
        assert marts.energy(run_id)["chip_energy_kwh"] == D("0.968")  # 8 x 121 W


def test_free_chips_beside_a_run_are_its_idle_share_and_never_its_energy(marts) -> None:
    row = marts.energy("half-node")
    assert row["chip_energy_kwh"] == D("1.136")  # its eight chips at full power
    # eight free chips: (8 x 43 + 523 / 2) W x 1.05 x 1.14
    assert row["idle_share_facility_energy_kwh"] == D("0.724783500")
    assert marts.energy("plain")["idle_share_facility_energy_kwh"] == 0


def test_a_run_that_holds_no_chip_of_a_node_has_neither_energy_nor_idle_share(marts) -> None:
    row = marts.energy("no-chip-of-it")
    assert (row["facility_energy_kwh"], row["idle_share_facility_energy_kwh"]) == (D(0), D(0))


def test_a_silent_chip_of_a_live_tpu_node_is_idle_and_an_error_is_unknown(marts) -> None:
    # v6e: two chips at 380 W, two at 114 W
    assert (marts.energy("tpu")["chip_energy_kwh"], marts.energy("tpu")["telemetry_coverage_ratio"]) == (D("0.988"), 1.0)
    # one at 380 W, two idle, one unknown at its mean of 323 W
    assert (marts.energy("tpu-error")["chip_energy_kwh"], marts.energy("tpu-error")["telemetry_coverage_ratio"]) == (
        D("0.931"),
        0.75,
    )
    assert marts.energy("tpu")["power_confidence"] == "assumed"  # 380 W are from a table without a title


def test_a_host_that_sent_nothing_is_unobserved_although_its_slice_lives(marts) -> None:
    row = marts.energy("slice")
    # of each of two hosts two chips at 380 W and two idle at 114 W, four chips at the mean of 323 W
    assert (row["chip_energy_kwh"], row["busy_chip_hours"]) == (D("3.268"), D(4))
    assert (row["telemetry_coverage_ratio"], row["energy_basis"]) == (0.666666667, "time_model")


def test_chips_that_are_numbered_anew_within_a_month_all_count_as_many_as_there_are(marts) -> None:
    row = marts.energy("renumbered")
    assert (row["chip_energy_kwh"], row["telemetry_coverage_ratio"], row["busy_chip_hours"]) == (D("1.52"), 1.0, D(4))
    # one at 380 W, one unknown at its mean of 323 W although the host's own numbers show all four alive, two idle
    row = marts.energy("renumbered-error")
    assert (row["chip_energy_kwh"], row["telemetry_coverage_ratio"]) == (D("0.931"), 0.75)


def test_a_job_that_moved_to_another_machine_was_seen_on_both(marts) -> None:
    row = marts.energy("moved")
    assert (row["busy_chip_hours"], row["telemetry_coverage_ratio"]) == (D("0.75"), 1.0)
    assert row["chip_energy_kwh"] == D("0.11725")  # half an hour at 142 W, half an hour at 92.5 W


def test_points_of_a_gauge_count_for_the_time_before_them_and_chips_are_counted_by_host(marts) -> None:
    row = marts.energy("tpu-points")
    assert (row["chip_energy_kwh"], row["telemetry_coverage_ratio"], row["busy_chip_hours"]) == (D("0.988"), 1.0, D(2))


def test_two_machines_of_a_managed_job_are_two_however_they_are_called(marts) -> None:
    row = marts.energy("twins")
    assert (row["reserved_chip_hours"], row["busy_chip_hours"], row["telemetry_coverage_ratio"]) == (D(2), D(1), 1.0)
    assert row["chip_energy_kwh"] == D("0.185")  # 142 + 43 W


def test_all_kinds_of_machines_of_a_managed_job_count_and_none_has_free_chips(marts) -> None:
    pools, small = marts.energy("pools"), marts.energy("small-machine")
    assert (pools["reserved_chip_hours"], pools["idle_share_facility_energy_kwh"]) == (D(4 + 3 * 8), D(0))
    # a machine of one v5e chip has no seven others that were not used
    assert (small["reserved_chip_hours"], small["idle_share_facility_energy_kwh"]) == (D(1), D(0))


def test_chips_of_two_types_under_one_name_have_hours_and_no_energy(marts) -> None:
    row = marts.energy("two-types")
    assert (row["reserved_chip_hours"], row["chip_energy_kwh"], row["power_confidence"]) == (D(8), None, "assumed")


def test_each_job_of_a_run_finds_the_telemetry_of_its_time(marts) -> None:
    row = marts.energy("again")
    assert (row["telemetry_coverage_ratio"], row["busy_chip_hours"]) == (1.0, D(3))
    assert row["chip_energy_kwh"] == D("1.254")  # four chips, half an hour at 380 W and half an hour at 247 W


@pytest.mark.parametrize("run_id", ["alike-a", "alike-b"])
def test_a_key_that_two_jobs_could_mean_gives_neither_the_others_use(marts, run_id: str) -> None:
    row = marts.energy(run_id)
    assert (row["telemetry_coverage_ratio"], row["busy_chip_hours"]) == (0.0, None)


def test_modelled_emissions_are_facility_energy_times_the_zones_factor(marts) -> None:
    row = marts.modelled("tpu")
    assert (row["region_id"], row["factor_id"], row["factor_age_years"]) == ("us-central1", "egrid2023-mrow", 3)
    # (988 + 350) Wh x 1.05 x 1.11 = 1.559439 kWh; x 0.420276918
    assert row["facility_energy_kwh"] == D("1.559439")
    assert row["modelled_location_based_kgco2e"] == D("0.655396217")
    assert (
        row["modelled_location_based_kgco2e_low"]
        < row["modelled_location_based_kgco2e"]
        < row["modelled_location_based_kgco2e_high"]
    )


def test_a_managed_job_finds_its_telemetry_by_its_key_and_its_region_in_its_name(marts) -> None:
    assert marts.energy("london")["telemetry_coverage_ratio"] == 1.0
    assert marts.energy("london")["pue_ratio"] == 1.23
    assert (marts.modelled("london")["factor_id"], marts.modelled("london")["factor_age_years"]) == ("desnz2025-gb", 1)


def test_a_zone_without_a_factor_has_energy_and_no_emissions(marts) -> None:
    row = marts.modelled("nowhere")
    assert row["facility_energy_kwh"] > 0
    assert (row["factor_id"], row["modelled_location_based_kgco2e"], row["region_id"]) == (None, None, "ap-south-2")


@pytest.mark.parametrize("run_id", ["no-watts", "no-chips"])
def test_unknown_chips_or_watts_are_null_and_the_row_is_there(marts, run_id: str) -> None:
    row = marts.energy(run_id)
    assert (
        row["chip_energy_kwh"] is row["facility_energy_kwh"] is row["idle_share_facility_energy_kwh"] is row["pue_ratio"] is None
    )
    assert row["energy_kwh_time_model"] is row["energy_kwh_measured"] is None
    assert (row["energy_basis"], row["power_confidence"]) == ("time_model", "assumed")
    assert row["reserved_chip_hours"] == (1 if run_id == "no-watts" else 0)


def test_stated_chips_of_nodes_of_several_sizes_have_the_host_of_a_chip(marts) -> None:
    row = marts.energy("stated-chips")
    assert row["chip_energy_kwh"] == D("1.188")  # 2 x 594 W
    assert row["chip_host_energy_kwh"] == D("1.51")  # 23 % of 700 W for each chip: 161 W
    assert row["facility_energy_kwh"] == D("1.80747")  # x 1.05 x 1.14


def test_a_run_over_the_end_of_a_month_is_cut_there(marts) -> None:
    july, august = marts.energy("over-midnight"), marts.energy("over-midnight", "2026-08-01")
    assert july["chip_energy_kwh"] == august["chip_energy_kwh"] == D("0.04625")
    assert july["telemetry_coverage_ratio"] == august["telemetry_coverage_ratio"] == 1.0


def test_a_run_without_an_end_and_without_evidence_of_one_has_no_hours_and_no_next_month(marts) -> None:
    row = marts.energy("still-going")
    assert (row["reserved_chip_hours"], row["telemetry_coverage_ratio"], row["chip_energy_kwh"]) == (None, None, None)
    months = marts.rows("select usage_month from marts.fct_training_run_energy where training_run_id = 'still-going'")
    assert len(months) == 1


def test_a_run_recorded_in_two_files_has_the_attempts_of_both_once_and_a_copy_adds_none(marts) -> None:
    query = "select attempt_count, chip_count, state from marts.dim_training_runs where training_run_id = 'two-files'"
    (run,) = marts.rows(query)
    assert run == {"attempt_count": 2, "chip_count": 1, "state": "succeeded"}
    assert marts.energy("two-files")["reserved_chip_hours"] == D(2)


def test_a_rate_of_exchange_is_published_as_written(marts) -> None:
    (row,) = marts.rows("select * from marts.dim_fx_rates")
    assert (row["base_currency"], row["quote_currency"], row["rate"]) == ("EUR", "USD", D("1.0925"))


def test_paid_hours_that_no_run_held_come_to_the_runs_of_the_cell_as_their_idle_share(marts) -> None:
    row = marts.energy("billed")
    # in us-east-1 the PUE is 1.15: 125.5 Wh x 1.05 x 1.15
    assert row["facility_energy_kwh"] == D("0.151541250")
    # three hours at (43 + 33) W x 1.05 x 1.15
    assert row["idle_share_facility_energy_kwh"] == D("0.275310000")


def test_model_and_provider_meet_in_one_row_per_cell(marts) -> None:
    (row,) = marts.rows("select * from intermediate.int_modelled_reconciliation")
    assert (row["method"], row["measure"]) == ("modelled_vs_provider", "provider_scope_2_location_based_kgco2e")
    assert (row["payer_account_id"], row["sub_account_id"], row["service_code"], row["region_id"]) == (
        "1",
        "2",
        "AmazonEC2",
        "us-east-1",
    )
    # the provider gives the run a quarter of 0.2 kg; the model 0.15154125 kWh x 0.270488924 = 0.040990230 kg
    assert (row["provider_total"], row["runs_total"], row["modelled_total"]) == (D("0.2"), D("0.05"), D("0.040990230"))
    assert row["difference"] == D("0.009009770")
    assert row["ratio"] == 0.8198046
    assert row["reason"] is None
