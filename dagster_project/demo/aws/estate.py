"""Bill rows that no run causes: CPU machines, buckets, gateways, transfer, and the charges of a month."""

from __future__ import annotations

from dagster_project.demo.aws.account import (
    ON_DEMAND,
    PAYER_A,
    PAYER_B,
    PLATFORM,
    PRODUCTION,
    RESEARCH,
    ROBOTICS,
    VISION,
    WATTS,
    Payer,
)
from dagster_project.demo.aws.lines import Sheet, priced, times
from dagster_project.demo.clock import DAY
from dagster_project.demo.organisation import UNIT, Account, digest, generator, money
from dagster_project.demo.simulation import World

CPU_TYPE = "m6i.8xlarge"
CPU_MACHINES = {PAYER_A: (PLATFORM, "us-east-1", 5), PAYER_B: (VISION, "us-west-2", 2)}
BUCKETS = {  # account, region, name, terabytes
    PAYER_A: (
        (PRODUCTION, "us-east-1", "example-ag-synthetic-checkpoints", 60),
        (RESEARCH, "us-west-2", "example-ag-synthetic-corpora", 140),
        (PRODUCTION, "us-east-2", "example-ag-synthetic-moe", 30),
    ),
    PAYER_B: ((VISION, "us-west-2", "example-ag-synthetic-images", 50),),
}

SALES_TAX = {"line_item_tax_type": "SalesTax"}
EAST = {"product_region_code": "us-east-1", "line_item_operation": "RunInstances"}
WEST = {"product_region_code": "us-west-2"}
TAX, SUPPORT = "Tax for product code AmazonEC2", "AWS Support (Business)"
MIGRATION, LATE = "Migration programme credit (synthetic)", "Credit granted after the invoice (synthetic)"
ERROR, DOMAIN = "Refund for a billing error (synthetic)", "Domain registration (synthetic)"
TRN1 = "BoxUsage:trn1.32xlarge"
# account, type, product, usage type, description, cost in some months or in each and growing, more columns
Charge = tuple[Account, str, str, str | None, str, str | dict[str, str], dict[str, str]]
CHARGES: dict[Payer, tuple[Charge, ...]] = {
    PAYER_A: (
        (PAYER_A, "Tax", "AmazonEC2", None, TAX, "2310.55", SALES_TAX),
        (PAYER_A, "Fee", "AWSSupportBusiness", "Dollar", SUPPORT, "1890", {}),
        (PRODUCTION, "Credit", "AmazonEC2", TRN1, MIGRATION, {"2026-05": "-1500", "2026-08": "-820.4"}, EAST),
        (RESEARCH, "Refund", "AmazonEC2", "USW2-SpotUsage:trn1.32xlarge", ERROR, {"2026-08": "-120.55"}, WEST),
    ),
    PAYER_B: (
        (PAYER_B, "Tax", "AmazonEC2", None, TAX, "410.2", SALES_TAX),
        (PAYER_B, "Fee", "AWSSupportBusiness", "Dollar", SUPPORT, "500", {}),
        (ROBOTICS, "Fee", "AmazonRegistrar", "DomainRegistration", DOMAIN, {"2026-04": "12"}, {}),
        (VISION, "Credit", "AmazonEC2", f"USW2-{TRN1}", LATE, {"2026-06": "-640.25"}, WEST),  # what restates June
    ),
}


def estate_rows(sheet: Sheet, world: World) -> None:
    """All of it for one payer. The early delivery of June had a bucket too large, and not yet the credit."""
    _cpu_rows(sheet, world, *CPU_MACHINES[sheet.payer])
    for account, region_id, name, terabytes in BUCKETS[sheet.payer]:
        _bucket_rows(sheet, account, region_id, name + world.suffix, terabytes + sheet.is_early)
    if sheet.payer is PAYER_A:
        _network_rows(sheet, world, PLATFORM, "us-east-1")
        _cloudfront_rows(sheet, world, PLATFORM)
    for charge in CHARGES[sheet.payer]:
        _charge_row(sheet, world, charge)


def _cpu_rows(sheet: Sheet, world: World, account: Account, region_id: str, count: int) -> None:
    """Machines that are always on: schedulers, databases, notebooks."""
    words, name = f"AmazonEC2, BoxUsage:{CPU_TYPE}, RunInstances, Hrs, Compute Instance", f"{CPU_TYPE} Linux/UNIX Instance-hour"
    rate = ON_DEMAND[CPU_TYPE]
    for number in range(count):
        instance_id = "i-0" + digest("cpu", world.replica, account.account_id, number)[:16]
        columns = priced(words, region_id, rate, f"{name} in {region_id}") | {
            "line_item_resource_id": instance_id,
            "line_item_availability_zone": f"{region_id}a",
            "resource_tags": {"user_name": f"platform-{number}"},
        }
        sheet.use(f"cpu|{instance_id}", account, sheet.all_hours(), rate, columns, watts=WATTS[CPU_TYPE])


