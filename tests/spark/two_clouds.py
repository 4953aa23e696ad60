"""A small organisation on both clouds, with amounts that use every digit: an engine that drops one is found out."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from tests.connectors.gcp import LINE, write_partition
from tests.line.kit import date_files, day_of_hours
from tests.oracle.builders import BLOCK_FEE, carbon, hour, run
from tests.oracle.google_builders import GoogleExports, gauge, kilograms, neuron_document, tpu_run
from tests.oracle.pod_rows import pod_arn, split_rows

START, END = dt.datetime(2026, 4, 2, 6, tzinfo=dt.UTC), dt.datetime(2026, 4, 2, 7, tzinfo=dt.UTC)
BLOCK = "arn:aws:ec2:us-east-2:000011113333:capacity-reservation/cr-0f"
PLAN = "arn:aws:savingsplans::000011112222:savingsplan/p"
JOB = "projects/123456789/locations/us-west4/customJobs/77"
MANY = 14000558462976001048576  # a double: the shortest text that gives it back, 1.4000558462976001e22, is another number
FAILED = {"resource_id": "i-failed", "accelerator_type": "trn1.32xlarge"}
EXACT = 21.512345678901  # fourteen digits, twelve of them decimals


def write_two_clouds(folder: Path) -> Path:
    """April 2026: tags, shared and idle nodes, a block, a plan, a discount; TPUs by label, job, time and cluster, a commitment;
    carbon, telemetry, power, exchange rates and figures of the organisation's own, an unknown region, a second export of the
    bill, a refused record."""
    exports = GoogleExports(folder)
    exports.bill(_aws_rows())
    exports.runs(
        run(
            "run-a",
            ("i-tagged", "2026-04-02T00:00:00Z", "2026-04-03T00:00:00Z", None),
            team="one",
            model_name="llm",
            model_flops=MANY,
        ),
        run("run-b", ("i-shared", "2026-04-02T00:00:00Z", "2026-04-02T11:17:23.456789Z", 7), team="two"),
        run("run-c", ("i-shared", "2026-04-02T03:00:07Z", "2026-04-03T00:00:00Z", 5), ("i-block", _at(6), _at(8), 16)),
        tpu_run("Run.D", ("node-2", _at(6), "2026-04-02T06:40:00.000001Z", 3), kind="v5e"),
        run("run-e", ("node-9", "2026-05-02T00:00:00Z", "2026-05-02T01:00:00Z", 4), provider_name="Google Cloud"),
        run(
            "run-k",
            ("//container.googleapis.com/projects/research/locations/us-west4/clusters/c/nodePools/p", _at(6), _at(7), 3),
            aliases=[{"system": "kubernetes", "id": "c/ml/train"}],
            provider_name="Google Cloud",
        ),
        run(
            "run-l",
            ("clusters/c", _at(6), _at(7), None),
            ("projects/lender/zones/us-west4-a/reservations/r", _at(6), _at(7), 7),
            aliases=[{"system": "vertex", "id": "41"}],
            provider_name="Google Cloud",
        ),
        run("run-p", aliases=[{"system": "kubernetes", "id": "c1/ml/train"}]),
        run("run-j", aliases=[{"system": "vertex", "id": JOB}], provider_name="Google Cloud"),
        {
            "training_run_id": "run-f",
            "provider_name": "AWS",
            "attempts": [{"state": "failed", "started_at": _at(2), "ended_at": "2026-04-02T04:11:03.1Z", "nodes": [FAILED]}],
        },
    )
    location = folder / "exports" / "gcp"
    exports.sources.append({"name": "gcp", "kind": "gcp_billing", "location": "exports/gcp"})
    write_partition(location, "2026-04-02", *_google_rows())
    exports.carbon([carbon(0.123457, 0.023457), carbon(0.001, None, product_code="AmazonS3")])
    exports.carbon([carbon(0.111111, 0.011111, model_version="v3.0.0")], version="v3.0.0")
    _google_carbon(exports)
    _telemetry(exports)
    _power(exports)
    _small_tables(exports)
    date_files(folder / "exports", dt.datetime(2026, 5, 20, tzinfo=dt.UTC))
    return exports.config()


def _at(at: int) -> str:
    return f"2026-04-02T{at:02d}:00:00Z"


def _aws_rows() -> list[dict]:
    block = {"line_item_resource_id": "i-block", "capacity_reservation_capacity_reservation_arn": BLOCK}
    block_term = {"reservation_start_time": "2026-04-02T06:00:00.000Z", "reservation_end_time": "2026-04-02T10:00:00.000Z"}
    covered = {"line_item_resource_id": "i-shared", "savings_plan_savings_plan_a_r_n": PLAN}
    return [
        *day_of_hours("i-tagged", EXACT, resource_tags={"user_training_run_id": "Run A"}),
        *day_of_hours("i-tagged", EXACT, tags={"resourceTags/TrainingRunId": "run-a", "accountTag/training_run_id": "run-z"}),
        *day_of_hours("i-tagged", EXACT, resource_tags_user_training_run_id="run-a", cost_category={"training_run_id": "run-z"}),
        *day_of_hours("i-shared", 7.000000000001, line_item_net_unblended_cost=6.333333333333),
        *day_of_hours("i-idle", EXACT, product={"region": "us-east-2"}, product_region_code=None),
        BLOCK_FEE | block_term | {"line_item_unblended_cost": 400.000000000001, "reservation_reservation_a_r_n": BLOCK},
        *(hour(_at(at), 0.0, line_item_usage_type="USE2-BoxUsage:trn2.48xlarge", **block) for at in (6, 7, 8)),
        hour(_at(5), 9.123456789012, line_item_line_item_type="SavingsPlanCoveredUsage",
             savings_plan_savings_plan_effective_cost=3.000000000007, **covered),
        hour(_at(5), -9.123456789011, line_item_line_item_type="SavingsPlanNegation", **covered),
        hour(_at(0), 5.000000000001, line_item_line_item_type="SavingsPlanRecurringFee", savings_plan_savings_plan_a_r_n=PLAN,
             line_item_net_unblended_cost=4.333333333333, savings_plan_total_commitment_to_date=5.000000000001,
             savings_plan_used_commitment=3.999999999998, line_item_resource_id=None),
        hour(_at(3), -16.000000000032, line_item_line_item_type="EdpDiscount", line_item_resource_id="i-shared"),
        hour(_at(0), 3.21, line_item_usage_type="USE2-EBS:VolumeUsage.gp3", line_item_resource_id="vol-1"),
        hour(_at(1), 0.0, line_item_resource_id="i-far", product_region_code="moon-1", product={"region": "moon-1"}),
        hour(_at(0), 7.77, line_item_line_item_type="Tax", line_item_usage_type=None, line_item_resource_id=None),
        hour(_at(2), EXACT, line_item_resource_id="i-pods"), hour(_at(3), EXACT, line_item_resource_id="i-pods"),
        *split_rows(_at(2), "i-pods", pod_arn("train-0"), [0.1, 0.2, 7.000000000001], [0.1, 0.1, 0.3], workload="train"),
        *split_rows(_at(2), "i-pods", pod_arn("tagged-0"), [0.1, 0.2, 7.0], [0.1, 0.1, 0.333333333], workload="tagged",
                    resource_tags={"user_training_run_id": "run-q"}),
        *split_rows(_at(2), "i-pods", pod_arn("x-0"), [0.1, 0.3], [0.1, 0.333333333], workload="x"),
        *split_rows(_at(3), "i-pods", pod_arn("train-0"), [None, None], [0.1, 0.333333333], workload="train"),
        *split_rows(_at(8), "i-block", pod_arn("train-1"), [0.0] * 3, [0.1, 0.1, 0.7], workload="train"),
    ]  # fmt: skip


def _google(node: str, amount: float, **columns: object) -> dict:
    path = f"//tpu.googleapis.com/projects/research/locations/us-west4-a/nodes/{node}"
    row = {"resource": {"name": node, "global_name": path}, "cost": amount, "cost_at_list": amount, "labels": [], "credits": []}
    return LINE | {"usage_start_time": START, "usage_end_time": END} | row | columns


def _credit(kind: str, amount: float) -> dict:
    return {"name": kind, "amount": amount, "full_name": kind, "id": kind, "type": kind}


def _google_rows() -> list[dict]:
    committed = _credit("COMMITTED_USAGE_DISCOUNT", -4.000000000004)
    fee = {"sku": {"id": "C-1", "description": "Commitment v1: TpuV5e in Americas for 1 Year"}, "cost_at_list": None}
    usage = {"amount": 57600.0, "unit": "seconds", "amount_in_pricing_units": 19.0, "pricing_unit": "hour"}
    label = [{"key": "training_run_id", "value": "run-g"}]
    job = {"name": None, "global_name": f"//aiplatform.googleapis.com/{JOB}"}
    return [
        _google("node-1", 9.600000000001, labels=label, credits=[_credit("PROMOTION", -1.500000000001), committed]),
        _google("node-2", 9.6, credits=[committed]),
        _google("node-3", EXACT, cost_at_list=None),
        _google("node-4", EXACT, resource=job, service={"id": "C7E2-9256-1C43", "description": "Vertex AI"}),
        _google("none", 3.000000000001, resource=None, usage=usage, **fee),
        *_cluster_rows(),
        _google("none", 1.23, sku={"id": "T", "description": "Tax"}, cost_type="tax", project=None),
    ]


def _cluster_rows() -> list[dict]:
    def labelled(amount: float, system: dict[str, str] | None = None, **labels: str) -> dict:
        named = {"goog-k8s-cluster-name": "c", "goog-k8s-cluster-location": "us-west4"} if system is None else {}
        pairs = [{"key": key.replace("_", "-"), "value": value} for key, value in (named | labels).items()]
        keys = [{"key": f"compute.googleapis.com/{key}", "value": value} for key, value in (system or {}).items()]
        return _google("gke-1", amount, resource=None, labels=pairs, system_labels=keys)

    return [
        labelled(EXACT, k8s_namespace="ml", k8s_workload_name="train"),
        labelled(3.000000000007, k8s_namespace="kube:unallocated"),
        labelled(1.000000000003, k8s_namespace="goog-k8s-unknown", goog_k8s_node_pool_name="p"),
        labelled(7.000000000001, goog_k8s_node_pool_name="p"),
        labelled(0.100000000001),
        labelled(2.000000000003, {"reservation_name": "r", "reservation_project_id": "lender"}),
        labelled(5.000000000009, {}, vertex_ai_pipelines_run_billing_id="41"),
    ]


def _google_carbon(exports: GoogleExports) -> None:
    """Kilograms of the bill's project and of one that was billed nothing, with a seventh that no finite decimal is."""
    account, west = LINE["billing_account_id"], {"location": "us-west4", "region": "us-west4"}
    projects = [{"number": number, "id": "research"} for number in (LINE["project"]["number"], "987654321")]
    exports.google_carbon([kilograms(100 / 7, billing_account_id=account, project=one, location=west) for one in projects])


