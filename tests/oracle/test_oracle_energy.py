"""The oracle's energy rules, worked out by hand: a trn1.32xlarge of 16 chips at 43, 121 and 142 W, its host at 523 W.

Network and storage 5 %, the building of us-east-2 12 % (published for 2025). Half busy a chip draws 43 + 0.5 x 99 = 92.5 W.
"""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from .builders import NODE, hour, run
from .google_builders import TPU, GoogleExports, gauge, kilograms, neuron_document, tpu_hour, tpu_run
from .oracle import Oracle

APRIL = date(2026, 4, 1)
TEN, ELEVEN, NOON = (f"2026-04-10T{hour_}:00:00Z" for hour_ in (10, 11, 12))
ALL_HALF = dict.fromkeys(range(32), 50.0)


@pytest.fixture
def exports(tmp_path: Path) -> GoogleExports:
    exports = GoogleExports(tmp_path)
    exports.bill([hour("2026-04-10T10:00:00", 20.0)])
    return exports


def row_of(exports: GoogleExports, run_id: str = "a", month: date = APRIL) -> dict:
    return Oracle(exports.config()).tables()["fct_training_run_energy"][run_id, month]


def hours(exports: GoogleExports, run_id: str = "a") -> tuple:
    """Reserved and busy chip-hours, coverage."""
    row = row_of(exports, run_id)
    return row["reserved_chip_hours"], row["busy_chip_hours"], row["telemetry_coverage_ratio"]


def test_an_observed_hour_at_four_boundaries(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    exports.neuron(NODE, [(ELEVEN, neuron_document(ALL_HALF))])
    row = row_of(exports)
    assert row["chip_energy_kwh"] == Decimal("1.48")  # 16 x 92.5 W x 1 h = 5,328,000 J
    assert row["chip_host_energy_kwh"] == Decimal("2.003")  # + 523 W
    assert row["it_energy_kwh"] == Decimal("2.10315")  # x 1.05
    assert row["facility_energy_kwh"] == Decimal("2.355528")  # x 1.12
    assert row["chip_energy_kwh_low"] == Decimal("1.224")  # 16 x (20 + 0.5 x 113)
    assert row["facility_energy_kwh_low"] == Decimal("1.7387328")  # (1,224 + 298) x 1.02 x 1.12
    assert row["facility_energy_kwh_high"] == Decimal("5.606832")  # (16 x 179.5 + 1,679) x 1.1 x 1.12
    assert (row["energy_kwh_utilisation_model"], row["energy_kwh_time_model"]) == (row["facility_energy_kwh"], 0)
    assert (row["energy_basis"], row["power_confidence"]) == ("utilisation_model", "assumed")
    assert hours(exports) == (16, 8, 1.0)


def test_time_that_was_not_seen_draws_the_mean_and_widens_the_bounds(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    row = row_of(exports)
    assert row["chip_energy_kwh"] == Decimal("1.936")  # 16 x 121 W
    assert (row["chip_energy_kwh_low"], row["chip_energy_kwh_high"]) == (Decimal("0.32"), Decimal("3.904"))  # 20 W, 244 W
    assert (row["energy_kwh_utilisation_model"], row["energy_kwh_time_model"]) == (0, row["facility_energy_kwh"])
    assert (row["energy_basis"], row["busy_chip_hours"], row["telemetry_coverage_ratio"]) == ("time_model", None, 0.0)


def test_a_gap_lowers_coverage_and_an_error_is_a_gap(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, "2026-04-10T13:00:00Z", 16)))
    documents = [(ELEVEN, neuron_document(ALL_HALF)), (NOON, neuron_document(ALL_HALF, error="no counters"))]
    exports.neuron(NODE, documents)
    assert hours(exports) == (48, 8, 0.333333333)  # cut, not rounded
    assert row_of(exports)["chip_energy_kwh"] == Decimal("5.352")  # 16 x (92.5 + 2 x 121)
    assert row_of(exports)["energy_basis"] == "time_model"


def test_half_a_second_is_no_gap_and_the_later_sample_fills_it(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, NOON, 16)))
    late = neuron_document(dict.fromkeys(range(32), 100.0), period=3599.5)
    exports.neuron(NODE, [(ELEVEN, neuron_document(ALL_HALF)), (NOON, late)])
    assert hours(exports) == (32, 24, 1.0)
    exports.neuron(NODE, [(ELEVEN, neuron_document(ALL_HALF)), (NOON, late | {"system_data": {}})], name="n")
    assert hours(exports) == (32, 24, 1.0)


