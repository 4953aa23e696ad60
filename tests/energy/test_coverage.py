"""Calibrated full power lies within its bounds as often as promised, and energy within those of its basis, on drawn truths.

A commit draws a few sets of each case; nightly draws all, and the page shows what it found.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests import nightly
from tests.energy import coverage

pytestmark = [pytest.mark.slow, pytest.mark.proved_by("coverage")]
FEW_SETS = 150


def test_full_power_is_within_its_bounds_as_promised_and_these_are_hardly_wider_than_they_must_be(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        coverage.calibrations(connection, tmp_path)
        found = coverage.calibrated(connection, coverage.ALL_SETS if nightly.IS_NIGHTLY else FEW_SETS)
    together = found.select(pl.col("covered").mean()).item()
    assert 0.94 <= together <= 0.98, found
    if nightly.IS_NIGHTLY:
        assert found.filter(~pl.col("covered").is_between(0.93, 0.99) | (pl.col("wider") > 1.5)).is_empty(), found
        assert coverage.on_page("coverage of calibration")[1] == coverage.calibration_table(found)


@pytest.mark.nightly
def test_energy_lies_within_the_bounds_of_its_basis_as_promised(tmp_path: Path) -> None:
    found = coverage.fleets(tmp_path)
    assert found["runs"].to_list() == [200] * 4
    assert found.filter(pl.col("covered") < pl.col("promised")).is_empty(), found
    assert coverage.on_page("coverage by basis")[1] == coverage.fleet_table(found)
