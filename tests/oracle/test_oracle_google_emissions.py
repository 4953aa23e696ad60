"""The oracle's rules for Google's carbon, on cells small enough to be worked out by hand."""

from decimal import Decimal

import pytest

from .builders import HELD, TEN
from .google_builders import PROJECT, TPU, GoogleExports, kilograms, tpu_hour, tpu_run
from .oracle import Oracle, Tables

LOCATION_BASED = "provider_total_location_based_kgco2e"


def carbon(exports: GoogleExports, *rows: dict) -> Tables:
    machine = {"sku": {"description": "N2 Instance Core running in Columbus"}, "resource": {"name": "vm"}}
    exports.google_bill([tpu_hour(TEN, 20.0), tpu_hour(TEN, 30.0, **machine)])
    exports.runs(tpu_run("a", (TPU, *HELD, 2)))
    exports.google_carbon(list(rows))
    return Oracle(exports.config()).tables()


def test_kilograms_are_divided_by_list_cost_and_scope_3_stays_in_one_piece(exports: GoogleExports) -> None:
    """A fifth to the run: 50 kg are 10, idle 10, the machine 30."""
    tables = carbon(exports, kilograms(50.0))
    [row] = tables["fct_run_cell_emissions"].values()
    assert (row[LOCATION_BASED], row["provider_scope_2_location_based_kgco2e"]) == (10, Decimal("9.4"))
    assert row["provider_scope_3_unsplit_kgco2e"] == Decimal("0.4")
    assert {row[f"provider_scope_3_{how}_based_kgco2e"] for how in ("location", "market")} == {None}
    reasons = {key[-1]: row[LOCATION_BASED] for key, row in tables["fct_residual_emissions"].items()}
    assert reasons == {"idle": 10, "non_accelerator": 30}
    assert {key[-1] for key in tables["fct_training_run_emissions_versions"]} == {"17"}


def test_a_repeated_mass_is_held_back_and_an_equal_row_never_counted(exports: GoogleExports) -> None:
    renamed = kilograms(50.0, project={"number": PROJECT, "id": "renamed"})
    tables = carbon(exports, kilograms(50.0), kilograms(50.0), renamed, kilograms(5.0))
    [row] = [row for key, row in tables["fct_reconciliation"].items() if key[6] == LOCATION_BASED]
    assert (row["provider_total"], row["quarantined_total"], row["runs_total"], row["difference"]) == (105, 50, 11, 0)


def test_an_ai_zone_lies_in_its_region(exports: GoogleExports) -> None:
    tables = carbon(exports, kilograms(10.0, location={"location": "us-east5-ai1b"}))
    [row] = tables["fct_run_cell_emissions"].values()
    assert row[LOCATION_BASED] == 2


def test_no_region_is_global_a_zone_is_its_region_and_an_unknown_one_is_not_believed(exports: GoogleExports) -> None:
    places = [{"location": "global"}, {"location": "us-east5-b"}, {"location": "us-west99"}, {}]
    tables = carbon(exports, *(kilograms(10.0 + number, location=place) for number, place in enumerate(places)))
    reasons = {key[-1]: row[LOCATION_BASED] for key, row in tables["fct_residual_emissions"].items()}
    assert reasons["global"] == 10 + 13
    [row] = tables["fct_run_cell_emissions"].values()
    assert row[LOCATION_BASED] == Decimal("2.2")
    reconciled = tables["fct_reconciliation"].items()
    quarantined = {key[4]: row["quarantined_total"] for key, row in reconciled if key[6] == LOCATION_BASED}
    assert quarantined == {"": 0, "us-east5": 0, "us-west99": 12}


@pytest.mark.parametrize("location", ["us", "EU", "nam4"])
def test_a_place_wider_than_a_region_is_believed_and_nothing_of_it_is_a_runs(exports: GoogleExports, location: str) -> None:
    tables = carbon(exports, kilograms(10.0, location={"location": location, "region": None}))
    assert {key[-1]: row[LOCATION_BASED] for key, row in tables["fct_residual_emissions"].items()} == {"global": 10}
    assert not tables["fct_run_cell_emissions"]
