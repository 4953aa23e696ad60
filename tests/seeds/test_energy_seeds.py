"""Watts, overheads, PUE and emission factors: the derived ones follow the method that docs/methodology writes down, the
published ones their arithmetic.

Reads the CSV files as text. What the models make of them is tested with the models.
"""

from __future__ import annotations

import csv
import re
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEEDS = ROOT / "dbt" / "seeds"
FACTORS = ROOT.parent / "shared" / "samples" / "factors"
EGRID_2023 = FACTORS / "epa-egrid" / "egrid2023_rev2_subregion_rates.csv"
GOOGLE_2024 = FACTORS / "google-region-carbon-info" / "2024.csv"
LEVELS = ("low", "mid", "high")
IDLE_OF_FULL = {"low": Decimal("0.15"), "mid": Decimal("0.30"), "high": Decimal("0.47")}
HOST_OF_CHIPS = {"low": Decimal("0.14"), "mid": Decimal("0.23"), "high": Decimal("0.43")}
MEAN_OF_SPAN = Decimal("0.784")
COMPARABLE = {
    "Trainium1": ("NVIDIA A100 40GB", "Trainium2", "TPU v4"),
    "Inferentia2": ("NVIDIA A100 40GB", "Trainium2", "TPU v4"),
    "TPU v5e": ("TPU v4", "TPU v5p", "TPU v6e"),
}


