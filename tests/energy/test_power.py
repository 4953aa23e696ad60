"""Energy of readings of power, in watts a person can work out.

The chip of test_energy_line: idle 43 W, full 142 W (20 to 133, 115 to 244), host 33 W (19 to 105), network and storage 5 % (2 to
10 %), PUE 1.14; unwatched 121 W. The node of sixteen has a host of 523 W.
"""

from __future__ import annotations

from decimal import Decimal as D

import pytest

from tests.energy import drawn_power

pytestmark = pytest.mark.slow

IT, PUE = D("1.05"), D("1.14")
PARTS = ("measured", "driver_power", "utilisation_model", "time_model")


def parts(row: dict) -> list[D]:
    found = [row[f"energy_kwh_{name}"] for name in PARTS]
    assert sum(found) == row["facility_energy_kwh"]
    return found


def ends(row: dict, boundary: str) -> list[D]:
    return [row[f"{boundary}_energy_kwh{level}"] for level in ("_low", "", "_high")]


def coverage(row: dict) -> tuple[float, float, float]:
    return row["telemetry_coverage_ratio"], row["power_coverage_ratio"], row["use_coverage_ratio"]


def test_watts_of_a_chip_take_the_place_of_its_use(marts) -> None:
    row = marts.energy("watts")
    # NVML 5 %; the host keeps its bounds: 100 + 33 (19 to 105) W
    assert ends(row, "chip") == [D("0.095"), D("0.1"), D("0.105")]
    assert ends(row, "chip_host") == [D("0.114"), D("0.133"), D("0.21")]
    assert row["facility_energy_kwh"] == D("0.133") * IT * PUE
    assert (row["energy_basis"], row["power_confidence"]) == ("measured", "measured")
    assert parts(row) == [row["facility_energy_kwh"], 0, 0, 0]
    assert (coverage(row), row["busy_chip_hours"]) == ((1, 1, 1), D("0.5"))  # the use is still known


def test_a_drivers_share_becomes_watts_between_the_catalogues_bounds(marts) -> None:
    row = marts.energy("driver")
    # 20 % (10 to 21 %) of full power, background backed out: 43 + 0.2 x 99 W, 20 + 0.1 x 113 W, 115 + 0.21 x 129 W
    assert ends(row, "chip") == [D("0.0313"), D("0.0628"), D("0.14209")]
    assert (row["energy_basis"], row["power_confidence"]) == ("driver_power", "assumed")
    assert parts(row) == [0, row["facility_energy_kwh"], 0, 0]
    assert marts.energy("idle-share")["chip_energy_kwh"] == D("0.043")  # a share of 0 is known, and idle


def test_of_each_instant_the_best_basis_counts(marts) -> None:
    row = marts.energy("ladder")
    # a quarter of an hour each at 100 W, 62.8 W, 92.5 W and 121 W, with 33 W of host
    assert parts(row) == [D(watts) / 4000 * IT * PUE for watts in ("133", "95.8", "125.5", "154")]
    assert row["chip_energy_kwh"] == D("0.094075")
    assert (row["energy_basis"], row["power_confidence"], row["telemetry_coverage_ratio"]) == ("time_model", "assumed", 0.75)
    assert row["busy_chip_hours"] == D("0.375")


def test_a_window_counts_for_itself_alone(marts) -> None:
    row = marts.energy("windows")
    # two seconds at 100 W in an hour at 92.5 W
    assert row["energy_kwh_measured"] == (D("133") * 2 / 3600 / 1000 * IT * PUE).quantize(D("1e-9"))
    assert row["chip_energy_kwh"] == (D("0.0925") + D("7.5") * 2 / 3600 / 1000).quantize(D("1e-9"))
    assert (row["energy_basis"], row["telemetry_coverage_ratio"]) == ("utilisation_model", 1.0)


def test_chips_of_a_type_that_is_unknown_have_the_energy_that_was_metered(marts) -> None:
    row = marts.energy("watts-of-unknown")
    assert (row["chip_energy_kwh"], row["facility_energy_kwh"], row["energy_basis"]) == (D("0.1"), None, "measured")


def test_rails_of_a_chip_add_up_and_one_that_is_unknown_makes_the_chip_unknown(marts) -> None:
    assert marts.energy("rails")["chip_energy_kwh"] == D("0.1")
    row = marts.energy("half-rails")
    assert (row["chip_energy_kwh"], row["energy_basis"], row["telemetry_coverage_ratio"]) == (D("0.121"), "time_model", 0.0)


def test_no_figure_is_unknown_and_so_is_zero_of_a_chip_that_is_held(marts) -> None:
    for name in ("zero", "silent", "nonsense"):
        row = marts.energy(name)
        assert (row["chip_energy_kwh"], row["energy_basis"], row["telemetry_coverage_ratio"]) == (D("0.121"), "time_model", 0.0)


@pytest.mark.parametrize("told", ["shuffled-watts", "watts-twice", "rechunked-watts", "watts-by-key"])
def test_the_same_watts_recorded_otherwise_give_the_same_figures(marts, told: str) -> None:
    assert marts.figures(told) == marts.figures("watts")


def test_points_of_the_same_watts_have_the_same_middle_and_the_bounds_of_their_sampling(marts) -> None:
    row, watts = marts.figures("points-of-watts"), marts.figures("watts")
    assert {name for name in row if row[name] != watts[name]} == {name for name in row if name.endswith(("_low", "_high"))}
    assert ends(row, "chip") == [D("0.07"), D("0.1"), D("0.155")]  # 5 % of NVML, and of points a minute apart 25 and 50 %


