"""What the organisation put in wins over the catalogue and is visible as such; published studies come out of their own inputs.

One Trainium1 chip for an hour that nobody watched: 121 W, its node 33 W, network and storage 5 %, PUE 1.14.
"""

from __future__ import annotations

from decimal import Decimal as D

import pytest

pytestmark = pytest.mark.slow


def test_measured_energy_takes_the_place_of_the_model_and_nothing_inside_the_meter_is_guessed(marts) -> None:
    row = marts.energy("own-facility")
    low, high = row["facility_energy_kwh_low"], row["facility_energy_kwh_high"]
    assert (low, row["facility_energy_kwh"], high) == (D("0.49"), D("0.5"), D("0.51"))  # a meter of class 2
    assert row["chip_energy_kwh"] is row["chip_host_energy_kwh"] is row["it_energy_kwh"] is None
    assert (row["energy_kwh_measured"], row["energy_kwh_time_model"], row["energy_kwh_utilisation_model"]) == (D("0.5"), 0, 0)
    assert (row["energy_basis"], row["power_confidence"], row["reserved_chip_hours"]) == ("measured", "user", D(1))
    assert (row["pue_ratio"], row["pue_source"]) == (None, "user: measured at the facility, meter 7, 2026-08-02")


def test_what_lies_outside_the_meter_is_added_by_the_written_method(marts) -> None:
    row = marts.energy("own-chip")
    assert (row["chip_energy_kwh"], row["chip_host_energy_kwh"], row["it_energy_kwh"]) == (D("0.1"), D("0.133"), D("0.13965"))
    assert row["facility_energy_kwh"] == row["energy_kwh_measured"] == D("0.159201")
    # the meter's 2 %, host of 19 to 105 W, network and storage of 2 to 10 %
    assert (row["chip_host_energy_kwh_low"], row["chip_host_energy_kwh_high"]) == (D("0.117"), D("0.207"))
    assert (row["it_energy_kwh_low"], row["it_energy_kwh_high"]) == (D("0.11934"), D("0.2277"))
    assert (row["energy_basis"], row["power_confidence"], row["pue_ratio"]) == ("measured", "user", 1.14)
    assert row["pue_source"] == "AWS sustainability page, 2025, fleet | user: measured at chip, meter 7, 2026-08-02"


def test_an_own_pue_comes_before_the_providers(marts) -> None:
    row = marts.energy("own-pue")
    assert row["facility_energy_kwh"] == D("0.154") * D("1.05") * D("1.5")
    assert (row["pue_ratio"], row["pue_source"]) == (1.5, "user: meter 7, 2026-08-02")
    assert (row["energy_basis"], row["power_confidence"]) == ("time_model", "assumed"), "the watts are still the catalogue's"


def test_own_watts_stand_before_the_catalogue_and_have_no_bounds(marts) -> None:
    row = marts.energy("own-power")
    assert (row["chip_energy_kwh_low"], row["chip_energy_kwh"], row["chip_energy_kwh_high"]) == (D("0.05"),) * 3
    assert (row["energy_basis"], row["power_confidence"]) == ("time_model", "user")
    sources = marts.rows(
        "select * from marts.dim_accelerator_sources where confidence = 'user' and note like '%own-power' order by attribute"
    )
    assert [(row["attribute"], row["value"], row["source"], str(row["source_date"])) for row in sources] == [
        ("chip_power_idle_w", D(50), "meter 7", "2026-08-02"),
        ("chip_power_max_w", D(50), "meter 7", "2026-08-02"),
    ]


def test_an_own_idle_power_is_never_above_full_power_and_leaves_the_confidence_of_full_power(marts) -> None:
    row = marts.energy("own-idle-power")
    assert (row["chip_energy_kwh_low"], row["chip_energy_kwh"], row["chip_energy_kwh_high"]) == (
        D("0.133"),
        D("0.142"),
        D("0.244"),
    )
    assert row["power_confidence"] == "assumed"


def test_an_own_factor_is_a_set_of_its_own_with_the_default_beside_it(marts) -> None:
    rows = marts.rows(
        "select * from marts.fct_training_run_emissions_modelled where training_run_id = 'own-factor' order by factor_set_id"
    )
    default, own = rows
    assert (default["factor_set_id"], default["factor_id"], default["factor_age_years"]) == (
        "location_direct_v1",
        "desnz2025-gb",
        1,
    )
    assert (own["factor_set_id"], own["factor_age_years"], own["region_id"]) == ("user", None, "eu-west-2")
    assert own["facility_energy_kwh"] == default["facility_energy_kwh"] == D("0.154") * D("1.05") * D("1.23")
    assert own["modelled_location_based_kgco2e"] == D("0.019889100")
    (factor,) = marts.rows(f"select * from marts.dim_emission_factors where factor_id = '{own['factor_id']}'")
    assert (factor["factor_set_id"], factor["value"], factor["source"], factor["confidence"]) == (
        "user",
        D("0.1"),
        "meter 7",
        "user",
    )
    assert (factor["grid_zone"], str(factor["source_date"]), factor["note"]) == ("eu-west-2", "2026-08-02", "of run own-factor")


