"""What a training plan of SageMaker cost goes to the hours it paid for, however they are known; the rest is prepaid or unused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import Exports, hour
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-07-20T00:00:00Z"
SAGEMAKER = "arn:aws:sagemaker:us-east-2:000011113333"
PLAN, JOB = f"{SAGEMAKER}:training-plan/p1", f"{SAGEMAKER}:training-job/job-a"
RECORD = {
    "TrainingJobName": "job-a",
    "TrainingJobArn": JOB,
    "TrainingJobStatus": "Completed",
    "ResourceConfig": {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 1, "TrainingPlanArn": PLAN},
    "TrainingStartTime": "2026-04-10T10:00:00Z",
    "TrainingEndTime": "2026-04-10T12:00:00Z",
}
TERM = {
    "reservation_start_time": "2026-04-10T09:30:00Z",
    "reservation_end_time": "2026-04-10T13:30:00Z",
    "reservation_number_of_reservations": "2",
}


def row(start: str, cost: float, usage_type: str, **columns: object) -> dict:
    of_sagemaker = {"line_item_product_code": "AmazonSageMaker", "line_item_usage_type": usage_type}
    return hour(f"2026-04-{start}:00", cost, pricing_public_on_demand_cost=None, **of_sagemaker) | columns


def fee(cost: float, **columns: object) -> dict:
    bought = {"line_item_line_item_type": "Fee", "reservation_reservation_a_r_n": PLAN, "line_item_resource_id": None, **TERM}
    return row("01T00:00", cost, "USE2-TrainingPlan:ml.trn1.32xlarge") | bought | {"pricing_unit": ""} | columns


def balances(home: Path) -> list[tuple]:
    columns = "purchased_cost, amortised_used_cost, amortised_unused_cost, closing_cost"
    return query(home, f"select {columns} from marts.fct_prepaid order by usage_month")


def test_a_plan_is_used_by_its_job_and_its_cluster_and_then_unused(tmp_path: Path, trainledger: Command) -> None:
    """2 instances for four hours, 160.00: 20.00 an hour. Two hours of a job, one of a cluster that names no job, five of none."""
    exports = Exports(tmp_path)
    rows = [fee(200.0), fee(-40.0, line_item_line_item_type="Refund"), fee(19.0, line_item_line_item_type="Tax")]
    rows += [row(f"10T{number}:00", 0.0, "USE2-Train:ml.trn1.32xlarge", line_item_resource_id=JOB) for number in (10, 11)]
    rows.append(row("10T11:00", 0.0, "USE2-Cluster:ml.trn1.32xlarge", line_item_resource_id=f"{SAGEMAKER}:cluster/c1"))
    # another type, and an hour after the end: nothing shows what paid for them
    rows.append(row("10T11:00", 0.0, "USE2-Train:ml.p5.48xlarge", line_item_resource_id=f"{SAGEMAKER}:training-job/other"))
    rows.append(row("10T14:00", 0.0, "USE2-Cluster:ml.trn1.32xlarge", line_item_resource_id=f"{SAGEMAKER}:cluster/c1"))
    exports.bill(rows)
    exports.runs(RECORD)
    config, home = exports.config(), tmp_path / "home"
    for month, balance in (("2026-04", (200, 60, 0, 100)), ("2026-05", (200, 60, 100, 0))):
        if month == "2026-05":  # the plan is over, and no row used the rest of it
            exports.bill([hour("2026-05-02T10:00:00", 21.5)], period=month)
        finished = trainledger("refresh", "--config", config, now=NOW)
        assert finished.returncode in (0, 3), finished.stdout[-2000:] + finished.stderr[-2000:]
        sql = "select cost_component, attribution_rule, billed_cost, effective_cost from marts.fct_training_run_costs"
        assert query(home, sql) == [("accelerator", "managed_job", 0, 40)]
        assert balances(home) == [balance]
        unused = "select sum(effective_cost) from marts.fct_residual_costs where reason = 'unused_commitment'"
        assert query(home, f"{unused} and usage_month = '2026-04-01'") == [(balance[2],)]
        doubts = "select value from marts.fct_quarantine where reason = 'zero_priced' order by value"
        assert [value.partition(":")[0] for (value,) in query(home, doubts)] == ["p5.48xlarge", "trn1.32xlarge"]
        found = differences(home / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
        assert not found, report(found)


def test_a_record_that_comes_later_moves_every_month_of_its_plan(tmp_path: Path, trainledger: Command) -> None:
    """Of a plan without a term 90.00 lie on the hours so far: one in April that names it, two in May that a record shows."""
    exports = Exports(tmp_path)
    untold = dict.fromkeys(TERM)
    april = row("10T10:00", 0.0, "USE2-Train:ml.trn1.32xlarge", line_item_resource_id=f"{SAGEMAKER}:training-job/b")
    exports.bill([fee(90.0, **untold), april | {"capacity_reservation_capacity_reservation_arn": PLAN}])
    may = [hour(f"2026-05-10T{number}:00:00", 0.0, line_item_resource_id=JOB) for number in (10, 11)]
    of_sagemaker = {"line_item_product_code": "AmazonSageMaker", "line_item_usage_type": "USE2-Train:ml.trn1.32xlarge"}
    exports.bill([line | of_sagemaker | {"pricing_public_on_demand_cost": None} for line in may], period="2026-05")
    config, home = exports.config(), tmp_path / "home"
    (tmp_path / "exports" / "runs").mkdir(exist_ok=True)
    left = "select usage_month, sum(effective_cost) from marts.fct_residual_costs where cost_component = 'accelerator'"
    sql = f"{left} group by all order by all"
    assert trainledger("refresh", "--config", config, now=NOW).returncode in (0, 3)
    assert [cost for _, cost in query(home, sql)] == [90, 0]
    exports.runs(RECORD | {"TrainingStartTime": "2026-05-10T10:00:00Z", "TrainingEndTime": "2026-05-10T12:00:00Z"})
    config = exports.config()
    assert trainledger("refresh", "--config", config, now=NOW).returncode in (0, 3)
    assert [cost for _, cost in query(home, sql)] == [30]
    assert query(home, "select effective_cost from marts.fct_training_run_costs") == [(Decimal(60),)]
    found = differences(home / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)
