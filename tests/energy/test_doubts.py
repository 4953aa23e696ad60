"""A reading is checked before it counts: what lies outside its band is unknown and listed, and calibrates nothing."""

from __future__ import annotations

from decimal import Decimal as D

import pytest

pytestmark = pytest.mark.slow

IT, PUE = D("1.05"), D("1.14")
IDLE, FULL = 43, 142  # watts of a Trainium1 chip by the catalogue, mean 121, with a host of 33 W a chip and 523 W a node


def doubts(marts, machine: str) -> list[dict]:
    return marts.rows(
        "select column_name, row_number, value, remedy, source_object from marts.fct_quarantine"
        f" where reason = 'implausible_power' and remedy like '%{machine} draws%' order by source_object, row_number"
    )


def conflicts(marts, run_id: str) -> list[tuple]:
    rows = marts.rows(
        "select field, value_a, value_b, source_a, source_b, chosen from marts.fct_run_conflicts"
        f" where training_run_id = '{run_id}' order by field"
    )
    return [tuple(row.values()) for row in rows]


def test_milliwatts_are_unknown_and_the_use_beside_them_counts(marts) -> None:
    row = marts.energy("milliwatts")
    # 43 + 0.5 x 99 W
    assert (row["chip_energy_kwh"], row["energy_basis"], row["energy_kwh_measured"]) == (D("0.0925"), "utilisation_model", 0)
    assert row["telemetry_coverage_ratio"] == 1.0
    found = doubts(marts, "i-milliwatts")
    assert len(found) == 60  # each reading of this scenario is an object of its own
    assert found[0]["value"] == "count 1, 2026-07-10 01:01:00 to 2026-07-10 01:01:00, 100000.000 to 100000.000 W"
    assert found[0]["column_name"] == "power_w"
    assert found[0]["remedy"].startswith(
        "chip 0 of i-milliwatts draws 0.400 to 366.000 W; they are about 1,000 times what it draws"
    )


def test_a_host_that_delivers_milliwatts_calibrates_nothing_and_its_run_is_modelled(marts) -> None:
    bad, good, unmetered = (marts.energy(name, "2026-07-01") for name in ("host-3", "host-0", "without-meter"))
    assert good["chip_energy_kwh"] == D("0.64") * 24
    assert (good["energy_basis"], bad["energy_basis"], bad["energy_kwh_measured"]) == ("measured", "utilisation_model", 0)
    assert bad["chip_energy_kwh"] < D("0.77") * 24
    full = marts.rows("select max(busy_w) as most from marts.fct_power_calibration where accelerator_type = 'p5.4xlarge'")
    assert full[0]["most"] is None or full[0]["most"] <= 770
    assert D("0.09") < unmetered["chip_energy_kwh_low"] <= unmetered["chip_energy_kwh_high"] < D("1.155")


def test_no_watts_at_full_use_are_unknown(marts) -> None:
    row = marts.energy("zero-watts")
    assert (row["chip_energy_kwh"], row["energy_basis"]) == ((IDLE + D("0.98") * (FULL - IDLE)) / 1000, "utilisation_model")


@pytest.mark.parametrize(("name", "unit"), [("kilowatts", "kilowatts"), ("megawatts", "milliwatts")])
def test_a_node_in_another_unit_is_unknown_and_the_unit_is_named(marts, name: str, unit: str) -> None:
    row = marts.energy(name)
    assert (row["chip_host_energy_kwh"], row["energy_basis"]) == (D("2.459"), "time_model")  # 16 x 121 + 523 W
    found = doubts(marts, f"i-{name}")
    assert len(found) == 60
    assert found[0]["remedy"].startswith(f"i-{name} draws 320.000 to 11166.000 W; they are about") and unit in found[0]["remedy"]


def test_a_rack_draws_at_least_what_a_machine_behind_it_does_that_is_held(marts) -> None:
    assert marts.energy("behind-a-rack")["energy_basis"] == "time_model"
    found = doubts(marts, "rack-kilowatts")
    assert (
        len(found) == 60
        and found[0]["remedy"].startswith("rack-kilowatts draws 320.000 to")
        and "kilowatts" in found[0]["remedy"]
    )


def test_a_machine_that_no_run_holds_may_draw_nothing(marts) -> None:
    row = marts.energy("switched-off")
    assert row["chip_host_energy_kwh"] == D("1.6")
    assert row["idle_share_facility_energy_kwh"] == 0
    assert doubts(marts, "i-switched-off") == []


