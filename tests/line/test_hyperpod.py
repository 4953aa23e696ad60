"""What machines of a HyperPod cluster cost goes to the tasks that held their chips, although a bill names no machine."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.line.kit import query
from tests.oracle.builders import ACCOUNT, Exports, hour, run
from tests.oracle.compare import differences, report
from tests.oracle.oracle import Oracle

pytestmark = pytest.mark.slow
NOW = "2026-07-20T00:00:00Z"
PROD, OTHER = (f"arn:aws:sagemaker:us-east-2:{ACCOUNT}:cluster/{name}" for name in ("tqci9uwuwqiz", "abcdefghijkl"))
DAY = "2026-04-10T"
HEAD = """Amazon SageMaker HyperPod
Cluster Name: prod-trn
Report Type: Detailed Utilization Report
,,,,,,NeuronCore,,GPU,,vCPU,,
"""
COLUMNS = (
    "Date,Period Start,Period End,Namespace,Team,Task,Instance,Status"
    + ",Total utilization (hours),Total utilization (count)" * 3
)
TASK = "2026-04-10,10:00:00,12:00:00,ns,core,a,ml.trn1.32xlarge,Succeeded,128.00,64.00,0.00,0.00,8.00,4.00,high\n"


def machines(start: str, hours: float, cluster: str = PROD, **columns: object) -> dict:
    """So many machine-hours of a cluster's trn1.32xlarge within the hour that begins then, at 21.50."""
    of_it = {"line_item_product_code": "AmazonSageMaker", "line_item_usage_type": "USE2-Cluster:ml.trn1.32xlarge"}
    return hour(f"{DAY}{start}:00", 21.5 * hours, line_item_resource_id=cluster, line_item_usage_amount=hours, **of_it) | columns


def costs(home: Path) -> dict[str, Decimal]:
    sql = "select training_run_id, sum(effective_cost) from marts.fct_training_run_costs where effective_cost <> 0 group by all"
    return dict(query(home, sql))


def left(home: Path) -> dict[str, Decimal]:
    sql = "select reason, sum(effective_cost) from marts.fct_residual_costs where effective_cost <> 0 group by all"
    return dict(query(home, sql))


def agree(config: Path, home: Path) -> None:
    found = differences(home / "published" / "trainledger.duckdb", Oracle(config, now=NOW).tables())
    assert not found, report(found)


def test_machine_hours_of_a_cluster_are_shared_by_chips_held(tmp_path: Path, trainledger: Command) -> None:
    """The example of the page on cost: 4 machine-hours at 21.50, 43.00 for a, 10.75 for b, 32.25 idle. Beside it an hour that
    nobody held, a plain machine, disks of the cluster, and two machine-hours of another cluster, of whose machines a record
    names one by itself, with the cluster's id in its name."""
    exports = Exports(tmp_path)
    disk = {"line_item_usage_type": "USE2-Cluster:VolumeUsage.gp3", "pricing_unit": "GB-Mo"}
    plain = {"line_item_usage_type": "USE2-Cluster:ml.m5.xlarge"}
    covered = {"line_item_line_item_type": "SavingsPlanCoveredUsage", "savings_plan_savings_plan_effective_cost": 13.0}
    rows = [
        machines("10:00", 3),
        machines("10:00", 1),
        machines("11:00", 1),
        machines("10:00", 1, **plain),
        machines("10:00", 1, **disk),
    ]
    rows += [machines("10:00", 2, OTHER), machines("12:00", 1, **covered)]
    exports.bill(rows)
    noon, one = f"{DAY}12:00:00Z", f"{DAY}13:00:00Z"
    exports.runs(
        run("a", (PROD, f"{DAY}10:00:00Z", f"{DAY}11:00:00Z", 32), (PROD, noon, one, 8)),
        run("b", (f"{PROD}/ml.trn1.32xlarge", f"{DAY}10:15:00Z", f"{DAY}10:45:00Z", 16)),
        run("c", ("hyperpod-abcdefghijkl-i-0f3c", f"{DAY}10:00:00Z", f"{DAY}11:00:00Z", 16)),
    )
    config, home = exports.config(), tmp_path / "home"
    assert trainledger("refresh", "--config", config, now=NOW).returncode == 0
    assert costs(home) == {"a": Decimal("49.5"), "b": Decimal("10.75"), "c": Decimal("21.5")}
    assert left(home) == {"idle": Decimal("81.75"), "non_accelerator": Decimal(43)}  # 32.25 + 21.50 + 21.50 + 6.50
    rules = "select distinct attribution_rule, attribution_confidence from marts.fct_training_run_costs"
    assert query(home, rules) == [("cluster_key", "low")]
    agree(config, home)


def test_the_name_of_a_cluster_is_joined_by_its_arn_and_a_name_of_two_is_of_neither(tmp_path: Path, trainledger: Command) -> None:
    """A report names prod-trn, whose 64 NeuronCores are 32 chips, two machines of three, for two hours. Without an answer that
    has its ARN nothing is anybody's; with it 86.00 are the task's; where two billed clusters are called so it is of neither."""
    exports = Exports(tmp_path)
    exports.bill([machines(f"{number}:00", 3) for number in (10, 11)] + [machines("10:00", 1, OTHER)])
    exports.runs()
    folder = tmp_path / "exports" / "runs"
    (folder / "usage.csv").write_text(f"{HEAD}{COLUMNS},Priority class\n{TASK}", encoding="utf-8")
    config, home = exports.config(), tmp_path / "home"
    assert trainledger("refresh", "--config", config, now=NOW).returncode in (0, 3)
    assert (costs(home), left(home)) == ({}, {"no_record": Decimal("150.5")})
    exports.runs({"ClusterArn": PROD, "ClusterName": "prod-trn"})
    assert trainledger("refresh", "--config", config, now=NOW).returncode in (0, 3)
    assert costs(home) == {"a": Decimal(86)}
    assert left(home) == {"idle": Decimal(43), "unlogged": Decimal("21.5")}
    exports.runs({"ClusterArn": OTHER, "ClusterName": "prod-trn"})
    assert trainledger("refresh", "--config", config, now=NOW).returncode in (0, 3)
    assert (costs(home), left(home)) == ({}, {"no_record": Decimal("150.5")})
