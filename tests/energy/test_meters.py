"""Energy of nodes that a scheduler, MLPerf's rule, outlets, a counter or CodeCarbon measured, as a person adds it up."""

from __future__ import annotations

from decimal import Decimal as D

import pytest

from tests.energy.meters_scenario import WATTS

pytestmark = pytest.mark.slow

ABOVE = D("1.05") * D("1.14")  # network and storage, and PUE
KWH = D(3_600_000)
LAST = D("1e-9")


def test_joules_of_a_slurm_job_are_its_measured_energy_to_the_last_digit(marts) -> None:
    """12,345,678 J of two machines in an hour are 1,714.6775 W each: 3.429355 kWh at their meters."""
    row = marts.energy("slurm-job")
    assert row["chip_host_energy_kwh"] == D(12_345_678) / KWH == D("3.429355")
    assert row["energy_kwh_measured"] == row["facility_energy_kwh"] == (D("3.429355") * ABOVE).quantize(LAST)
    assert (row["energy_basis"], row["power_confidence"]) == ("measured", "measured")


def test_a_run_that_names_its_machines_otherwise_has_the_joules_of_its_job(marts) -> None:
    row = marts.energy("slurm-known")
    assert row["chip_host_energy_kwh"] == D(23_040_000) / KWH == D("6.4")
    assert row["energy_kwh_measured"] == D("6.4") * ABOVE


def test_a_job_without_a_plugin_has_no_measured_energy_and_not_none_at_all(marts) -> None:
    row = marts.energy("slurm-none")
    assert (row["energy_kwh_measured"], row["energy_basis"]) == (0, "time_model")
    assert row["facility_energy_kwh"] > 0


def test_an_mlperf_power_log_is_measured_energy_without_its_switch(marts) -> None:
    """9,085.252432 W x 220.176 s = 2,000,354.54 J = 0.555654 kWh; the estimate of a switch is no reading of the node."""
    row = marts.energy("mlperf")
    assert round(WATTS * 220.176, 2) == 2_000_354.54
    assert row["chip_host_energy_kwh"] == (D("9085.252432") * D("220.176") / KWH).quantize(LAST) == D("0.555654039")
    assert row["energy_kwh_measured"] == row["facility_energy_kwh"]


@pytest.mark.parametrize("name", ["outlets", "counter"])
def test_outlets_add_up_and_a_counter_shows_what_was_used_between_looks(marts, name: str) -> None:
    """In whichever order rows come, and however often."""
    row = marts.energy(name)
    assert (row["chip_host_energy_kwh"], row["energy_basis"]) == (D("3.2"), "measured")


def test_codecarbon_counts_a_run_once_however_often_it_wrote_it(marts) -> None:
    """2.4 MJ in 20 minutes, 6 MJ in 40 and 9.6 MJ in 60 are 2,000 W and then 3,000 W: 9.6 MJ in all."""
    row = marts.energy("carbon")
    assert (row["chip_host_energy_kwh"].quantize(D("1e-6")), row["energy_basis"]) == (
        (D(9_600_000) / KWH).quantize(D("1e-6")),
        "measured",
    )


def test_codecarbon_without_a_gpu_saw_no_accelerator_and_measures_no_node(marts) -> None:
    row = marts.energy("carbon-host")
    assert (row["energy_kwh_measured"], row["energy_basis"]) == (0, "time_model")
    (met,) = marts.rows("select * from marts.fct_telemetry_matches where run_key = 'carbon-host'")
    assert met["sample_count"] == 4  # and nothing that was read disappears
