"""What AWS answers, or a table states, of capacity that was paid ahead takes the place of what no row of the bill states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import Exports, hour
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
EC2, SAGEMAKER = "arn:aws:ec2:us-east-2:000011113333", "arn:aws:sagemaker:us-east-2:000011113333"
ANSWERED, TYPED = (f"{EC2}:capacity-reservation/cr-{number}" for number in ("0a", "0b"))
PLAN = f"{SAGEMAKER}:training-plan/p"
RESERVATIONS = {
    "CapacityReservations": [
        {"CapacityReservationId": "cr-0a", "CapacityReservationArn": ANSWERED, "TotalInstanceCount": 2, "State": "active",
         "ReservationType": "capacity-block", "StartDate": "2026-04-10T00:00:00+00:00", "EndDate": "2026-04-12T00:00:00+00:00"},
        {"CapacityReservationId": "cr-0d", "TotalInstanceCount": 9, "StartDate": "2026-04-01T00:00:00Z"},  # paid by the hour
    ]
}  # fmt: skip
BLOCKS_OF_PLAN = {
    "TrainingPlanArn": PLAN,
    "TotalInstanceCount": 2,
    "ReservedCapacitySummaries": [
        {"TotalInstanceCount": 2, "StartTime": 1775813400.0, "EndTime": 1775827800.0},  # 10 April, 09:30 to 13:30
        {"TotalInstanceCount": 1, "StartTime": "2026-04-20T09:30:00Z", "EndTime": "2026-04-20T13:30:00Z"},
    ],
}
TABLE = f"capacity_id,instances,started_at,ended_at,source\n{TYPED},4,2026-04-10T00:00:00Z,2026-04-11T00:00:00Z,order (example)\n"


def fee(cost: float, arn: str, usage_type: str) -> dict:
    columns = {"line_item_line_item_type": "Fee", "reservation_reservation_a_r_n": arn, "line_item_resource_id": None}
    return hour("2026-04-01T00:00:00", cost, line_item_usage_type=usage_type, pricing_public_on_demand_cost=None) | columns


def hours(arn: str, count: int) -> list[dict]:
    used = {"capacity_reservation_capacity_reservation_arn": arn, "pricing_public_on_demand_cost": None}
    return [hour(f"2026-04-10T{at:02d}:00:00", 0.0, line_item_resource_id=f"i-{arn[-2:]}", **used) for at in range(count)]


def test_answers_and_tables_replace_the_lower_bound(tmp_path: Path, trainledger: Command) -> None:
    """2,400.00 for 2 instances of two days: 25.00 an hour, and 12 are billed. 2,400.00 for 4 of a day: 25.00 as well, 3 hours.

    240.00 for a plan of 8 and 4 instance-hours: 20.00, of which one is billed by a cluster that names no plan.
    """
    exports = Exports(tmp_path)
    rows = [fee(2400.0, arn, "USE2-CapacityBlockFee:trn1.32xlarge") for arn in (ANSWERED, TYPED)]
    rows += [fee(240.0, PLAN, "USE2-Plan:ml.trn1.32xlarge"), *hours(ANSWERED, 12), *hours(TYPED, 3)]
    cluster = {"line_item_product_code": "AmazonSageMaker", "line_item_resource_id": f"{SAGEMAKER}:cluster/c"}
    cluster |= {"line_item_usage_type": "USE2-Cluster:ml.trn1.32xlarge", "pricing_public_on_demand_cost": None}
    rows.append(hour("2026-04-10T10:00:00", 0.0) | cluster)
    exports.bill(rows)
    config, home = exports.config(), tmp_path / "home"
    balances = "select commitment_id, amortised_used_cost, closing_cost from marts.fct_prepaid order by commitment_id"
    assert trainledger("refresh", "--config", config, now=NOW).returncode in (0, 3)
    # without a term nothing is open, and the hours so far carry the fee; what paid for the cluster's hour is unknown
    assert query(home, balances) == [(ANSWERED, 2400, 0), (TYPED, 2400, 0), (PLAN, 0, None)]

    own = exports._source("own", "user_inputs")
    (own / "reservations.json").write_text(json.dumps(RESERVATIONS))
    (own / "plan.json").write_text(json.dumps(BLOCKS_OF_PLAN))
    (own / "ordered.csv").write_text(TABLE)
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-2000:]
    assert query(home, balances) == [(ANSWERED, 300, 2100), (TYPED, 75, 2325), (PLAN, 20, 220)]
    assert query(home, "select reason, value from marts.fct_quarantine") == []
    found = differences(home / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)