def test_a_figure_outside_the_band_of_its_type_is_unknown_and_named_with_its_unit(marts) -> None:
    """142,000 W of a chip are milliwatts, 154 kWh of an hour of it watt hours: the catalogue's 121 W count, 0.121 kWh."""
    for name in ("own-milliwatts", "own-watt-hours"):
        row = marts.energy(name)
        assert (row["chip_energy_kwh"], row["energy_basis"], row["power_confidence"]) == (D("0.121"), "time_model", "assumed")
    rows = marts.rows(
        "select * from marts.fct_quarantine where source_name = 'own' and reason = 'implausible_power' order by value"
    )
    assert [(row["value"], row["remedy"]) for row in rows] == [
        ("142000.000 W", _remedy("a chip of trn1.2xlarge", "mW, not W")),
        ("154000.000 W", _remedy("each chip of own-watt-hours", "Wh, not kWh")),
    ]
    assert not marts.rows("select * from marts.dim_accelerator_sources where note like '%own-milliwatts'")


def _remedy(drawn_by: str, units: str) -> str:
    return f"{drawn_by} draws 0.400 to 366.000 W; its unit is probably {units}; until it is corrected the figure is unknown"


def test_own_figures_of_a_region_hold_for_its_runs_and_its_idle_machines(marts) -> None:
    row = marts.energy("own-region")
    # idle 100 W, full 142 W, so mean 100 + 0.784 x 42 = 132.928 W
    assert row["chip_energy_kwh"] == D("1.063424")
    assert row["facility_energy_kwh"] == (D("1.063424") + D("0.2615")) * D("1.05") * D("1.5")
    # eight free chips: (8 x 100 + 523 / 2) W
    assert row["idle_share_facility_energy_kwh"] == D("1.0615") * D("1.05") * D("1.5")
    assert (row["pue_ratio"], row["power_confidence"]) == (1.5, "assumed")


def test_figures_of_unknown_runs_and_regions_are_named(marts) -> None:
    rows = marts.rows("select * from marts.fct_quarantine where source_name = 'own' and reason like 'unknown%' order by reason")
    assert [(row["reason"], row["column_name"], row["value"]) for row in rows] == [
        ("unknown_key", "key", "eu-sout-2"),
        ("unknown_run", "key", "no-such-run 2026-07-01"),
    ]


@pytest.mark.parametrize(("run_id", "kilowatt_hours"), [("llama-3-1-hours", 27_510_000), ("llama-3-1-405b-hours", 21_588_000)])
def test_the_energy_of_llama_3_1_comes_out_of_its_gpu_hours_and_watts(marts, run_id: str, kilowatt_hours: int) -> None:
    row = marts.energy(run_id)
    assert (row["chip_energy_kwh_low"], row["chip_energy_kwh"], row["chip_energy_kwh_high"]) == (kilowatt_hours,) * 3
    assert row["power_confidence"] == "user"


@pytest.mark.parametrize(
    ("run_id", "tonnes", "as_published"),
    [
        ("gpt-3", "552.123", "552"),
        ("bloom", "24.692115", "24.7"),
        ("llama-3-1", "11389.14", "11390"),
        ("llama-3-1-405b", "8930.9556", "8930"),
    ],
)
def test_the_emissions_of_published_studies_come_out_of_their_energy_and_factor(
    marts, run_id: str, tonnes: str, as_published: str
) -> None:
    (row,) = marts.rows(
        f"select * from marts.fct_training_run_emissions_modelled where training_run_id = '{run_id}' and factor_set_id = 'user'"
    )
    assert row["modelled_location_based_kgco2e"] == D(tonnes) * 1000
    assert abs(D(tonnes) / D(as_published) - 1) < D("0.0005")
    assert (marts.energy(run_id)["energy_basis"], marts.energy(run_id)["power_confidence"]) == ("measured", "user")
    (factor,) = marts.rows(f"select * from marts.dim_emission_factors where factor_id = '{row['factor_id']}'")
    assert factor["source"] == run_id
