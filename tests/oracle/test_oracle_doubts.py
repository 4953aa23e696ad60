"""The oracle's rules of doubt, by hand: the node of test_oracle_power, whose chips draw 0.4 to 366 W, and it 320 to 11,166 W."""

from decimal import Decimal
from pathlib import Path

import pytest

from .builders import NODE, hour, run
from .google_builders import GoogleExports
from .test_oracle_power import ELEVEN, TEN, row_of, smi, write


@pytest.fixture
def exports(tmp_path: Path) -> GoogleExports:
    exports = GoogleExports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 20.0)])
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    return exports


def rack(exports: GoogleExports, watts: float) -> None:
    times = [*(f"2026-04-10T10:{minute:02}:00Z" for minute in range(1, 60)), ELEVEN]
    write(
        exports, "power_meters", "rack.csv", "\n".join(["time,host,meter,watts", *(f"{at},{NODE},bmc,{watts}" for at in times)])
    )


@pytest.mark.parametrize("watts", [100_000, 0, 367])
def test_watts_outside_the_band_are_unknown_and_the_use_beside_them_counts(exports: GoogleExports, watts: int) -> None:
    write(exports, "gpu_monitoring", f"host={NODE}/smi.csv", smi(range(1, 61), watts))
    row = row_of(exports)
    # 43 + 0.9 x 99 W
    assert (row["chip_energy_kwh"], row["energy_basis"]) == (Decimal("2.1136"), "utilisation_model")


@pytest.mark.parametrize("watts", [3.2, 6.2e6, 319])
def test_a_node_in_another_unit_is_unknown(exports: GoogleExports, watts: float) -> None:
    rack(exports, watts)
    row = row_of(exports)
    assert (row["chip_host_energy_kwh"], row["energy_basis"]) == (Decimal("2.459"), "time_model")  # 16 x 121 + 523 W


@pytest.mark.parametrize(("watts", "kwh"), [(1000, "2.123"), (200, "2.123"), (1600, "1.6")])
def test_a_meter_below_its_chips_sees_a_part_and_the_host_is_modelled(exports: GoogleExports, watts: int, kwh: str) -> None:
    rack(exports, watts)
    write(exports, "gpu_monitoring", f"host={NODE}/smi.csv", smi(range(1, 61), 100))
    row = row_of(exports)
    assert (row["chip_host_energy_kwh"], row["energy_basis"]) == (Decimal(kwh), "measured")
