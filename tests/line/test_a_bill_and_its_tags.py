"""What a bill and its tags show where no record exists: one refresh, the oracle beside it.

Only a tag makes these runs. Each holds the billed time that carries its tag, and what no run carries is no idle time: nobody
could have known.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import BLOCK_FEE, Exports, hour, run
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import GoogleExports, labels_of, neuron_document, tpu_hour
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
BLOCK = "arn:aws:ec2:us-east-2:000011113333:capacity-reservation/cr-1"
JOB = "arn:aws:sagemaker:us-east-2:000011113333:training-job/unrecorded"


def at(number: int, resource: str | None, run: str | None = None, amount: float = 1.0, **columns: object) -> dict:
    """An hour of 10 April on a machine, with the tag of a run."""
    tag = {"resource_tags": {"user_training_run_id": run}} if run else {}
    start = f"2026-04-10T{number:02d}:00:00"
    return hour(start, 20.0 * amount, line_item_resource_id=resource, line_item_usage_amount=amount, **tag, **columns)


def chips(number: int, resource: str, run: str | None, chip_hours: float, **columns: object) -> dict:
    """An hour of 10 April of so many chip-hours of v6e."""
    usage = {"amount": chip_hours * 3600, "unit": "seconds", "amount_in_pricing_units": chip_hours, "pricing_unit": "hour"}
    named = {"resource": {"name": resource, "global_name": f"//compute.googleapis.com/instances/{resource}"}, "usage": usage}
    labels = {"labels": labels_of(training_run_id=run)} if run else {}
    return tpu_hour(f"2026-04-10T{number:02d}:00:00", 2.7 * chip_hours, **named, **labels, **columns)


def bill_of_tags(exports: GoogleExports) -> None:
    block = {"line_item_usage_type": "USE2-CapacityBlockUsage:trn2.48xlarge", "line_item_unblended_cost": 0.0}
    reserved = {"capacity_reservation_capacity_reservation_arn": BLOCK, "pricing_public_on_demand_cost": None}
    fee = {"line_item_unblended_cost": 900.0, "reservation_reservation_a_r_n": BLOCK}
    exports.bill(
        [
            *(at(number, "i-half", "Half An Hour", 1.0 if number < 11 else 0.5) for number in (9, 10, 11)),
            *(at(number, "i-covered", "covered", amount) for number, amount in ((9, 0.25), (9, 0.75), (10, 1.0))),
            *(at(9, "i-passed-on", run, 0.5) for run in ("first", "second")),
            at(9, "i-taken-back", "taken-back"), at(10, "i-taken-back", "taken-back"),
            at(10, "i-taken-back", "taken-back", -1.0),
            at(9, JOB, "job", 4.0, line_item_product_code="AmazonSageMaker", line_item_usage_type="USE2-Train:ml.trn1.32xlarge"),
            at(9, None, "no-name", 2.0),
            at(9, "i-seen", "seen"),
            at(9, "i-left", "left"), at(10, "i-left"),
            at(9, "i-alone"),
            *(at(number, "i-block", **block, **reserved) for number in (9, 10, 11)),
            at(12, "i-block", "in-a-block", **block, **reserved),
            BLOCK_FEE | fee | {"pricing_public_on_demand_cost": None},
        ]
    )  # fmt: skip
    exports.google_bill(
        [
            *(chips(number, "t-whole", "tpu-run", amount) for number, amount in ((9, 8.0), (10, 8.0), (11, 2.0))),
            *(chips(9, "t-shared", run, 4.0) for run in ("pod-a", "pod-b")),
            chips(9, "t-alone", None, 4.0),
        ]
    )
    exports.neuron("i-seen", [("2026-04-10T10:00:00Z", neuron_document(dict.fromkeys(range(32), 50.0)))], run="seen")
    exports.config()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    exports = GoogleExports(tmp_path_factory.mktemp("tags"))
    bill_of_tags(exports)
    return refreshed(exports, trainledger)


def refreshed(exports: Exports, trainledger: Command) -> Path:
    finished = trainledger("refresh", "--config", exports.folder / "trainledger.yaml", now=NOW)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    return exports.folder / "home"


def test_the_oracle_states_the_same(home: Path) -> None:
    found = differences(home / "published" / "trainledger.duckdb", Oracle(home.parent / "trainledger.yaml", now=NOW).tables())
    assert not found, report(found)


def test_a_run_that_only_a_tag_makes_holds_its_billed_chip_hours_and_no_more(home: Path) -> None:
    held = dict(query(home, "select training_run_id, reserved_chip_hours from marts.fct_training_run_energy"))
    assert held == {
        "half-an-hour": 16 * Decimal("2.5"),
        "covered": 32,
        "first": 8,
        "second": 8,
        "taken-back": 16,
        "job": 64,
        "no-name": 32,
        "seen": 16,
        "left": 16,
        "in-a-block": 16,
        "tpu-run": 18,
        "pod-a": 4,
        "pod-b": 4,
    }


def test_its_energy_rests_on_time_with_the_bounds_of_its_type_and_on_use_where_telemetry_saw_it(home: Path) -> None:
    energy = "facility_energy_kwh_low < facility_energy_kwh and facility_energy_kwh < facility_energy_kwh_high"
    sql = f"select training_run_id, energy_basis, telemetry_coverage_ratio from marts.fct_training_run_energy where {energy}"
    found = {run: (basis, coverage) for run, basis, coverage in query(home, sql)}
    assert len(found) == 13
    assert found.pop("seen") == ("utilisation_model", 1.0)
    assert set(found.values()) == {("time_model", 0.0)}
    [(emissions,)] = query(home, "select count(modelled_location_based_kgco2e) from marts.fct_training_run_emissions_modelled")
    [(reserve,)] = query(home, "select sum(idle_share_facility_energy_kwh) from marts.fct_training_run_energy")
    assert (emissions, reserve) == (13, 0), "and it keeps nothing ready"


def test_its_intervals_are_its_end_and_no_record_states_one(home: Path) -> None:
    sql = "select distinct is_end_known, state, ended_at, chip_count is null from marts.dim_training_runs"
    assert query(home, sql) == [(False, "unknown", None, False)]


def left(home: Path) -> dict[tuple[str, str], Decimal]:
    """Effective cost of accelerators that no run carries, by reason and type."""
    sql = "select reason, accelerator_type, sum(effective_cost) from marts.fct_residual_costs where accelerator_type <> ''"
    return {(reason, kind): cost for reason, kind, cost in query(home, f"{sql} group by all having sum(effective_cost) <> 0")}


def test_without_a_record_nothing_is_idle(home: Path) -> None:
    """Not the block's three hours, which carry 900 USD of its fee with the tagged one, nor the hour after a tagged one."""
    assert left(home) == {
        ("no_record", "trn1.32xlarge"): 40,
        ("no_record", "trn2.48xlarge"): 675,
        ("no_record", "v6e"): Decimal("10.8"),
    }


@pytest.fixture(scope="module")
def recorded_home(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    """The same bill, and one record of a trn1 and one of the block: what records exist beside shows."""
    exports = GoogleExports(tmp_path_factory.mktemp("records"))
    bill_of_tags(exports)
    nine, ten = "2026-04-10T09:00:00Z", "2026-04-10T10:00:00Z"
    exports.runs(run("known", ("i-left", nine, ten, None)), run("of-block", ("i-block", nine, ten, None)))
    exports.config()
    return refreshed(exports, trainledger)


def test_beside_a_record_of_the_same_account_type_and_month_time_is_idle_or_unlogged(recorded_home: Path) -> None:
    assert left(recorded_home) == {
        ("idle", "trn1.32xlarge"): 20,
        ("unlogged", "trn1.32xlarge"): 20,
        ("idle", "trn2.48xlarge"): 450,
        ("no_record", "v6e"): Decimal("10.8"),
    }
    tables = Oracle(recorded_home.parent / "trainledger.yaml", now=NOW).tables()
    found = differences(recorded_home / "published" / "trainledger.duckdb", tables)
    assert not found, report(found)
