"""Drawn exports: an organisation nobody thought up, from one seed, where two calculations must agree on anything.

Every kind of bill row, shared and oversubscribed nodes, parts of chips, a capacity block, Savings Plan pairs that miss by a unit,
runs that overlap, carbon with holes.
"""

import random
from datetime import UTC, datetime, timedelta

from .builders import BLOCK_FEE, Exports, carbon, hour, run
from .pod_rows import pod_arn, split_rows, task_arn

PAYERS = {"cur-a": "000000000101", "cur-b": "000000000202"}
MONTHS = {"2026-04": datetime(2026, 4, 1, tzinfo=UTC), "2026-05": datetime(2026, 5, 1, tzinfo=UTC)}
NODES = {"i-0a": "trn1.32xlarge", "i-0b": "trn1.32xlarge", "i-0c": "trn2.48xlarge", "i-0d": "inf2.24xlarge", "i-0e": "x9.odd"}
BLOCKED_NODE = "i-0f"
BLOCK = "arn:aws:ec2:us-east-2:000000000111:capacity-reservation/cr-0d"
RUN_IDS = ["run-1", "run-10", "run-2", "Vision_7", "llm", "eval"]
DAYS, HOURS = 2, 24


class Draw:
    """Everything is drawn from one generator, in a fixed order."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pods = random.Random(seed)  # on their own: a new kind of row leaves every other draw as it is
        self.places = random.Random(seed)
        self.plans = random.Random(seed)
        self.jobs = random.Random(seed)
        self.parts = random.Random(seed)
        self.splits = random.Random(seed)

    def account(self, source: str) -> str:
        return PAYERS[source][:-1] + self.random.choice("12")

    def amount(self) -> float:
        """At most 15 digits, so that the double is the number that was written."""
        digits = self.random.choice([2, 4, 10])
        return round(self.random.uniform(0, 40), digits) * self.random.choice([1, 1, 1, 1, 1, 1, 0])

    def tags(self) -> dict:
        if self.random.random() > 0.4:
            return {}
        value = self.random.choice([*RUN_IDS, "VISION_7", "GİHOST", ""])
        return self.tagged(value)

    def tagged(self, value: str) -> dict:
        """A tag in one of the places a bill has for it, or in two that disagree."""
        places = (
            {"resource_tags": {"user_training_run_id": value, "user_team": "x"}},
            {"resource_tags": {"user_training_run_id": value}, "cost_category": {"training_run_id": "run-2"}},
            {"resource_tags_user_training_run_id": value},
            {"tags": {"resourceTags/TrainingRunId": value, "accountTag/training_run_id": "run-10"}},
            {"tags": {"costCategory/training-run-id": value, "resourceTags/team": "x"}, "resource_tags": {"user_team": "x"}},
            {"cost_category": {"training_run_id": value}},
        )
        return self.places.choice(places)

    def usage_row(self, source: str, at: datetime, node: str, kind: str) -> dict:
        usage_type = f"USE2-{self.random.choice(['BoxUsage', 'SpotUsage'])}:{kind}"
        row = hour(at.isoformat(), self.amount(), line_item_usage_type=usage_type, line_item_resource_id=node, **self.tags())
        row |= {"bill_payer_account_id": PAYERS[source], "line_item_usage_account_id": self.account(source)}
        row["line_item_usage_amount"] = self.random.choice([1.0, 1.0, 1.0, 0.5, 0.123456, 0.75])
        row["pricing_public_on_demand_cost"] = self.random.choice([row["line_item_unblended_cost"], self.amount(), None])
        row["pricing_unit"] = self.random.choice(["Hrs", "hours", ""])
        if self.random.random() < 0.03:
            row |= {"line_item_unblended_cost": -row["line_item_unblended_cost"], "line_item_usage_amount": -1.0}
        return row

    def other_row(self, source: str, at: datetime) -> dict:
        kind, product, usage_type = self.random.choice(
            [
                ("Usage", "AmazonEC2", "USE2-EBS:VolumeUsage.gp3"),
                ("Usage", "AmazonS3", "USE2-TimedStorage-ByteHrs"),
                ("Usage", "AmazonEC2", "USE2-NatGateway-Hours"),
                ("Usage", "AmazonEC2", "USE2-BoxUsage:m7i.large"),
                ("Usage", "AmazonEC2", "USE2-UnusedBox:trn1.32xlarge"),
                ("Usage", "AmazonSageMaker", "USE2-Cluster:ml.trn1.32xlarge"),
                ("Usage", "AmazonCloudFront", "EU-DataTransfer-Out-Bytes"),
                ("DiscountedUsage", "AmazonEC2", "USE2-BoxUsage:trn1.2xlarge"),
                ("EdpDiscount", "AmazonEC2", "USE2-BoxUsage:trn1.32xlarge"),
                ("SppDiscount", "AmazonEC2", "USE2-BoxUsage:trn1.32xlarge"),
                ("DistributorDiscount", "ComputeSavingsPlans", "ComputeSP:1yrNoUpfront"),
                ("RiVolumeDiscount", "AmazonEC2", "USE2-HeavyUsage:trn1.2xlarge"),
                ("Refund", "AmazonEC2", "USE2-HeavyUsage:trn1.2xlarge"),
                ("Tax", "AmazonEC2", None),
                ("Credit", "AmazonEC2", "USE2-BoxUsage:trn1.32xlarge"),
                ("Refund", "AmazonS3", "USE2-TimedStorage-ByteHrs"),
                ("Fee", "AWSSupportBusiness", None),
                ("Fee", "AmazonRegistrar", None),
                ("RIFee", "AmazonEC2", "USE2-HeavyUsage:trn1.2xlarge"),
            ]
        )
        if usage_type == "USE2-NatGateway-Hours":
            kinds = ["NatGateway-Hours", "USW2-AWS-Out-Bytes", "DataProcessing-Bytes", "Select-Scanned-Bytes"]
            usage_type = f"USE2-{self.places.choice(kinds)}"
        row = hour(at.isoformat(), self.amount(), line_item_line_item_type=kind, line_item_product_code=product, **self.tags())
        row |= {"line_item_usage_type": usage_type, "bill_payer_account_id": PAYERS[source], "pricing_unit": "GB-Mo"}
        row |= {
            "line_item_usage_account_id": self.account(source),
            "line_item_resource_id": self.random.choice([None, "r-1", "i-0a"]),
        }
        if kind.endswith("Discount") or kind in ("Credit", "Refund"):
            row["line_item_unblended_cost"] *= -1
        if kind in ("Refund", "RiVolumeDiscount") and product == "AmazonEC2":
            row["reservation_reservation_a_r_n"] = self.random.choice(["arn:ri", None])
        if kind in ("DiscountedUsage", "RIFee"):
            row |= {"reservation_reservation_a_r_n": "arn:ri", "reservation_effective_cost": self.amount()}
            row |= {"reservation_unused_recurring_fee": self.amount()}
        return row

    def savings_plan_rows(self, source: str, at: datetime) -> list[dict]:
        covered = self.usage_row(source, at, self.random.choice(list(NODES)), "trn1.32xlarge")
        covered["line_item_line_item_type"] = "SavingsPlanCoveredUsage"
        covered |= {"savings_plan_savings_plan_a_r_n": "arn:sp", "savings_plan_savings_plan_effective_cost": self.amount()}
        off_by = self.random.choice([0, 0, 1e-10])
        negation = covered | {"line_item_line_item_type": "SavingsPlanNegation", "line_item_product_code": "ComputeSavingsPlans"}
        negation["line_item_unblended_cost"] = round(off_by - covered["line_item_unblended_cost"], 10)
        fee = negation | {
            "line_item_line_item_type": "SavingsPlanRecurringFee",
            "line_item_resource_id": None,
            "resource_tags": {},
        }
        fee |= {
            "line_item_unblended_cost": 9.0,
            "savings_plan_total_commitment_to_date": 9.0,
            "savings_plan_used_commitment": self.amount(),
        }
        plan = self.plans.choice(["EC2SP:trn1.1yrNoUpfront", "EC2SP:m7i.1yrNoUpfront", "ComputeSP:1yrNoUpfront"])
        fee |= {"savings_plan_savings_plan_a_r_n": f"arn:sp-{plan}", "line_item_usage_type": f"USE2-{plan}"}
        if self.random.random() < 0.5:  # a private discount: the fee is billed after it, the commitment stated before
            fee["line_item_net_unblended_cost"] = round(9.0 * self.random.uniform(0.8, 1), 10)
        named = fee | {
            "line_item_line_item_type": "Refund",
            "line_item_unblended_cost": -3.21,
            "line_item_net_unblended_cost": None,
        }
        shown = named | {"line_item_line_item_description": "Refund for one-time fee for Savings Plan ID: 0af1"}
        return [covered, negation, fee, named, shown | {"savings_plan_savings_plan_a_r_n": None}]

    def pod_row(self, source: str, at: datetime) -> dict:
        """A pod's share of a node; with a Savings Plan's amounts it would count the node's twice."""
        kind = self.pods.choice(["Usage", "SavingsPlanCoveredUsage", "DiscountedUsage"])
        row = hour(
            at.isoformat(), self.pods.choice([0.0, 0.0, 0.0, 1.25]), line_item_resource_id="i-0a", line_item_line_item_type=kind
        )
        row |= {"bill_payer_account_id": PAYERS[source], "line_item_usage_account_id": PAYERS[source]}
        row |= {
            "line_item_operation": self.pods.choice(["EKSPod-EC2", "ECSTask-EC2"]),
            "savings_plan_savings_plan_a_r_n": "arn:sp",
        }
        return row | {"savings_plan_savings_plan_effective_cost": 7.5, "reservation_effective_cost": 6.25}

    def split_rows(self, source: str, at: datetime) -> list[dict]:
        """What pods and tasks had of a machine in an hour, with and without each of what a row may state of it."""
        draw, account = self.splits, PAYERS[source][:-1] + "1"
        machine, rows = draw.choice([*NODES, *NODES, BLOCKED_NODE]), []
        shown = [draw.random() < share for share in (0.8, 0.5, 0.5, 0.7)]
        for number in range(draw.randrange(1, 5)):
            workload = draw.choice(["train-a", "train-b", "train-b", "aws-node", None])
            arn = pod_arn(f"{workload or 'bare'}-{number}", draw.choice(["ml", "dev"]), account=account)
            if draw.random() < 0.2:
                arn = task_arn(f"t-{draw.randrange(3)}", account=account)
            columns = {"bill_payer_account_id": PAYERS[source], "line_item_usage_account_id": account}
            if draw.random() < 0.3:
                columns["resource_tags"] = {"user_training_run_id": draw.choice([*RUN_IDS, "of-pods", "Of-Pods"])}
            kinds = draw.choice([2, 3, 3])
            costs = [round(draw.uniform(0, 6), draw.choice([2, 10])) if shown[0] else None for _ in range(kinds)]
            ratios = [round(draw.uniform(0, 0.6), draw.choice([2, 9])) if shown[3] else None for _ in range(kinds)]
            for row in split_rows(at.isoformat(), machine, arn, costs, ratios, workload, **columns):
                cost = row["split_line_item_split_cost"]
                if shown[1] and draw.random() < 0.95:
                    row["split_line_item_net_split_cost"] = None if cost is None else round(cost * 0.9, 10)
                if shown[2]:
                    row["split_line_item_public_on_demand_split_cost"] = round(draw.uniform(0, 6), 10)
                row["split_line_item_unused_cost"] = draw.choice([None, 0.0, round(draw.uniform(0, 1), 10)])
                rows.append(row)
        return rows

    def block_rows(self, month: str) -> list[dict]:
        """Paid in April, used in May; the last hours are not billed."""
        shared = {"bill_payer_account_id": PAYERS["cur-a"], "line_item_usage_account_id": PAYERS["cur-a"][:-1] + "1"}
        if month == "2026-04":
            term = {"reservation_start_time": "2026-05-01T00:00:00Z", "reservation_end_time": "2026-05-03T00:00:00Z"}
            term["reservation_number_of_reservations"] = "1"
            fee = BLOCK_FEE | shared | term | {"reservation_reservation_a_r_n": BLOCK}
            refund = fee | {"line_item_line_item_type": "Refund", "line_item_unblended_cost": -3.07}
            tax = fee | {"line_item_line_item_type": "Tax", "line_item_unblended_cost": 98.7}
            credit = fee | {"line_item_line_item_type": "Credit", "line_item_unblended_cost": -12.34}
            return [fee | {"line_item_unblended_cost": 1234.56789}, refund, tax, credit]
        rows = []
        for number in range(40):
            at = MONTHS[month] + timedelta(hours=number)
            row = hour(
                at.isoformat(), 0.0, line_item_usage_type="USE2-BoxUsage:trn2.48xlarge", line_item_resource_id=BLOCKED_NODE
            )
            status = self.random.choice(["Used", "Used", "Unused"])
            row |= {"capacity_reservation_capacity_reservation_arn": BLOCK, "pricing_public_on_demand_cost": None}
            rows.append(row | shared | {"capacity_reservation_capacity_reservation_status": status})
        return rows

    def corner_rows(self, month: str) -> list[dict]:
        """What chance would not meet: an odd unit between equal weights, ambiguous ids, a block with hours missing inside."""
        account = {"bill_payer_account_id": PAYERS["cur-a"], "line_item_usage_account_id": PAYERS["cur-a"][:-1] + "3"}
        other = account | {"line_item_usage_account_id": PAYERS["cur-a"][:-1] + "4"}
        rows = []
        for number in range(5):
            at = MONTHS[month] + timedelta(hours=number)
            rows.append(hour(at.isoformat(), 10.000000000003, line_item_resource_id="i-even", **account))
            rows.append(hour(at.isoformat(), 7.0, line_item_resource_id="i-amb", **other))
            tagged = {"resource_tags": {"user_training_run_id": self.random.choice(["amb x", "Run-1"])}}
            rows.append(hour(at.isoformat(), 7.1, line_item_resource_id="i-amb", **tagged, **other))
        if month == "2026-04":
            term = {"reservation_start_time": "2026-04-01T00:00:00Z", "reservation_end_time": "2026-04-02T00:00:00Z"}
            rows.append(
                BLOCK_FEE | account | term | {"reservation_reservation_a_r_n": BLOCK + "2", "line_item_unblended_cost": 100.01}
            )
            for number in (0, 1, 5, 23):
                at = MONTHS[month] + timedelta(hours=number)
                row = hour(at.isoformat(), 0.0, line_item_resource_id="i-even", pricing_public_on_demand_cost=None, **account)
                rows.append(row | {"capacity_reservation_capacity_reservation_arn": BLOCK + "2"})
        return rows

    def bill(self, source: str, month: str) -> list[dict]:
        rows = []
        for number in range(DAYS * HOURS):
            at = MONTHS[month] + timedelta(hours=number)
            for node, kind in NODES.items():
                if self.random.random() < 0.7:
                    rows.append(self.usage_row(source, at, node, kind))
            rows += [self.other_row(source, at), self.other_row(source, at)]
            if self.pods.random() < 0.3:
                rows.append(self.pod_row(source, at))
            rows += self.split_rows(source, at)
            if self.random.random() < 0.2:
                rows += self.savings_plan_rows(source, at)
        if source == "cur-a":
            rows += self.block_rows(month) + self.corner_rows(month) + self.numbered_rows(month)
            if month == "2026-04":  # with an invoice for every row: a node that is held all month was held for its billed hours
                rows = [row | {"bill_invoice_id": "2041"} for row in rows]
        return rows

    def record(self, run_id: str) -> dict:
        nodes = []
        for start_of_month in MONTHS.values():
            for node in [*NODES, BLOCKED_NODE]:
                if self.random.random() < 0.5:
                    start = start_of_month + timedelta(minutes=self.random.randrange(DAYS * HOURS * 60))
                    end = start + timedelta(seconds=self.random.randrange(1, 20 * 3600))
                    chips = self.random.choice([None, 1, 3, 8, 16])
                    nodes.append((node, start.isoformat(), end.isoformat(), self.parts.choice([chips, chips, 0.5, 1 / 7, 2.25])))
        return run(run_id, *nodes)

    def job(self, number: int, cluster: str | None, month: str, node: str) -> dict:
        """A job of Slurm on a machine that the bill knows by the same name."""
        start = int(MONTHS[month].timestamp()) + self.jobs.randrange(DAYS * HOURS * 3600)
        gres = self.jobs.choice([{"neuron": 4}, {"neuron": 16, "neuron:trainium": 16}, {}])
        return {
            "job_id": number, "cluster": cluster, "nodes": node, "state": "COMPLETED",
            "time": {"start": start, "end": start + self.jobs.randrange(600, 20 * 3600)},
            "tres": {"allocated": [{"type": "gres", "name": name, "count": count} for name, count in gres.items()]},
        }  # fmt: skip

    def numbered_rows(self, month: str) -> list[dict]:
        """Rows that carry the number of a job, with and without its cluster."""
        account = {"bill_payer_account_id": PAYERS["cur-a"], "line_item_usage_account_id": PAYERS["cur-a"][:-1] + "1"}
        values = ["7000", "7001", "7002", "7003", "7004", "prod/7001", "dev-7001", "41"]
        return [
            hour((MONTHS[month] + timedelta(hours=number)).isoformat(), 3.1, line_item_resource_id=f"i-n{number}", **account,
                 resource_tags={"user_training_run_id": value})
            for number, value in enumerate(values)
        ]  # fmt: skip

    def carbon_rows(self, month: str, version: str) -> list[dict]:
        rows = []
        for payer in PAYERS.values():
            for account in ("1", "2"):
                for product in ("AmazonEC2", "AmazonS3", "Other"):
                    for region in ("us-east-2", "eu-west-1", "Global"):
                        if self.random.random() < 0.8:
                            place = {"payer_account_id": payer, "usage_account_id": payer[:-1] + account}
                            place |= {"product_code": product, "region_code": region, "model_version": version}
                            tonnes = self.random.choice([None, *(round(self.random.uniform(0, 5), 6) for _ in range(6))])
                            row = carbon(tonnes, round(self.random.uniform(0, 2), 6), **place)
                            rows.append(row | {"usage_period_start": MONTHS[month].replace(tzinfo=None)})
        return rows


