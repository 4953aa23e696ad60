"""Whose an hour of a machine is when AWS's bill has rows of its pods and tasks: one refresh, the oracle beside it.

Each hour of the scenario is of a machine of its own and costs an amount of its own, so that a wrong owner shows in the sum.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import HELD, TEN, Exports, hour, run
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle
from tests.oracle.pod_rows import pod_arn, split_rows, task_arn

pytestmark = pytest.mark.slow
NOW = "2026-06-20T00:00:00Z"
LAST = "2026-04-30T23:00:00"
BLOCK = "arn:aws:ec2:us-east-2:000011113333:capacity-reservation/cr-0pods"
TAG = {"user_training_run_id": "tagged"}


def named(run_id: str, *aliases: str, system: str = "kubernetes", nodes: tuple = ()) -> dict:
    return run(run_id, *nodes, aliases=[{"system": system, "id": alias} for alias in aliases])


def by_cost() -> list[dict]:
    """Two pods of two runs, one that nobody names, and a cent that AWS's own rounding leaves; a discount goes the same way."""
    rows = [hour(TEN, 10.0, line_item_resource_id="i-cost"), hour(LAST, 10.0, line_item_resource_id="i-cost")]
    rows.append(hour(TEN, -1.0, line_item_resource_id="i-cost", line_item_line_item_type="EdpDiscount"))
    for start in (TEN, LAST):
        rows += split_rows(start, "i-cost", pod_arn("one-0"), [0.04, 0.08, 4.88], [0.1, 0.1, 0.5], workload="one")
        rows += split_rows(start, "i-cost", pod_arn("two-0"), [0.01, 0.02, 2.41], [0.1, 0.1, 0.25], workload="two")
        daemon = pod_arn("aws-node-x", "kube-system")
        rows += split_rows(
            start, "i-cost", daemon, [1.0, 1.05], [0.4, 0.4], workload="aws-node", split_line_item_unused_cost=0.25
        )
    # what is billed of the machine beside its time is no pod's
    disk = {"line_item_usage_type": "USE2-EBS:VolumeUsage.gp3", "pricing_unit": "GB-Mo"}
    rows.append(hour(TEN, 3.0, line_item_resource_id="i-cost", **disk))
    return [row | {"bill_payer_account_id": "000099990000"} for row in rows]


def under_commitments() -> list[dict]:
    """A Savings Plan pays for most of an hour; net costs go first; an hour of a block costs the pods nothing, so ratios count."""
    plan = {"savings_plan_savings_plan_a_r_n": "arn:sp", "savings_plan_savings_plan_effective_cost": 6.0}
    plan |= {
        "line_item_line_item_type": "SavingsPlanCoveredUsage",
        "line_item_resource_id": "i-plan",
        "line_item_usage_amount": 0.75,
    }
    negation = {"line_item_line_item_type": "SavingsPlanNegation", "line_item_resource_id": None}
    rows = [hour(TEN, 9.0, **plan), hour(TEN, -9.0, **plan | negation)]
    rows += [hour(TEN, 3.0, line_item_resource_id="i-plan", line_item_usage_amount=0.25)]
    rows += split_rows(TEN, "i-plan", pod_arn("three-0"), [0.5, 0.5, 5.0], workload="three")
    net = {"line_item_net_unblended_cost": 16.0, "line_item_resource_id": "i-net"}
    rows.append(hour(TEN, 20.0, **net))
    pods = split_rows(TEN, "i-net", pod_arn("four-0"), [1.0, 1.0, 8.0], workload="four")
    rows += [row | {"split_line_item_net_split_cost": row["split_line_item_split_cost"] * 0.75} for row in pods]
    # a net cost of the machine and none of its pods: their prices on demand are on one side of the discount
    rows.append(hour(TEN, 24.0, line_item_net_unblended_cost=18.0, line_item_resource_id="i-listed"))
    pods = split_rows(TEN, "i-listed", pod_arn("four-1"), [1.0, 1.0, 10.0], workload="four")
    rows += [row | {"split_line_item_public_on_demand_split_cost": row["split_line_item_split_cost"] / 2} for row in pods]
    fee = {"line_item_line_item_type": "Fee", "line_item_usage_type": "USE2-CapacityBlockFee:trn1.32xlarge"}
    term = {"reservation_start_time": "2026-04-10T10:00:00Z", "reservation_end_time": "2026-04-10T11:00:00Z"}
    fee |= term | {
        "reservation_number_of_reservations": "1",
        "reservation_reservation_a_r_n": BLOCK,
        "line_item_resource_id": None,
    }
    rows.append(hour("2026-04-09T10:00:00", 32.0, **fee))
    block = {"capacity_reservation_capacity_reservation_arn": BLOCK, "pricing_public_on_demand_cost": None}
    rows.append(hour(TEN, 0.0, line_item_resource_id="i-block", **block))
    return rows + split_rows(TEN, "i-block", pod_arn("five-0"), [0.0] * 3, [0.1, 0.2, 0.75], workload="five")


