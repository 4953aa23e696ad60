"""What telemetry of TPUs did not say: a gap, a short silence, an export without duty cycles. A v6e chip: 114, 323 and 380 W."""

from __future__ import annotations

from decimal import Decimal as D

import pytest

pytestmark = pytest.mark.slow


def test_a_point_after_a_gap_speaks_for_one_spacing(marts) -> None:
    row = marts.energy("tpu-silent")
    # 21 minutes between two points, of which the later covers one: 40 of 60 minutes seen, 20 at the mean of 323 W
    assert row["telemetry_coverage_ratio"] == 0.666666667
    assert row["chip_energy_kwh"] == D("0.361000000")  # (40 x 380 + 20 x 323) / 60


def test_a_short_silence_is_filled_for_the_middle_figure_alone(marts) -> None:
    row = marts.energy("tpu-short-silence")
    # no points at 01:21 and 01:22: the next one covers one of the three minutes
    assert (row["telemetry_coverage_ratio"], row["energy_basis"]) == (0.966666667, "time_model")
    assert row["chip_energy_kwh"] == D("0.380")  # full all the hour
    assert row["busy_chip_hours"] == D("0.966666667")
    # low: 58 minutes at full use, two at idle
    assert row["chip_energy_kwh_low"] < D("0.304") < row["chip_energy_kwh_high"]


def test_telemetry_without_any_duty_cycle_is_unknown_and_not_idle(marts) -> None:
    row = marts.energy("memory-only")
    assert (row["telemetry_coverage_ratio"], row["busy_chip_hours"], row["chip_energy_kwh"]) == (0.0, None, D("0.323"))
