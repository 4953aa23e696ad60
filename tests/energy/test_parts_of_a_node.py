"""Per node the parts are the whole: energy of its runs and idle reserve are what telemetry measured, counted once."""

from __future__ import annotations

from decimal import Decimal as D

import pytest

from tests.energy import drawn_minutes, drawn_reduced
from tests.energy.drawn_nodes import DrawnNode, draw_nodes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("node", draw_nodes(), ids=lambda node: node.name)
def test_runs_and_idle_reserve_of_any_node_are_its_integral(marts, node: DrawnNode) -> None:
    rows = [marts.energy(run) for run in node.runs]
    stated = sum(row["facility_energy_kwh"] + row["idle_share_facility_energy_kwh"] for row in rows)
    assert abs(stated - node.integral_kwh()) <= D("1e-9") * (len(rows) + 1)  # each run rounds once


def test_two_runs_carry_the_busiest_chips_that_they_hold_together(marts) -> None:
    # four chips each on sixteen, of which eight are busy: 4 x 142 W each, and a quarter of the host's 523 W
    for run_id in ("two-a", "two-b"):
        row = marts.energy(run_id)
        assert row["chip_host_energy_kwh"] == D("0.568") + D("0.13075")
        assert (row["busy_chip_hours"], row["telemetry_coverage_ratio"]) == (D(4), 1.0)


def test_busy_chips_that_no_run_holds_keep_what_they_measured(marts) -> None:
    row = marts.energy("two-of-eight")
    assert row["chip_energy_kwh"] == D("0.284")  # 2 x 142 W
    # fourteen free chips, six of them busy: 6 x 142 + 8 x 43 W and 14/16 of 523 W, x 1.05 x 1.14
    assert row["idle_share_facility_energy_kwh"] == D("1.979389125")


def test_containers_that_number_their_chips_alike_have_chips_of_their_own(marts) -> None:
    for run_id, watts in (("container-a", "1.136"), ("container-b", "0.542")):  # 8 x 142 W, 8 x (43 + 0.25 x 99) W
        assert (marts.energy(run_id)["chip_energy_kwh"], marts.energy(run_id)["telemetry_coverage_ratio"]) == (D(watts), 1.0)


@pytest.mark.parametrize("number", range(drawn_minutes.MACHINES))
def test_a_minute_as_one_row_has_the_figures_of_its_samples_whatever_cuts_it(marts, number: int) -> None:
    by_minutes, by_samples = ([marts.figures(run) for run in drawn_minutes.runs_of(number, way)] for way in drawn_minutes.WAYS)
    assert by_minutes == by_samples
    for way in drawn_minutes.WAYS:
        (kept,) = marts.rows(
            f"select count(used_ppm_us) as minutes from intermediate.int_node_samples where resource_id = 'i-cut-{number}-{way}'"
        )
        assert (kept["minutes"] > 0) == (way == "minutes")


@pytest.mark.parametrize("number", range(drawn_reduced.MACHINES))
def test_an_hour_that_a_recorder_reduced_has_the_figures_of_its_documents(marts, number: int) -> None:
    raw, reduced = (marts.figures(drawn_reduced.run_of(number, way)) for way in drawn_reduced.WAYS)
    assert raw == reduced and raw["chip_energy_kwh"] > 0
    (count,) = marts.rows(
        f"select count(*) as rows, count(used_ppm_us) as sums from raw.neuron_monitor where host_id = 'i-hour-{number}-reduced'"
    )
    assert count["sums"] > 40 and (number % 2 or count["rows"] < 70)  # where clocks slip more, there are gaps
