"""Own figures in the oracle, worked out by hand: a trn1.32xlarge of us-east-1 for an hour that nobody watched.

16 chips at 43, 121 and 142 W, the host at 523 W, network and storage 5 %, PUE 1.15 (published for 2025).
"""

from datetime import date
from decimal import Decimal as D

import pytest

from .builders import HELD, NODE, TEN, hour, run
from .google_builders import GoogleExports
from .oracle import Oracle, Tables

APRIL = date(2026, 4, 1)
TYPE = "trn1.32xlarge"
SETS = "fct_training_run_emissions_modelled"


def measured(value: str, basis: str, **columns: str) -> dict:
    figure = {"kind": "measured_energy", "key": "A", "value": value, "unit": "kWh", "basis": basis, "valid_from": "2026-04-01"}
    return figure | columns


def tables_of(exports: GoogleExports, *figures: dict) -> Tables:
    exports.bill([hour(TEN, 20.0, product_region_code="us-east-1")])
    exports.runs(run("a", (NODE, *HELD, 16)))
    exports.own_figures(*figures)
    return Oracle(exports.config()).tables()


def energy_of(exports: GoogleExports, *figures: dict) -> dict:
    return tables_of(exports, *figures)["fct_training_run_energy"]["a", APRIL]


def boundaries(row: dict) -> list:
    return [row[f"{name}_energy_kwh"] for name in ("chip", "chip_host", "it", "facility")]


def test_measured_energy_counts_from_its_meter_outwards(exports: GoogleExports) -> None:
    row = energy_of(exports, measured("1.5", "chip"))
    assert boundaries(row) == [D("1.5"), D("2.023"), D("2.12415"), D("2.4427725")]  # as in docs/methodology/energy.md
    assert row["energy_kwh_measured"] == row["facility_energy_kwh"]
    assert row["energy_kwh_time_model"] == row["energy_kwh_utilisation_model"] == 0
    assert (row["energy_basis"], row["power_confidence"], row["reserved_chip_hours"]) == ("measured", "user", 16)
    row = energy_of(exports, measured("1500", "it", unit="Wh"))
    assert boundaries(row) == [None, None, D("1.5"), D("1.725")]
    assert (row["it_energy_kwh_low"], row["it_energy_kwh_high"]) == (D("1.47"), D("1.53"))


def test_a_reading_of_the_whole_run_comes_before_one_of_its_region_and_counts_in_its_month_only(exports: GoogleExports) -> None:
    row = energy_of(exports, measured("7", "facility", region_id="us-east-1"), measured("9", "facility"))
    assert row["facility_energy_kwh"] == 9
    assert energy_of(exports, measured("9", "facility", valid_from="2026-05-01"))["energy_basis"] == "time_model"


@pytest.mark.parametrize(
    ("figures", "pue"),
    [
        ([{"valid_from": "2026-04-01"}], "1.5"),
        ([{"valid_from": "2026-04-02"}], "1.15"),  # not in force when the month begins
        ([{"valid_to": "2026-04-01"}], "1.15"),
        ([{"key": "*"}], "1.5"),
        ([{"key": "us-east-2"}], "1.15"),
        (
            [{"key": "*", "value": "1.2", "training_run_id": "A"}, {"valid_from": "2026-01-01"}],
            "1.2",
        ),  # the run before the region
        ([{"value": "1.3", "valid_from": "2026-02-01"}, {"valid_from": "2026-01-01"}], "1.3"),  # what began last
    ],
)
def test_the_narrowest_pue_in_force_counts(exports: GoogleExports, figures: list[dict], pue: str) -> None:
    own = [{"kind": "pue", "key": "us-east-1", "value": "1.5", "unit": "ratio"} | figure for figure in figures]
    row = energy_of(exports, *own)
    assert row["facility_energy_kwh"] == D("2.58195") * D(pue)


def test_own_watts_have_no_bounds_and_idle_is_never_above_full_power(exports: GoogleExports) -> None:
    full, idle = ({"kind": f"{end}_power", "key": TYPE, "value": "0.1", "unit": "kW"} for end in ("max", "idle"))
    row = energy_of(exports, full)
    assert row["chip_energy_kwh"] == D("1.403008")  # 16 x (43 + 0.784 x 57)
    assert (row["chip_energy_kwh_low"], row["chip_energy_kwh_high"]) == (D("0.32"), D("1.6"))  # 20 W; 115 is above 100 W
    assert row["power_confidence"] == "user"
    row = energy_of(exports, idle | {"value": "0.2"})
    assert (row["chip_energy_kwh"], row["chip_energy_kwh_low"]) == (D("2.272"), D("2.128"))  # 142 and 133 W
    assert row["power_confidence"] == "assumed"


def test_an_own_factor_makes_rows_of_its_own_set_beside_the_default(exports: GoogleExports) -> None:
    figure = {"kind": "factor", "key": "us-east-1", "value": "285", "unit": "gCO2e/kWh", "valid_from": "2026-01-01"}
    rows = tables_of(exports, figure)[SETS]
    row = rows["a", APRIL, "us-east-1", "user"]
    assert row["facility_energy_kwh"] == rows["a", APRIL, "us-east-1", "location_direct_v1"]["facility_energy_kwh"]
    assert row["modelled_location_based_kgco2e"] == D("0.846234113")  # 2.58195 x 1.15 x 0.285 = 0.84623411...
    assert (row["factor_id"], row["factor_age_years"]) == ("user:factor:us-east-1:2026-01-01", None)