def _telemetry(exports: GoogleExports) -> None:
    """Documents of a node that one run holds, of a part of a node that two hold, and points of a TPU; one key no record has, and
    what it used sums up to zero, which Spark without ANSI mode writes as 0E-12."""
    hours = [f"2026-04-02T{at:02d}:00:00Z" for at in range(1, 9)]
    used = {core: 33.3 + core for core in range(14)}
    exports.neuron("i-tagged", [(at, neuron_document(used)) for at in hours], run="run-a")
    exports.neuron("i-shared", [(at, neuron_document(used)) for at in hours[:3]], name="shared")
    exports.neuron("i-lost", [(hours[0], neuron_document(dict.fromkeys(used, 0.0)))], run="nobodys", name="lost")
    minutes = {f"2026-04-02T06:{at:02d}:00Z": 12.5 + at / 7 for at in range(1, 40)}
    exports.tpu(*(gauge("duty_cycle", "node-2", chip, minutes, run="run-d") for chip in range(2)))


def _power(exports: GoogleExports) -> None:
    """A driver's share of two devices of a node for half an hour, and what a rack's meter read of another node for two hours."""
    node = exports._source("driver", "neuron_power") / "host=i-tagged"
    node.mkdir()
    first = int(START.timestamp())
    for device in range(2):
        lines = [
            f"POWER_STATUS_VALID,{first + 60 * minute},0.00,{30 + minute / 7:.2f},{20 + minute / 9:.2f}" for minute in range(30)
        ]
        (node / f"neuron{device}.txt").write_text("\n".join(lines) + "\n")
    rows = [
        f"2026-04-02T{1 + minute // 60:02d}:{minute % 60:02d}:00Z,i-shared,pdu,{2900 + minute / 7:.3f}" for minute in range(120)
    ]
    (exports._source("rack", "power_meters") / "rack.csv").write_text("\n".join(["time,host,meter,watts", *rows]) + "\n")


def _small_tables(exports: GoogleExports) -> None:
    rates = exports._source("rates", "fx_rates") / "rates.csv"
    rates.write_text("rate_date,base_currency,quote_currency,rate,source\n2026-04-30,EUR,USD,1.092534567891,test\n")
    exports.own_figures(
        {"kind": "pue", "key": "us-east-2", "value": "1.137", "unit": "ratio", "valid_from": "2026-01-01"},
        {"kind": "factor", "key": "us-east-2", "value": "287.123456", "unit": "gCO2e/kWh", "valid_from": "2026-01-01"},
    )