def rows(seed: str) -> list[dict[str, str]]:
    """All rows of a seed, every cell as text."""
    with (SEEDS / f"{seed}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def whole(value: Decimal) -> Decimal:
    """Whole watts, half up."""
    return value.quantize(Decimal(1), ROUND_HALF_UP)


def types() -> dict[str, dict[str, str]]:
    return {row["accelerator_type"]: row for row in rows("accelerator_types")}


def watts(row: dict[str, str], name: str, level: str) -> Decimal:
    return Decimal(row[f"{name}_w_{level}"])


POWER = rows("accelerator_power")
BY_TYPE = [pytest.param(row, id=row["accelerator_type"]) for row in POWER]


@pytest.mark.parametrize("row", BY_TYPE)
def test_bounds_enclose_the_figure_and_idle_is_below_full(row: dict[str, str]) -> None:
    for name in ("chip_power_idle", "chip_power_max"):
        low, mid, high = (watts(row, name, level) for level in LEVELS)
        assert 0 < low <= mid <= high
    for level in LEVELS:
        assert watts(row, "chip_power_idle", level) < watts(row, "chip_power_max", level)
    mean = Decimal(row["chip_power_mean_w"])
    assert watts(row, "chip_power_idle", "mid") < mean < watts(row, "chip_power_max", "mid")


@pytest.mark.parametrize("row", BY_TYPE)
def test_watts_are_whole_so_that_every_interval_is_exact(row: dict[str, str]) -> None:
    for name, value in row.items():
        if "_w" in name:
            assert re.fullmatch(r"\d+", value), name


@pytest.mark.parametrize("row", BY_TYPE)
def test_the_figure_used_is_the_one_of_the_catalogue_and_assumed_only_where_there_is_none(row: dict[str, str]) -> None:
    known = types()[row["accelerator_type"]]
    if known["chip_power_max_w"]:
        assert row["chip_power_max_w_mid"] == known["chip_power_max_w"]
        assert row["power_confidence"] == known["power_confidence"]
    else:
        assert row["power_confidence"] == "assumed"
        assert row["method"] == "density_of_comparable_chips"
    if known["chip_power_idle_w"]:
        assert row["chip_power_idle_w_mid"] == known["chip_power_idle_w"]


@pytest.mark.parametrize("row", BY_TYPE)
def test_full_power_follows_the_written_method(row: dict[str, str]) -> None:
    chip = types()[row["accelerator_type"]]["chip_name"]
    mid = watts(row, "chip_power_max", "mid")
    if row["method"] == "density_of_comparable_chips":
        chosen = {known["chip_name"]: known for known in types().values()}
        densities = sorted(
            Decimal(chosen[name]["peak_bf16_tflops"]) / Decimal(chosen[name]["chip_power_max_w"]) for name in COMPARABLE[chip]
        )
        peak = Decimal(chosen[chip]["peak_bf16_tflops"])
        expected = {level: whole(peak / density) for level, density in zip(LEVELS, reversed(densities), strict=True)}
        if chip == "Inferentia2":
            expected["low"] = Decimal(100)  # what a public tool assumes
    else:
        band = Decimal("0.2") if row["method"] == "third_party_figure" and not chip.startswith("NVIDIA") else Decimal("0.1")
        expected = {"low": whole(mid * (1 - band)), "mid": mid, "high": whole(mid * (1 + band))}
        if chip == "Trainium3":
            expected["high"] = Decimal(1000)  # what the provider stated of the generation
    assert {level: watts(row, "chip_power_max", level) for level in LEVELS} == expected


@pytest.mark.parametrize("row", BY_TYPE)
def test_idle_and_mean_power_follow_the_written_method(row: dict[str, str]) -> None:
    known = types()[row["accelerator_type"]]
    expected = {level: whole(watts(row, "chip_power_max", level) * share) for level, share in IDLE_OF_FULL.items()}
    if row["accelerator_type"] == "v4":  # measured and published, with a tenth on both sides
        expected = {"low": Decimal(81), "mid": Decimal(90), "high": Decimal(99)}
    elif known["chip_power_idle_w"]:
        expected |= {
            "low": whole(Decimal(known["chip_power_idle_w"]) * Decimal("0.9")),
            "mid": Decimal(known["chip_power_idle_w"]),
        }
    idle = {level: watts(row, "chip_power_idle", level) for level in LEVELS}
    assert idle == expected
    assert Decimal(row["chip_power_mean_w"]) == whole(
        idle["mid"] + MEAN_OF_SPAN * (watts(row, "chip_power_max", "mid") - idle["mid"])
    )


def test_the_mean_of_the_span_is_the_one_google_measured() -> None:
    assert ((Decimal(170) - 90) / (192 - 90)).quantize(Decimal("0.001")) == MEAN_OF_SPAN


def test_a_type_has_watts_or_a_written_reason_why_not() -> None:
    powered = {row["accelerator_type"] for row in POWER}
    assert powered <= types().keys()
    explained = {name for name, row in types().items() if row["note"].startswith("no watts: ")}
    assert explained == types().keys() - powered == {"v8t", "v8i"}


def test_hosts_follow_the_written_shares_of_their_chips() -> None:
    power = {row["accelerator_type"]: row for row in POWER}
    hosts = {row["accelerator_type"]: row for row in rows("host_power")}
    assert hosts.keys() == power.keys()
    for name, host in hosts.items():
        # where nodes of several sizes exist, the host is that of one chip
        assert host["chips_per_node"] == (types()[name]["chips_per_node"] or "1")
        for level, share in HOST_OF_CHIPS.items():
            chips = Decimal(host["chips_per_node"]) * watts(power[name], "chip_power_max", level)
            assert Decimal(host[f"host_power_w_{level}"]) == whole(chips * share), (name, level)


def test_network_and_storage_are_the_same_bracket_on_both_sides() -> None:
    shares = {tuple(row[f"network_storage_share_{level}"] for level in LEVELS) for row in rows("it_overhead")}
    assert shares == {("0.02", "0.05", "0.10")}
    assert {row["provider_name"] for row in rows("it_overhead")} == {"AWS", "Google Cloud"}


def test_every_pue_is_plausible_and_of_a_known_region_or_the_fleet() -> None:
    regions = {(row["provider_name"], row["region_id"]) for row in rows("regions")}
    for row in rows("pue"):
        assert 1 <= Decimal(row["pue_ratio"]) < 2, row
        assert row["region_id"] == "*" or (row["provider_name"], row["region_id"]) in regions, row
        assert (row["region_id"] == "*") == (row["basis"] == "fleet_average"), row
        assert 2022 <= int(row["data_year"]) <= 2025, row


def test_every_wue_is_plausible_and_beside_the_pue_of_its_region_and_year() -> None:
    of_pue = {(row["provider_name"], row["region_id"], row["data_year"], row["basis"]) for row in rows("pue")}
    for row in rows("wue"):
        assert 0 < Decimal(row["wue_l_per_kwh"]) < 5, row
        assert (row["provider_name"], row["region_id"], row["data_year"], row["basis"]) in of_pue, row
    assert {row["provider_name"] for row in rows("wue")} == {"AWS"}  # Google states litres of a site


def test_factors_are_plausible_dated_and_of_the_default_set() -> None:
    for row in rows("emission_factors"):
        assert 0 <= Decimal(row["value"]) <= Decimal("1.5"), row
        assert (row["factor_set_id"], row["method"], row["basis"]) == ("location_direct_v1", "location_based", "direct")
        assert row["unit"] == "kgCO2e/kWh"
        year = int(row["data_year"])
        assert (row["valid_from"], row["valid_to"]) == (f"{year}-01-01", f"{year + 5}-01-01"), row
        # the UK names an edition by the year it is for; all others describe a year that was over
        known_from = date.fromisoformat(row["known_from"])
        assert known_from.year == year if row["grid_zone"] == "GB" else known_from.year > year, row
        assert row["licence"] and "share" not in row["licence"].lower(), row


def test_egrid_factors_are_their_published_rates_in_kilograms() -> None:
    """The edition of 2022 is known gas by gas, that of 2023 as the EPA's own sum with the same potentials (AR5)."""
    editions = {"2022": 0, "2023": 0}
    for row in rows("emission_factors"):
        gases = re.search(r"\(([\d.]+) \+ 28 x ([\d.]+) \+ 265 x ([\d.]+)\) lb/MWh x 0\.45359237", row["note"])
        total = re.search(r": ([\d.]+) lb/MWh CO2e as published x 0\.45359237", row["note"])
        assert bool(gases or total) == row["factor_id"].startswith("egrid"), row
        if gases:
            carbon_dioxide, methane, nitrous_oxide = map(Decimal, gases.groups())
            pounds = carbon_dioxide + 28 * methane + 265 * nitrous_oxide
        elif total:
            pounds = Decimal(total.group(1))
        else:
            continue
        kilograms = pounds * Decimal("0.45359237") / 1000
        assert Decimal(row["value"]) == kilograms.quantize(Decimal("1e-9"), ROUND_HALF_UP), row
        assert row["gwp_set"] == "AR5"
        editions[row["data_year"]] += 1
    assert editions == {"2022": 27, "2023": 27}


def test_egrid_2023_is_the_file_of_the_epa() -> None:
    if not EGRID_2023.exists():
        pytest.skip(f"the EPA's table is not beside this checkout: {EGRID_2023}")
    with EGRID_2023.open(encoding="utf-8", newline="") as file:
        published = {row["subregion"]: Decimal(row["co2e_g_per_kwh_derived"]) for row in csv.DictReader(file)}
    seeded = [row for row in rows("emission_factors") if row["factor_id"].startswith("egrid2023")]
    assert {row["grid_zone"]: (Decimal(row["value"]) * 1000).quantize(Decimal("1e-4")) for row in seeded} == published


def test_every_region_has_a_factor_or_a_written_reason() -> None:
    """36 of 86 regions had no grid zone and no word why: their runs had no modelled emissions."""
    zones = {row["grid_zone"] for row in rows("emission_factors")}
    for row in rows("regions"):
        assert (row["grid_zone"] in zones) == (row["no_factor_reason"] == ""), row
    assert sum(row["no_factor_reason"] == "" for row in rows("regions")) == 73


def test_the_factor_of_a_google_region_is_googles_own_figure_outside_the_united_states_and_britain() -> None:
    latest = {
        row["grid_zone"]: Decimal(row["value"]) * 1000
        for row in rows("emission_factors")
        if row["data_year"] == "2024" and row["factor_id"].startswith("google")
    }
    if not GOOGLE_2024.exists():
        pytest.skip(f"Google's region table is not beside this checkout: {GOOGLE_2024}")
    with GOOGLE_2024.open(encoding="utf-8", newline="") as file:
        published = {row["Google Cloud Region"]: row["Grid carbon intensity (gCO2eq / kWh)"] for row in csv.DictReader(file)}
    asked = 0
    for row in rows("regions"):
        if row["provider_name"] == "Google Cloud" and row["country_code"] not in ("US", "GB") and row["region_id"] in published:
            assert latest[row["grid_zone"]] == Decimal(published[row["region_id"]]), row
            asked += 1
    assert asked == 32


def test_one_edition_of_a_zone_and_year_per_day() -> None:
    keys = [(row["factor_set_id"], row["grid_zone"], row["data_year"], row["known_from"]) for row in rows("emission_factors")]
    assert len(set(keys)) == len(keys)


def test_a_restated_value_stays_beside_the_first() -> None:
    melbourne = {
        row["known_from"]: row["value"]
        for row in rows("emission_factors")
        if row["grid_zone"] == "AU-VIC" and row["data_year"] == "2021"
    }
    assert melbourne == {"2022-07-15": "0.746000000", "2022-10-25": "0.521000000"}


UNTRACEABLE = ("public page", "general knowledge", "public repository")


def test_a_figure_whose_source_has_no_title_that_an_auditor_could_ask_for_is_assumed() -> None:
    """Energy verdicts rested on watts from "a third-party table on a public page"."""
    marked = {"accelerator_power": "power_confidence", "pue": "confidence"}
    found = 0
    for name, column in marked.items():
        for row in rows(name):
            is_untraceable = any(words in row["source"] for words in UNTRACEABLE)
            assert not is_untraceable or row[column] == "assumed", row
            found += is_untraceable
    assert found == 5
