"""Where a machine is when no bill states it: what its telemetry or its record names, and nothing where they name two."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


def test_a_run_whose_telemetry_names_the_region_has_its_pue_and_emissions(marts) -> None:
    aws, google = marts.modelled("place-told"), marts.modelled("place-tpu")
    assert (aws["region_id"], marts.energy("place-told")["pue_ratio"]) == ("us-east-1", 1.15)
    assert google["region_id"] == "us-central1"
    assert aws["modelled_location_based_kgco2e"] > 0
    assert google["modelled_location_based_kgco2e"] > 0


def test_a_zone_in_the_name_of_a_machine_is_its_region(marts) -> None:
    assert marts.modelled("place-in-name")["region_id"] == "us-central1"


@pytest.mark.parametrize("run_id", ["place-told-two", "place-told-none"])
def test_telemetry_that_names_two_regions_or_none_leaves_it_unknown(marts, run_id: str) -> None:
    row = marts.modelled(run_id)
    assert (row["region_id"], row["modelled_location_based_kgco2e"]) == ("", None)


def test_a_bill_of_the_machine_comes_before_its_telemetry(marts) -> None:
    assert marts.modelled("billed")["region_id"] == "us-east-1"
