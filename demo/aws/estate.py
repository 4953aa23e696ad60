"""Bill rows that no run causes: CPU machines, buckets, gateways, transfer, and the charges of a month."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from demo.aws.lines import Chunk, Service, Sheet, priced, times
from demo.clock import HOUR
from demo.organisation import ON_DEMAND, REGIONS, UNIT, WATTS, Account, digest, generator, money
from demo.simulation import World


def cpu_rows(sheet: Sheet, world: World, account: Account, region_id: str, count: int) -> Iterator[Chunk]:
    """Machines that are always on: schedulers, databases, notebooks."""
    prefix = REGIONS[region_id].prefix
    service = priced(
        f"AmazonEC2, {prefix}BoxUsage:m6i.8xlarge, RunInstances, Hrs, Compute Instance",
        region_id,
        ON_DEMAND["m6i.8xlarge"],
        f"m6i.8xlarge Linux/UNIX Instance-hour in {region_id}",
        "m6i.8xlarge",
    )
    periods = sheet.all_hours()
    for number in range(count):
        instance_id = "i-0" + digest("cpu", world.replica, account.account_id, number)[:16]
        constants = service.columns | {
            "line_item_resource_id": instance_id,
            "line_item_availability_zone": f"{region_id}a",
            "resource_tags": {"user_name": f"platform-{number}"},
        }
        varying = sheet.billed([UNIT] * len(periods), service.rate)
        yield Chunk(f"cpu|{instance_id}", account, periods, constants, varying, watt_hours=len(periods) * WATTS["m6i.8xlarge"])


def bucket_rows(sheet: Sheet, world: World, account: Account, region_id: str, bucket: str, terabytes: int) -> Iterator[Chunk]:
    """Storage by the hour with a slow growth, requests by the day."""
    prefix = REGIONS[region_id].prefix
    bucket += world.suffix
    rate = money("0.023")
    store = priced(
        f"AmazonS3, {prefix}TimedStorage-ByteHrs, StandardStorage, GB-Mo, Storage",
        region_id,
        rate,
        "GB - first 50 TB / month of storage used",
    )
    periods = sheet.all_hours()
    first = periods[0][0]
    base = terabytes * 1_000 * UNIT // len(periods)
    amounts = [base + base * ((start - first) // HOUR) // 20_000 for start, _ in periods]
    constants = store.columns | {"line_item_resource_id": bucket, "resource_tags": {"user_name": "datasets, shared"}}
    watt_hours = terabytes * 14 * len(periods)
    yield Chunk(f"bucket|{bucket}", account, periods, constants, sheet.billed(amounts, rate), watt_hours=watt_hours)
    request = priced(
        f"AmazonS3, {prefix}Requests-Tier2, GetObject, Requests, API Request",
        region_id,
        money("0.0000004"),
        "10,000 GET and all other requests",
    )
    random = generator("requests", bucket, sheet.month)
    days = [(start, start + HOUR) for start, _ in sheet.all_days()]
    counts = [random.randrange(200, 90_000) * UNIT for _ in days]
    yield Chunk(
        f"requests|{bucket}",
        account,
        days,
        request.columns | {"line_item_resource_id": bucket},
        sheet.billed(counts, request.rate),
    )


def network_rows(sheet: Sheet, world: World, account: Account, region_id: str) -> Iterator[Chunk]:
    """A NAT gateway by hour and by byte, and transfer to the internet."""
    prefix = REGIONS[region_id].prefix
    gateway = (
        f"arn:aws:ec2:{region_id}:{account.account_id}:natgateway/nat-0{digest('nat', world.replica, account.account_id)[:16]}"
    )
    random = generator("network", world.replica, account.account_id, sheet.month)
    periods = sheet.all_hours()
    for code, usage, operation, unit, rate, family, low, high in (
        ("AmazonEC2", "NatGateway-Hours", "NatGateway", "Hrs", "0.045", "NAT Gateway", UNIT, UNIT + 1),
        ("AmazonEC2", "NatGateway-Bytes", "NatGateway", "GB", "0.045", "NAT Gateway", UNIT // 50, 9 * UNIT),
        ("AWSDataTransfer", "DataTransfer-Out-Bytes", "RunInstances", "GB", "0.09", "Data Transfer", 2, 3 * UNIT),
    ):
        is_transfer = family == "Data Transfer"
        name = f"{unit} of {usage}"
        service = Service(
            code, prefix + usage, operation, region_id, unit, money(rate), family, name, region_in_map_only=is_transfer
        )
        amounts = [random.randrange(low, high) for _ in periods]
        constants = service.columns | {"line_item_resource_id": None if is_transfer else gateway}
        yield Chunk(f"{usage}|{gateway}", account, periods, constants, sheet.billed(amounts, service.rate))


def cloudfront_rows(sheet: Sheet, world: World, account: Account) -> Chunk:
    """The demo page of the company; its carbon is of no region."""
    random = generator("cloudfront", world.replica, sheet.month)
    days = [(start, start + HOUR) for start, _ in sheet.all_days()]
    rate = money("0.085")
    constants = {
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
    return Chunk(f"cloudfront|{world.replica}", account, days, constants, sheet.billed(amounts, rate))


def charge(
    sheet: Sheet,
    world: World,
    account: Account,
    kind: str,
    cost: int,
    product_code: str,
    usage_type: str | None,
    text: str,
    **more: Any,
) -> Chunk:
    """One row of a month that is not usage: tax, support, fee, credit, refund. A credit has no resource and no amount."""
    first, last = sheet.bounds
    constants = {
        "line_item_line_item_type": kind,
        "line_item_product_code": product_code,
        "line_item_usage_type": usage_type,
        "line_item_line_item_description": text,
        "line_item_usage_amount": 0 if kind in ("Credit", "Refund") else UNIT,
        "line_item_unblended_cost": cost,
        "product": {"product_name": product_code},
        **more,
    }
    period = (first, last) if kind in ("Tax", "Fee") else (first, first + 24 * HOUR)
    return Chunk(f"{kind}|{product_code}|{text}|{world.replica}", account, [period], constants)


def monthly_charges(sheet: Sheet, world: World, account: Account, tax: str, support: str) -> Sequence[Chunk]:
    growth = UNIT + int(sheet.month[5:]) * UNIT // 100
    taxes, fees = times(money(tax), growth), times(money(support), growth)
    text = "Tax for product code AmazonEC2"
    return (
        charge(sheet, world, account, "Tax", taxes, "AmazonEC2", None, text, line_item_tax_type="SalesTax"),
        charge(sheet, world, account, "Fee", fees, "AWSSupportBusiness", "Dollar", "AWS Support (Business)"),
    )