@pytest.mark.parametrize("copies", [("n", "m"), ("n",)])
def test_documents_delivered_twice_or_overlapping_count_once(exports: GoogleExports, copies: tuple) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    for name in copies:
        exports.neuron(NODE, [(ELEVEN, neuron_document(ALL_HALF)), (ELEVEN, neuron_document({0: 10.0}))], name=name)
    assert hours(exports) == (16, 8, 1.0)


def test_runtimes_add_up_per_core_and_unused_cores_count(exports: GoogleExports) -> None:
    """Core 0 is used by two runtimes, 70 % each: full. Its device is half busy, the 15 others idle."""
    document = neuron_document({0: 70.0})
    document["neuron_runtime_data"] *= 2
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)))
    exports.neuron(NODE, [(ELEVEN, document)])
    assert hours(exports) == (16, Decimal("0.5"), 1.0)
    exports.neuron(NODE, [(ELEVEN, neuron_document(None))])  # no process at all
    assert hours(exports) == (16, 0, 1.0)


def test_a_run_on_half_a_node_has_the_chips_it_used_most(exports: GoogleExports) -> None:
    first_eight = dict.fromkeys(range(16), 75.0)
    exports.runs(run("a", (NODE, TEN, ELEVEN, 8)))
    exports.neuron(NODE, [(ELEVEN, neuron_document(first_eight | dict.fromkeys(range(16, 32), 5.0)))])
    assert hours(exports) == (8, 6, 1.0)
    assert row_of(exports)["chip_host_energy_kwh"] == Decimal("1.1995")  # 8 x (43 + 0.75 x 99) + 523 / 2


def test_runs_that_share_a_node_untold_carry_its_mean_and_keyed_samples_speak_of_one(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 4)), run("b", (NODE, TEN, ELEVEN, 12)))
    exports.neuron(NODE, [(ELEVEN, neuron_document(ALL_HALF))])
    assert (hours(exports), hours(exports, "b")) == ((4, 2, 1.0), (12, 6, 1.0))
    exports.neuron(NODE, [(ELEVEN, neuron_document(dict.fromkeys(range(8), 100.0), devices=4))], run="A")
    assert (hours(exports), hours(exports, "b")) == ((4, 4, 1.0), (12, 6, 1.0))


def test_chips_promised_twice_draw_once(exports: GoogleExports) -> None:
    exports.runs(run("a", (NODE, TEN, ELEVEN, 16)), run("b", (NODE, TEN, ELEVEN, None)))
    exports.neuron(NODE, [(ELEVEN, neuron_document(ALL_HALF))])
    assert hours(exports) == hours(exports, "b") == (8, 4, 1.0)


def test_cutting_a_run_or_a_month_changes_no_joule(exports: GoogleExports) -> None:
    end, midnight = "2026-05-01T01:00:00Z", "2026-05-01T00:00:00Z"
    exports.runs(run("a", (NODE, "2026-04-30T23:00:00Z", "2026-04-30T23:20:00Z", 16), (NODE, "2026-04-30T23:20:00Z", end, 16)))
    exports.neuron(NODE, [(midnight, neuron_document(ALL_HALF)), (end, neuron_document(ALL_HALF))])
    assert row_of(exports)["chip_energy_kwh"] == row_of(exports, month=date(2026, 5, 1))["chip_energy_kwh"] == Decimal("1.48")


def test_an_unknown_type_has_hours_and_no_energy(exports: GoogleExports) -> None:
    record = run("a", (NODE, TEN, ELEVEN, 3))
    record["attempts"][0]["nodes"][0]["accelerator_type"] = "x9.odd"
    exports.runs(record)
    row = row_of(exports)
    assert (row["reserved_chip_hours"], row["chip_energy_kwh"], row["facility_energy_kwh_high"]) == (3, None, None)
    assert (row["power_confidence"], row["energy_kwh_measured"]) == ("assumed", None)


def test_a_sagemaker_job_counts_its_documents_as_machines(exports: GoogleExports) -> None:
    arn = "arn:aws:sagemaker:us-east-2:000011113333:training-job/j"
    job = {"TrainingJobName": "j", "TrainingJobArn": arn, "TrainingStartTime": TEN, "TrainingEndTime": ELEVEN}
    exports.runs(job | {"ResourceConfig": {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 2}})
    exports.bill([hour("2026-04-10T10:00:00", 40.0, line_item_resource_id=arn)])
    exports.neuron(arn, [(ELEVEN, neuron_document(ALL_HALF)), (ELEVEN, neuron_document(dict.fromkeys(range(32), 100.0)))])
    assert hours(exports, "j") == (32, 24, 1.0)