def _bucket_rows(sheet: Sheet, account: Account, region_id: str, bucket: str, terabytes: int) -> None:
    """Storage by the hour with a slow growth, requests by the day."""
    all_hours, rate = sheet.all_hours(), money("0.023")
    words = "AmazonS3, TimedStorage-ByteHrs, StandardStorage, GB-Mo, Storage"
    columns = priced(words, region_id, rate, "GB - first 50 TB / month of storage used")
    columns |= {"line_item_resource_id": bucket, "resource_tags": {"user_name": "datasets, shared"}}
    base = terabytes * 1_000 * UNIT // len(all_hours)
    amounts = [base + base * number // 20_000 for number in range(len(all_hours))]
    sheet.use(f"bucket|{bucket}", account, all_hours, rate, columns, amounts=amounts, watts=terabytes * 14)
    words, rate = "AmazonS3, Requests-Tier2, GetObject, Requests, API Request", money("0.0000004")
    columns = priced(words, region_id, rate, "10,000 GET and all other requests") | {"line_item_resource_id": bucket}
    random = generator("requests", bucket, sheet.month)
    amounts = [random.randrange(200, 90_000) * UNIT for _ in all_hours[::24]]
    sheet.use(f"requests|{bucket}", account, all_hours[::24], rate, columns, amounts=amounts)


def _network_rows(sheet: Sheet, world: World, account: Account, region_id: str) -> None:
    """A NAT gateway by hour and by byte, and transfer to the internet."""
    number = digest("nat", world.replica, account.account_id)[:16]
    gateway = f"arn:aws:ec2:{region_id}:{account.account_id}:natgateway/nat-0{number}"
    random = generator("network", world.replica, account.account_id, sheet.month)
    for words, rate, resource_id, low, high in (
        ("AmazonEC2, NatGateway-Hours, NatGateway, Hrs, NAT Gateway", "0.045", gateway, UNIT, UNIT + 1),
        ("AmazonEC2, NatGateway-Bytes, NatGateway, GB, NAT Gateway", "0.045", gateway, UNIT // 50, 9 * UNIT),
        ("AWSDataTransfer, DataTransfer-Out-Bytes, RunInstances, GB, Data Transfer", "0.09", None, 2, 3 * UNIT),
    ):
        _, usage, _, unit, _ = words.split(", ")
        columns = priced(words, region_id, money(rate), f"{unit} of {usage}") | {"line_item_resource_id": resource_id}
        amounts = [random.randrange(low, high) for _ in sheet.all_hours()]
        sheet.use(f"{usage}|{gateway}", account, sheet.all_hours(), money(rate), columns, amounts=amounts)


def _cloudfront_rows(sheet: Sheet, world: World, account: Account) -> None:
    """The demo page of the company; its carbon is of no region."""
    random, days = generator("cloudfront", world.replica, sheet.month), sheet.all_hours()[::24]
    columns = {
        "line_item_product_code": "AmazonCloudFront",
        "line_item_usage_type": "US-DataTransfer-Out-Bytes",
        "line_item_operation": "GET",
        "line_item_line_item_description": "$0.085 per GB - first 10 TB / month data transfer out, United States",
        "line_item_resource_id": f"arn:aws:cloudfront::{account.account_id}:distribution/E1SYNTHETIC{world.replica:03d}",
        "pricing_unit": "GB",
        "pricing_term": "OnDemand",
        "product": {"product_name": "Amazon CloudFront"},
        "product_product_family": "Data Transfer",
        "product_servicecode": "AmazonCloudFront",
    }
    amounts = [random.randrange(UNIT, 40 * UNIT) for _ in days]
    sheet.use(f"cloudfront|{world.replica}", account, days, money("0.085"), columns, amounts=amounts)


def _charge_row(sheet: Sheet, world: World, charge: Charge) -> None:
    """Tax, support, fee, credit, refund. A credit or refund has no resource and no amount."""
    account, kind, product_code, usage_type, text, costs, more = charge
    growth = UNIT + int(sheet.month[5:]) * UNIT // 100
    cost = times(money(costs), growth) if isinstance(costs, str) else money(costs.get(sheet.month, "0"))
    if not cost or (sheet.is_early and kind == "Credit"):
        return
    columns = {
        "line_item_line_item_type": kind,
        "line_item_product_code": product_code,
        "line_item_usage_type": usage_type,
        "line_item_line_item_description": text,
        "line_item_usage_amount": 0 if kind in ("Credit", "Refund") else UNIT,
        "line_item_unblended_cost": cost,
        "product": {"product_name": product_code},
        **more,
    }
    first, last = sheet.bounds
    length = last - first if kind in ("Tax", "Fee") else DAY
    sheet.add(f"{kind}|{product_code}|{text}|{world.replica}", account, [first], columns, length=length)
