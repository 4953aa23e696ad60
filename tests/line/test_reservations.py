"""Capacity that is reserved and paid by the hour: used hours are their runs', unused ones nobody's, and no hour counts twice."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import hour, run
from tests.oracle.compare import differences, report
from tests.oracle.google_builders import PROJECT, GoogleExports, labels_of, tpu_hour, tpu_run
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
RESERVED = "arn:aws:ec2:us-east-2:000011113333:capacity-reservation/cr-0dcr"
BLOCK = "arn:aws:ec2:us-east-2:000011113333:capacity-reservation/cr-0b10c"
JOB = "arn:aws:sagemaker:us-east-2:000011113333:training-job/job-a"
CALENDAR = "Reserved TpuV6e in Columbus in Calendar Mode"
NINE, ELEVEN = "2026-04-10T09:00:00Z", "2026-04-10T11:00:00Z"


def at(number: int, cost: float, usage_type: str, resource: str, **columns: object) -> dict:
    named = {"line_item_usage_type": f"USE2-{usage_type}:trn1.32xlarge", "line_item_resource_id": resource}
    return hour(f"2026-04-10T{number:02d}:00:00", cost, **named) | columns


def on_demand_reservation() -> Iterator[dict]:
    """Two instances reserved for two hours, tagged: one is used, one is not; of the latter a Savings Plan pays an hour."""
    tag = {"resource_tags": {"user_training_run_id": "reserved"}}
    status = "capacity_reservation_capacity_reservation_status"
    of_it = {"capacity_reservation_capacity_reservation_arn": RESERVED}
    for number in (9, 10):
        yield at(number, 21.5, "BoxUsage", "i-used", **tag, **of_it, **{status: "Used"})
        yield at(number, 0.0, "Reservation", RESERVED, **tag, **of_it, line_item_usage_amount=2.0, **{status: "Reserved"})
    yield at(9, 21.5, "UnusedBox", RESERVED, **tag, **of_it, **{status: "Unused"})
    plan = {"line_item_line_item_type": "SavingsPlanCoveredUsage", "savings_plan_savings_plan_a_r_n": "arn:sp"}
    unused = at(10, 21.5, "UnusedBox", RESERVED, **tag, **of_it, **plan, savings_plan_savings_plan_effective_cost=13.0)
    yield unused
    taken = {"line_item_line_item_type": "SavingsPlanNegation", "line_item_unblended_cost": -21.5, "line_item_resource_id": None}
    yield unused | taken


def block_beside_its_reserved_time() -> Iterator[dict]:
    """A block of one instance for two hours, 100.00: one used, one unused, and both once more as time that was reserved."""
    bought = {"line_item_line_item_type": "Fee", "reservation_reservation_a_r_n": BLOCK, "line_item_resource_id": None}
    term = {"reservation_start_time": NINE, "reservation_end_time": ELEVEN, "reservation_number_of_reservations": "1"}
    yield at(9, 100.0, "CapacityBlockFee", "") | bought | term
    free = {"pricing_public_on_demand_cost": None, "capacity_reservation_capacity_reservation_arn": BLOCK}
    yield at(9, 0.0, "BoxUsage", "i-block", **free)
    yield at(10, 0.0, "UnusedBox", BLOCK, **free)
    yield from (at(number, 0.0, "Reservation", BLOCK, **free) for number in (9, 10))


def warm_pool() -> Iterator[dict]:
    """A job of an hour keeps its machine for half an hour more, and SageMaker bills both under the job."""
    of_sagemaker = {"line_item_product_code": "AmazonSageMaker"}
    yield at(9, 24.0, "Train", JOB, **of_sagemaker, line_item_usage_type="USE2-Train:ml.trn1.32xlarge")
    pool = {"line_item_usage_type": "USE2-TrainWarmPool:ml.trn1.32xlarge", "line_item_usage_amount": 0.5}
    yield at(10, 12.0, "Train", JOB, **of_sagemaker) | pool


def google(cost: float, name: str, place: str = "instances", sku: str = CALENDAR, **columns: object) -> dict:
    where = f"//compute.googleapis.com/projects/{PROJECT}/zones/us-east5-b/{place}/{name}"
    usage = {"amount": 14_400.0, "unit": "seconds", "amount_in_pricing_units": 4.0, "pricing_unit": "hour"}
    return tpu_hour("2026-04-10T09:00:00", cost, sku, resource={"name": name, "global_name": where}, usage=usage, **columns)


def google_reservations() -> list[dict]:
    """Reserved chips: a run's, a Vertex AI job's with its fee, unused ones with Google's label, and billed of the reservation."""
    unused = labels_of(**{"compute.googleapis.com/is_unused_reservation": "true"})
    vertex = labels_of(**{"gcp-product": "vertex_ai", "training_run_id": "vertex"})
    ai = {"service": {"id": "C7E2-9256-1C43", "description": "Vertex AI"}}
    return [
        google(8, "vm-run"),
        google(16, "vm-vertex", labels=vertex),
        google(2, "vm-vertex", sku="Vertex AI: Management fee on TPU v6e in Columbus", labels=vertex, **ai),
        google(32, "vm-unused", system_labels=unused),
        google(64, "res-1", "reservations"),
    ]