def test_a_clock_that_is_off_shifts_watts_and_loses_none(marts) -> None:
    row = marts.energy("half-late")
    # the first 100 s have their use alone; those after the run's end are counted and met no run
    assert row["energy_kwh_measured"] == (D("133") * 3500 / 3600 / 1000 * IT * PUE).quantize(D("1e-9"))
    assert row["telemetry_coverage_ratio"] == 1.0
    met = marts.rows(
        "select training_run_id, sample_count, reason from marts.fct_telemetry_matches"
        " where host = 'i-half-late' and source_name = 'gpu_monitoring' order by sample_count"
    )
    # the minute that begins 40 s after the end is one sample, that which begins 20 s before it is the run's
    assert [tuple(row.values()) for row in met] == [("", 1, "no_run"), ("half-late", 59, None)]


def test_a_racks_meter_is_divided_among_its_machines(marts) -> None:
    """10,000 W: 3,000 are b's own, and of 7,000 a has 2,459 of 3,670, being held, and c the rest, being at rest."""
    a, b = marts.energy("rack-a"), marts.energy("rack-b")
    assert (a["chip_host_energy_kwh"], b["chip_host_energy_kwh"]) == (D("4.690190736"), D("3"))
    assert (a["energy_basis"], a["telemetry_coverage_ratio"]) == ("measured", 1)
    parts = marts.rows(
        "select share, count(*) as readings, sum(power_uw) as uw from intermediate.int_shared_meter_readings"
        " where meter = 'rack-7' group by all order by share"
    )
    assert parts == [
        {"share": "divided", "readings": 120, "uw": 60 * 7_000_000_000},
        {"share": "own", "readings": 60, "uw": 60 * 3_000_000_000},
    ]


def test_what_is_read_at_the_wall_holds_chips_and_host(marts) -> None:
    row = marts.energy("wall")
    assert ends(row, "chip_host") == [D("2.336"), D("3.2"), D("4.864")]  # points of a PDU a minute apart: 27 % less, 52 % more
    assert row["chip_energy_kwh"] == D("1.936")  # modelled: 16 x 121 W
    assert row["facility_energy_kwh"] == D("3.2") * IT * PUE
    assert row["facility_energy_kwh_low"] == (D("2.336") * D("1.02") * PUE).quantize(D("1e-9"))
    assert (row["energy_basis"], row["power_confidence"], coverage(row)) == ("measured", "measured", (1, 1, 0))
    assert row["busy_chip_hours"] is None  # its use no monitor saw
    for name in ("supplies", "wall-by-key"):
        assert marts.energy(name)["chip_host_energy_kwh"] == D("3.2")


def test_runs_and_idle_reserve_of_a_metered_node_are_its_reading(marts) -> None:
    four, eight = marts.energy("wall-a"), marts.energy("wall-b")
    assert (four["chip_host_energy_kwh"], eight["chip_host_energy_kwh"]) == (D("0.8"), D("1.6"))
    idle = four["idle_share_facility_energy_kwh"] + eight["idle_share_facility_energy_kwh"]
    assert four["facility_energy_kwh"] + eight["facility_energy_kwh"] + idle == D("3.2") * IT * PUE
    held = marts.energy("half-held")
    assert held["chip_host_energy_kwh"] == D("1.6")
    assert held["facility_energy_kwh"] + held["idle_share_facility_energy_kwh"] == D("3.2") * IT * D("1.15")


def test_a_meter_comes_before_an_estimate_and_covers_its_own_time_alone(marts) -> None:
    row = marts.energy("half-wall")
    # half an hour at 3,200 W, half at 16 x 92.5 + 523 W
    assert parts(row) == [D("1.6") * IT * PUE, 0, D("1.0015") * IT * PUE, 0]
    assert (row["energy_basis"], row["busy_chip_hours"]) == ("utilisation_model", D(8))


def test_chips_draw_no_more_than_their_node(marts) -> None:
    row = marts.energy("low-wall")
    assert ends(row, "chip") == [D("0.32"), D(1), D("1.05")]  # a BMC's 5 %
    assert row["chip_host_energy_kwh"] == D(1)


def test_free_chips_keep_the_watts_that_were_measured_of_them(marts) -> None:
    row = marts.energy("four")
    assert row["chip_energy_kwh"] == D("0.4")
    # twelve chips at 50 W and twelve sixteenths of 523 W
    assert row["idle_share_facility_energy_kwh"] == (D("0.6") + D("0.39225")) * IT * PUE


def test_readings_of_machines_that_no_run_held_are_counted(marts) -> None:
    for host in ("i-nobodys-wall", "i-nobodys-chip"):
        (row,) = marts.rows(f"select * from marts.fct_telemetry_matches where host = '{host}'")
        assert (row["training_run_id"], row["sample_count"], row["matched_sample_count"], row["reason"]) == ("", 60, 0, "no_run")
        assert row["observed_chip_hours"] == 1


@pytest.mark.parametrize("story", drawn_power.stories())
def test_cut_copied_and_shuffled_readings_change_nothing(marts, story: str) -> None:
    plain, *others = (marts.figures(f"{story}-{way}") for way in drawn_power.WAYS)
    assert all(figures == plain for figures in others)
    parts(plain)
    integral = drawn_power.integral_kwh(drawn_power.stories()[story])
    assert abs(float(plain["chip_energy_kwh"]) - integral) < 2e-9