def at(minute: int) -> str:
    return f"2026-04-10T{10 + minute // 60}:{minute % 60:02d}:00Z"


def tpu_exports(exports: GoogleExports, end: str, *series: dict) -> None:
    exports.google_bill([tpu_hour("2026-04-10T10:00:00", 20.0)])
    exports.runs(tpu_run("a", (TPU, TEN, end, 4)))
    exports.tpu(*series)


def test_a_point_speaks_for_the_spacing_before_it_and_after_a_gap_for_a_usual_one(exports: GoogleExports) -> None:
    """Points at minutes 10 to 50 and 110: the last speaks for 10 minutes, 50 are unseen. 60 of 110 minutes of 4 chips."""
    points = {at(minute): 60.0 for minute in (10, 20, 30, 40, 50, 110)}
    tpu_exports(exports, at(110), *(gauge("duty_cycle", TPU, chip, points) for chip in range(4)))
    assert hours(exports) == (Decimal("7.333333333"), Decimal("2.4"), 0.545454545)


def test_a_short_silence_is_filled_for_the_middle_figure_and_unobserved(exports: GoogleExports) -> None:
    """Points at minutes 10 to 50, 65 and 90: 15 minutes are spacing and a half, of 25 the first 15 are filled: 75 of 90 seen."""
    points = {at(minute): 60.0 for minute in (10, 20, 30, 40, 50, 65, 90)}
    tpu_exports(exports, at(90), *(gauge("duty_cycle", TPU, chip, points) for chip in range(4)))
    assert hours(exports) == (6, Decimal("3"), 0.833333333)
    row = row_of(exports)
    assert row["chip_energy_kwh"] == Decimal("1.6416")  # 6 h x (114 + 0.6 x 266) W, filled as seen
    assert row["energy_basis"] == "time_model"
    assert row["energy_kwh_time_model"] == row["facility_energy_kwh"] / 6
    low = 5 * (Decimal("45.6") + Decimal("0.6") * (304 - Decimal("45.6"))) + Decimal("45.6")
    assert abs(row["chip_energy_kwh_low"] - low / 1000) < Decimal("0.01")  # 15 minutes idle


def test_telemetry_without_any_duty_cycle_is_no_evidence_of_use(exports: GoogleExports) -> None:
    alive = {at(minute): 1.0 for minute in range(10, 70, 10)}
    tpu_exports(exports, ELEVEN, *(gauge("memory_used", TPU, chip, alive) for chip in range(4)))
    assert hours(exports) == (4, None, 0.0)
    exports.tpu(gauge("duty_cycle", "another-node", 0, alive), name="neighbour")
    assert hours(exports) == (4, 0, 1.0)


def test_a_chip_without_a_duty_cycle_is_idle_while_its_host_lives(exports: GoogleExports) -> None:
    """One of four chips works to minute 40 and from 80 to 90, memory is in use throughout: 50 of 360 chip-minutes are busy."""
    busy = {at(minute): 100.0 for minute in (10, 20, 30, 40, 90)}
    alive = {at(minute): 1.0 for minute in range(10, 100, 10)}
    tpu_exports(exports, at(90), gauge("duty_cycle", TPU, 7, busy), gauge("memory_used", TPU, 0, alive))
    assert hours(exports) == (6, Decimal("0.833333333"), 1.0)


def test_a_host_that_lives_is_no_evidence_of_the_other_hosts_of_its_slice(exports: GoogleExports) -> None:
    """Eight chips on two hosts of four, of which one is seen: two busy, two idle, four unseen."""
    exports.google_bill([tpu_hour("2026-04-10T10:00:00", 20.0)])
    exports.runs(tpu_run("a", ("slice-1", TEN, ELEVEN, 8)))
    points = {at(minute): 100.0 for minute in (10, 20, 30, 40, 50, 60)}
    exports.tpu(*(gauge("duty_cycle", "4711", chip, points, run="a") for chip in (6, 7)))
    assert hours(exports) == (8, 2, 0.5)