def dedicated_host() -> Iterator[dict]:
    """A dedicated host, billed by its family, with a machine on it at 0: a price without time and time without a price."""
    tag = {"resource_tags": {"user_training_run_id": "host"}, "pricing_public_on_demand_cost": None}
    yield at(9, 100.0, "", "h-1", **tag, line_item_usage_type="USE2-HostUsage:p5")
    yield at(9, 0.0, "", "i-host", **tag, line_item_usage_type="USE2-HostBoxUsage:p5.48xlarge")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    exports = GoogleExports(tmp_path_factory.mktemp("reservations"))
    exports.bill([*on_demand_reservation(), *block_beside_its_reserved_time(), *warm_pool(), *dedicated_host()])
    exports.google_bill(google_reservations(), day="2026-04-10")
    job = {"TrainingJobName": "job-a", "TrainingJobArn": JOB, "TrainingJobStatus": "Completed"}
    job |= {"ResourceConfig": {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 1}}
    job |= {"TrainingStartTime": NINE, "TrainingEndTime": "2026-04-10T10:00:00Z"}
    exports.runs(run("block", ("i-block", NINE, ELEVEN, None)), job, tpu_run("google", ("vm-run", NINE, ELEVEN, None)))
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    return exports.folder / "home"


def test_used_hours_are_their_runs_and_a_pool_is_of_the_job_that_kept_it(home: Path) -> None:
    costs = "select training_run_id, cost_component, attribution_rule, sum(effective_cost) from marts.fct_training_run_costs"
    assert query(home, f"{costs} group by all order by all") == [
        ("block", "accelerator", "resource_time", 50),
        ("google", "accelerator", "resource_time", 8),
        ("host", "accelerator", "tag", 100),
        ("job-a", "accelerator", "managed_job", 36),
        ("reserved", "accelerator", "tag", 43),
        ("vertex", "accelerator", "tag", 16),
        ("vertex", "managed_service_fee", "tag", 2),
    ]


def test_unused_hours_are_unused_whoever_paid_and_reserved_time_beside_them_costs_nothing(home: Path) -> None:
    left = "select provider_name, reason, sum(billed_cost), sum(effective_cost) from marts.fct_residual_costs"
    assert query(home, f"{left} where cost_component = 'accelerator' group by all order by all") == [
        ("AWS", "unlogged", 0, 0),  # their reserved time
        ("AWS", "unused_commitment", Decimal("21.5"), Decimal("21.5") + 13 + 50),
        ("Google Cloud", "unused_commitment", 96, 96),
    ]


def test_reserved_time_is_no_second_time_of_the_run_whose_tag_the_reservation_has(home: Path) -> None:
    held = "select training_run_id, reserved_chip_hours from marts.fct_training_run_energy order by all"
    hours = dict(query(home, held))
    assert (hours["reserved"], hours["job-a"], hours["vertex"], hours["host"]) == (2 * 16, 16, 4, 8)


def test_nothing_of_it_is_a_doubt_and_the_oracle_states_the_same(home: Path) -> None:
    assert query(home, "select reason, value from marts.fct_quarantine") == []
    found = differences(home / "published" / "trainledger.duckdb", Oracle(home.parent / "trainledger.yaml", now=NOW).tables())
    assert not found, report(found)