def test_joules_of_a_scheduler_are_doubted_by_the_watts_that_they_imply(marts) -> None:
    row = marts.energy("too-many-joules")
    assert (row["energy_kwh_measured"], row["energy_basis"]) == (0, "time_model")
    (found,) = doubts(marts, "i-slurm-joules")
    assert found["column_name"] == "energy_j"
    assert "3200000.000 to 3200000.000 W" in found["value"] and "milliwatts" in found["remedy"]


def test_a_counter_in_another_unit_gives_way_to_the_watts_beside_it(marts) -> None:
    row = marts.energy("joules")
    assert (row["chip_energy_kwh"], row["energy_basis"]) == (D("0.1"), "measured")
    found = doubts(marts, "i-joules")
    assert {one["column_name"] for one in found} == {"energy_mj"}
    assert len(found) == 60 and found[0]["value"].endswith("0.100 to 0.100 W") and "kilowatts" in found[0]["remedy"]
    assert conflicts(marts, "joules") == [
        ("watts_and_counter", "0 W", "100 W", "nvml counter of i-joules in 2026-07", "nvml watts of i-joules",
         "the counter, unless it is implausible"),
    ]  # fmt: skip


def test_a_counter_that_does_not_move_beside_watts_is_stuck_and_not_zero(marts) -> None:
    row = marts.energy("stuck")
    assert (row["chip_energy_kwh"], row["energy_basis"]) == (D("0.1"), "measured")
    [(field, value, other, *_)] = conflicts(marts, "stuck")
    assert (field, value, other) == ("stuck_counter", "above 0 W in 60 readings", "does not move")


def test_a_counter_in_large_steps_shows_the_mean_since_it_last_moved(marts) -> None:
    """3,200 W are 192 kJ a minute, of which a counter of tenths of a kWh shows nothing or 360 kJ."""
    row = marts.energy("tenths")
    assert row["energy_basis"] in ("measured", "time_model") and abs(row["chip_host_energy_kwh"] - D("3.2")) < D("0.1")
    assert doubts(marts, "i-tenths") == []


def test_a_meter_below_the_sum_of_its_chips_sees_a_part(marts) -> None:
    for name, watts in (("seen-part", 1000), ("small-part", 200)):
        row = marts.energy(name)
        assert (row["chip_energy_kwh"], row["chip_host_energy_kwh"]) == (D("1.6"), D("2.123"))  # 16 x 100 W and 523 W
        assert row["energy_basis"] == "measured"
        assert conflicts(marts, name) == [
            ("partial_meter", "1600 W", f"{watts} W", f"chips of i-{name} in 2026-07", f"bmc of i-{name}",
             "chips as read, and the host by the model"),
        ]  # fmt: skip
        assert doubts(marts, f"i-{name}") == []  # the band was not asked


def test_a_rail_that_a_profile_has_not_makes_its_chip_unknown(marts) -> None:
    assert marts.energy("both-rails")["chip_energy_kwh"] == D("0.3")
    row = marts.energy("core-alone")
    assert (row["energy_kwh_measured"], row["energy_basis"]) == (0, "time_model")


def test_a_constant_shift_of_all_samples_is_listed_and_not_corrected(marts) -> None:
    row = marts.energy("clock")
    assert row["telemetry_coverage_ratio"] == pytest.approx(58 / 60)
    assert conflicts(marts, "clock") == [
        ("clock_offset", "0 s", "120 s", "run records of i-clock in 2026-07", "telemetry of i-clock", "0 s"),
    ]


def test_three_machines_of_a_slice_that_send_nothing_are_unseen_and_not_idle(marts) -> None:
    row = marts.energy("one-of-four")
    assert (row["telemetry_coverage_ratio"], row["busy_chip_hours"]) == (0.25, D("1.5"))  # three busy chips and an idle one


def test_what_is_modelled_of_a_chip_is_no_more_than_the_limit_of_its_time(marts) -> None:
    """Idle 95, 210, 362 W, full 630, 700, 770 W: at half use 305 W under 400 W, 255 under 300; unseen 300, not 594 or 770 W."""
    row = marts.energy("held-to-limits")
    assert row["chip_energy_kwh"] == D("0.07625") + D("0.06375") + D("0.15")
    assert row["chip_energy_kwh_low"] == D("0.061875") + D("0.049375") + D("0.0475")
    assert row["chip_energy_kwh_high"] == D("0.09525") + D("0.075") + D("0.15"), "idle power is no more than the limit either"
    assert (row["energy_basis"], row["telemetry_coverage_ratio"], row["use_coverage_ratio"]) == ("time_model", 0.5, 0.5)