def test_a_sign_of_life_under_the_name_of_a_whole_slice_is_of_one_of_its_machines(exports: GoogleExports) -> None:
    """Sixteen chips on four hosts of four, of which one is seen: three busy, one idle, twelve unseen."""
    exports.google_bill([tpu_hour("2026-04-10T10:00:00", 20.0)])
    exports.runs(tpu_run("a", ("slice-1", TEN, ELEVEN, 16)))
    points = {at(minute): 100.0 for minute in (10, 20, 30, 40, 50, 60)}
    exports.tpu(*(gauge("duty_cycle", "slice-1", chip, points, run="a") for chip in (8, 9, 11)))
    assert hours(exports) == (16, 3, 0.25)


def test_chips_numbered_anew_count_as_many_at_a_time_as_there_are(exports: GoogleExports) -> None:
    first, second = ({at(minute): 100.0 for minute in minutes} for minutes in ((10, 20, 30), (40, 50, 60)))
    series = [gauge("duty_cycle", TPU, chip, first) for chip in (4, 5, 12, 13)]
    series += [gauge("duty_cycle", TPU, chip, second) for chip in (20, 21, 28, 29)]
    tpu_exports(exports, ELEVEN, *series)
    assert hours(exports) == (4, 4, 1.0)


def test_modelled_emissions_and_their_meeting_with_the_provider(exports: GoogleExports) -> None:
    """RFCW of eGRID2023: 0.415515105... kg per kWh is read from the seed, so only the arithmetic is checked."""
    points = {at(minute): 50.0 for minute in (10, 20, 30, 40, 50, 60)}
    tpu_exports(exports, ELEVEN, *(gauge("duty_cycle", TPU, chip, points) for chip in range(4)))
    exports.google_carbon([kilograms(13.0)])
    tables = Oracle(exports.config()).tables()
    [(key, row)] = [item for item in tables["fct_training_run_emissions_modelled"].items() if item[0][0] == "a"]
    facility = (4 * 247 + 350) * Decimal("1.05") * Decimal("1.06") / 1000  # 114 + 0.5 x 266 = 247 W a chip, host 350 W
    assert (key[2], row["facility_energy_kwh"], row["factor_id"]) == ("us-east5", facility, "egrid2023-rfcw")
    factor = row["modelled_location_based_kgco2e"] / facility
    assert Decimal("0.41") < factor < Decimal("0.42")
    [met] = [row for key, row in tables["fct_reconciliation"].items() if key[9] == "modelled_vs_provider"]
    assert (met["provider_total"], met["runs_total"], met["modelled_total"]) == (10, 10, row["modelled_location_based_kgco2e"])
    assert met["difference"] == 10 - met["modelled_total"]


def test_a_final_bill_ends_what_a_record_states_was_held(exports: GoogleExports) -> None:
    exports.bill([hour("2026-04-10T10:00:00", 20.0, bill_invoice_id="2041")])
    exports.runs(run("a", (NODE, TEN, NOON, 16)))
    config = exports.config()
    held = [
        Oracle(config, now=now).tables()["fct_training_run_energy"]["a", APRIL]["reserved_chip_hours"]
        for now in (None, "2026-05-14T00:00:00Z", "2026-05-15T00:00:00Z")  # 14 days after the month
    ]
    assert held == [32, 32, 16]
    exports.bill([hour("2026-04-10T10:00:00", 20.0, bill_invoice_id=number) for number in ("2041", None)])
    assert row_of(exports)["reserved_chip_hours"] == 32


def test_telemetry_names_the_region_of_a_machine_that_no_bill_lists(exports: GoogleExports) -> None:
    document = neuron_document(ALL_HALF)
    exports.runs(*(run(name, (f"i-{name}", TEN, NOON, 16)) for name in ("one", "two", "none")))
    for name, regions in (("one", ["eu-west-2", "eu-west-2"]), ("two", ["eu-west-2", "us-east-1"]), ("none", ["", ""])):
        stated = [document | {"instance_info": {"instance_id": f"i-{name}", "instance_region": region}} for region in regions]
        exports.neuron(f"i-{name}", list(zip((ELEVEN, NOON), stated, strict=True)), name=name)
    rows = [row_of(exports, name) for name in ("one", "two", "none")]
    pues = [row["facility_energy_kwh"] / row["it_energy_kwh"] for row in rows]
    assert pues == [Decimal("1.23"), Decimal("1.14"), Decimal("1.14")]  # of the region, else of the fleet