def write_any_exports(exports: Exports, seed: int) -> None:
    draw = Draw(seed)
    for month in MONTHS:
        exports.bill(draw.bill("cur-a", month), period=month, name="cur-a")
        exports.csv_bill(draw.bill("cur-b", month), period=month, name="cur-b")
        for version in ("v3.0.0", "v3.0.1"):
            exports.carbon(draw.carbon_rows(month, version), version, month)
    whole = ("2026-04-01T00:00:00Z", "2026-05-10T00:00:00Z")
    # an evaluation inside a training, wherever both hold one machine
    inside = {"eval": {"parent_run_id": "LLM"}}
    exports.runs(*(draw.record(run_id) | inside.get(run_id, {}) for run_id in RUN_IDS))
    exports.runs(run("run-1", ("i-even", *whole, 4), ("i-amb", *whole, 8)), run("run-10", ("i-even", *whole, 4)))
    days = {"valid_from": "2026-04-02", "valid_to": "2026-05-02"}
    on_aws = {"provider_name": "AWS", "region_id": "us-east-2"}
    exports.own_prices(
        on_aws | days | {"accelerator_type": "trn1.32xlarge", "price_per_hour": "21.5"},
        on_aws | {"accelerator_type": "trn2.48xlarge", "price_per_hour": "41.123456789"},
    )
    exports.runs(run("Amb X", ("i-amb", *whole, 5)), run("amb-x"))
    of_pods = [{"aliases": [{"system": system, "id": name}]} for system, name in (
        ("kubernetes", "ml/train-a"), ("kubernetes", "train-b"), ("kubernetes_pod", "dev/bare-1"),
        ("ecs_task", task_arn("t-1", account=PAYERS["cur-a"][:-1] + "1")),
    )]  # fmt: skip
    exports.runs(run("pods-a", ("i-0a", *whole, 2)) | of_pods[0], *(run(f"pods-{at}") | of_pods[at] for at in (1, 2, 3)))
    jobs = [draw.job(number, "prod", "2026-04", node) for number, node in ((7000, "i-0a"), (7002, "i-0c"))]
    # from May on a second cluster counts: its numbers are others' as well
    jobs += [draw.job(number, cluster, "2026-05", "i-0b") for number in (7001, 7003) for cluster in ("prod", "dev")]
    jobs.append(draw.job(7004, None, "2026-05", "i-0d"))
    exports.runs({"jobs": jobs})
    slurm = [{"aliases": [{"system": "slurm", "id": str(number)}]} for number in (7002, 7003, 41)]
    exports.runs(run("of-april", **slurm[0]), run("of-may", **slurm[1]), run("of-dev", cluster="dev", **slurm[2]))
    exports.runs(run("41", cluster="dev", **slurm[2]))
    for second in (0, 2):  # two recorders on one machine
        held = ("i-0a", f"2026-04-01T03:00:0{second}Z", f"2026-04-01T05:00:0{second}Z", 16)
        exports.runs(
            run("recorded-twice", held) | {"attempts": [{"attempt_id": "9.1", "nodes": run("", held)["attempts"][0]["nodes"]}]}
        )