def by_other_names() -> list[dict]:
    """A task of ECS, a pod by its own name, a pod's tag, a Job of a JobSet; pods without any name; parts above the whole."""
    rows = [
        hour(TEN, cost, line_item_resource_id=machine) for machine, cost in (("i-task", 11.0), ("i-pod", 12.0), ("i-tag", 16.0))
    ]
    rows += split_rows(TEN, "arn:aws:ec2:us-east-2:000011113333:instance/i-task", task_arn("t-1"), [4.0, 4.0])
    rows += split_rows(TEN, "i-pod", pod_arn("six-0", "dev"), [2.0, 1.0], [0.5, 0.25], workload="six")
    rows += split_rows(TEN, "i-tag", pod_arn("seven-0"), [1.0, 1.0, 6.0], [0.5, 0.5, 0.5], workload="seven", resource_tags=TAG)
    rows += split_rows(TEN, "i-tag", pod_arn("eight-0"), [1.0, 1.0], [0.1, 0.1], workload="eight")
    jobset = {"user_jobset_sigs_k8s_io_jobset_name": "set"}
    rows.append(hour(TEN, 13.0, line_item_resource_id="i-set"))
    rows += split_rows(TEN, "i-set", pod_arn("set-w-0-x"), [1.0, 1.0, 20.0], workload="set-w-0", resource_tags=jobset)
    rows += split_rows(TEN, "i-set", pod_arn("nine-0"), [1.0, 1.0, 2.0], workload="nine")
    # of these nobody has a name: the hour is as without them, and is the tagged machine's
    rows.append(hour(TEN, 17.0, line_item_resource_id="i-none", resource_tags={"user_training_run_id": "machine"}))
    return rows + split_rows(TEN, "i-none", pod_arn("nine-1"), [1.0, 1.0, 2.0], workload="nine")


def beside_records() -> list[dict]:
    """A job log holds the machine: what pods of others had of it is theirs, and the tag of a pod counts beside a record."""
    rows = [hour(TEN, 20.0, line_item_resource_id="i-logged"), hour(TEN, 40.0, line_item_resource_id="i-mixed")]
    rows += split_rows(TEN, "i-logged", pod_arn("ten-0"), [1.0, 1.0, 3.0], workload="ten")
    rows += split_rows(TEN, "i-logged", pod_arn("x-0"), [2.0, 2.0, 6.0], workload="x")
    rows += split_rows(TEN, "i-mixed", pod_arn("y-0"), [1.0, 1.0, 8.0], [0.1, 0.1, 0.25], workload="y", resource_tags=TAG)
    return rows + split_rows(TEN, "i-mixed", pod_arn("z-0"), [2.0, 2.0, 16.0], [0.5, 0.5, 0.5], workload="z")


def write_scenario(exports: Exports) -> None:
    by_workload = {
        "one": "ml/one", "two": "c1/ml/two", "three": "three", "four": "ml/four", "five": "five", "set": "ml/set", "ten": "ten",
    }  # fmt: skip
    records = [named(run_id, alias) for run_id, alias in by_workload.items()]
    records += [named("task", task_arn("t-1"), system="ecs_task"), named("six", "dev/six-0", system="kubernetes_pod")]
    records.append(named("logged", nodes=(("i-logged", *HELD, None), ("i-mixed", *HELD, 8))))
    exports.bill(by_cost(), name="discounted")
    exports.bill([*under_commitments(), *by_other_names(), *beside_records()])
    exports.runs(*records)


def test_pods_have_their_part_of_their_machines_hour_and_every_figure_leads_back_to_the_rows(
    tmp_path: Path, trainledger: Command
) -> None:
    exports = Exports(tmp_path)
    write_scenario(exports)
    config = exports.config()
    finished = trainledger("refresh", "--config", config, now=NOW)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    found = differences(tmp_path / "home" / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)
    costs = query(
        tmp_path / "home", "select training_run_id, attribution_rule, effective_cost from fct_training_run_costs order by all"
    )
    assert [(run_id, rule, cost) for run_id, rule, cost in costs] == [
        ("five", "split_allocation", Decimal(24)),  # 32.00 of a block's fee x 0.75
        ("four", "split_allocation", Decimal(12)),  # net 7.50; 18.00 x 6 / 24 by prices on demand
        (
            "logged",
            "resource_time",
            Decimal(25),
        ),  # 10.00 of pods without a name; half of 20.00 and of 10.00
        ("machine", "tag", Decimal(17)),
        ("one", "split_allocation", Decimal("9.5")),  # twice 5.00, less 0.50
        ("set", "split_allocation", Decimal(11)),  # 13.00 x 22 / 26
        ("six", "split_allocation", Decimal(3)),
        ("tagged", "tag", Decimal(8)),
        ("task", "split_allocation", Decimal(8)),
        ("ten", "split_allocation", Decimal(5)),
        ("three", "split_allocation", Decimal(6)),  # as AWS states it: 4.00 of the plan and 2.00 on demand
        ("two", "split_allocation", Decimal("4.636")),  # twice 2.44, less 0.244
    ]
    # the pod that a tag alone shows held half of the machine
    assert query(tmp_path / "home", "select chip_count from dim_training_runs where training_run_id = 'tagged'") == [(8,)]
    for run_id, rule, value, rows in (("three", "split_allocation", 6, [2, 3]), ("logged", "resource_time", 25, [2, 12])):
        figure = f"fct_training_run_costs/{run_id},2026-04-01,USD,accelerator,{rule}/effective_cost"
        done = trainledger("trace", "--figure", figure, "--json", "--config", config, now=NOW)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        behind = {one["kind"]: one for one in json.loads(done.stdout)["behind"]}
        assert [behind["bill"]["rows"], behind["record"]["rows"]] == rows, behind
        assert Decimal(behind["bill"]["contribution"]) == value
