"""Bill rows of what was bought ahead: the Savings Plan, one reserved CPU machine, and the Capacity Block with its fee."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from demo.aws.lines import Chunk, Sheet, covered_hours, hourly, hours, priced, times
from demo.aws.machines import box, plan_columns, tag_columns
from demo.aws.plan_a import Block
from demo.clock import HOUR, hours_between, interval, iso_milli, month_of
from demo.organisation import (
    BLOCK_RATE,
    ON_DEMAND,
    PAYER_A,
    PLATFORM,
    PRODUCTION,
    RESERVED_RATE,
    SAVINGS_PLAN_RATE,
    UNIT,
    WATTS,
    money,
)
from demo.simulation import Instance, World
from demo.truth import Claim, Rest, line_claim, unclaimed

PLAN_NODES = 2
PLAN_TYPE = "trn1.32xlarge"
ROUNDING_HOUR = "2026-05-17T11:00:00Z"  # the one negation that is a cent off
REFUND = money("4500")


def plan_coverage(world: World, month: str) -> dict[tuple[str, int], int]:
    """Covered seconds of each machine-hour: the plan pays for two nodes of work, first come by id."""
    worked: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for machine in world.instances:
        if (machine.account, machine.purchase, machine.instance_type) == (PRODUCTION, "on_demand", PLAN_TYPE):
            for hour, used in hours_between(machine.launched, machine.terminated, month):
                worked[hour].append((machine.instance_id, used))
    covered = {}
    for hour, machines in worked.items():
        left = PLAN_NODES * HOUR
        for instance_id, used in sorted(machines):
            taken = min(used, left)
            if taken:
                covered[instance_id, hour] = taken
                left -= taken
    return covered


def plan_rows(sheet: Sheet, world: World, covered: dict[tuple[str, int], int]) -> Iterator[Chunk]:
    """The negation of what was covered, and each hour's fee with what of it was used."""
    cost: dict[int, int] = defaultdict(int)
    used: dict[int, int] = defaultdict(int)
    amount: dict[int, int] = defaultdict(int)
    for (_, hour), second_count in covered.items():
        amount[hour] += covered_hours(second_count)
        cost[hour] += times(covered_hours(second_count), ON_DEMAND[PLAN_TYPE])
        used[hour] += covered_hours(second_count) * SAVINGS_PLAN_RATE // UNIT
    yield _negation_rows(sheet, world, covered, amount, cost)
    periods = sheet.all_hours()
    fee = PLAN_NODES * SAVINGS_PLAN_RATE
    constants = plan_columns(world) | {
        "line_item_line_item_type": "SavingsPlanRecurringFee",
        "line_item_product_code": "ComputeSavingsPlans",
        "line_item_usage_type": "ComputeSP:3yrNoUpfront",
        "line_item_line_item_description": "3 year No Upfront Compute Savings Plan",
        "pricing_unit": "Hrs",
        "pricing_term": "OnDemand",
        "product": {"product_name": "Savings Plans for AWS Compute usage"},
        "product_servicecode": "ComputeSavingsPlans",
        "line_item_resource_id": plan_columns(world)["savings_plan_savings_plan_a_r_n"],
        "savings_plan_total_commitment_to_date": fee,
        "savings_plan_recurring_commitment_for_billing_period": fee * len(periods),
        "line_item_usage_amount": UNIT,
        "line_item_unblended_cost": fee,
    }
    varying = {"savings_plan_used_commitment": [used[start] for start, _ in periods]}
    if sheet.is_discounted:  # the private discount leaves Savings Plans out, so the fee and what it pays for stay equal
        varying["line_item_net_unblended_cost"] = [fee] * len(periods)
    yield Chunk(f"plan-fee|{world.replica}", PAYER_A.account, periods, constants, varying)


def _negation_rows(sheet: Sheet, world: World, covered: dict, amount: dict[int, int], cost: dict[int, int]) -> Chunk:
    """One row an hour and account; equal to the covered rows, with discount too, but for one cent in one month."""
    clock_hours = sorted(amount)
    net: dict[int, int] = defaultdict(int)
    for (_, hour), second_count in covered.items():
        price = times(covered_hours(second_count), ON_DEMAND[PLAN_TYPE])
        net[hour] += sheet.net([price])["line_item_net_unblended_cost"][0] if sheet.is_discounted else 0
    off = {hour: money("0.01") for hour in clock_hours if interval(hour, hour + HOUR).startswith(ROUNDING_HOUR)}
    constants = plan_columns(world) | {
        "line_item_line_item_type": "SavingsPlanNegation",
        "line_item_product_code": "AmazonEC2",
        "line_item_usage_type": f"BoxUsage:{PLAN_TYPE}",
        "line_item_operation": "RunInstances",
        "line_item_line_item_description": f"SavingsPlanNegation used by {PRODUCTION.account_id}",
        "pricing_unit": "Hrs",
        "product": {"product_name": "Amazon Elastic Compute Cloud"},
        "product_region_code": "us-east-1",
    }
    varying = {
        "line_item_usage_amount": [amount[hour] for hour in clock_hours],
        "line_item_unblended_cost": [-cost[hour] + off.get(hour, 0) for hour in clock_hours],
    }
    if sheet.is_discounted:
        varying["line_item_net_unblended_cost"] = [-net[hour] for hour in clock_hours]
    periods = [(hour, hour + HOUR) for hour in clock_hours]
    return Chunk(f"plan-negation|{world.replica}", PRODUCTION, periods, constants, varying)


def reserved_rows(sheet: Sheet, world: World, instance_id: str) -> Iterator[Chunk]:
    """A CPU machine on a reservation, switched off at the end of each month, so that a part stays unused."""
    arn = f"arn:aws:ec2:us-east-1:{PLATFORM.account_id}:reserved-instances/7e5e0000-0000-4000-8000-{world.replica:012d}"
    all_hours = sheet.all_hours()
    periods, idle_hours = all_hours[:-6], 6
    service = priced(
        "AmazonEC2, BoxUsage:m6i.4xlarge, RunInstances, Hrs, Compute Instance",
        "us-east-1",
        ON_DEMAND["m6i.4xlarge"],
        "m6i.4xlarge reserved instance applied",
        "m6i.4xlarge",
        term="Reserved",
    )
    reservation = {"reservation_reservation_a_r_n": arn, "reservation_subscription_id": str(4_100_000 + world.replica)}
    varying = sheet.billed([UNIT] * len(periods), 0, ON_DEMAND["m6i.4xlarge"])
    varying["reservation_effective_cost"] = [RESERVED_RATE] * len(periods)
    if sheet.is_discounted:
        varying["reservation_net_effective_cost"] = sheet.net(varying["reservation_effective_cost"])[
            "line_item_net_unblended_cost"
        ]
    constants = (
        service.columns | reservation | {"line_item_line_item_type": "DiscountedUsage", "line_item_resource_id": instance_id}
    )
    watt_hours = len(periods) * WATTS["m6i.4xlarge"]
    yield Chunk(f"reserved|{instance_id}", PLATFORM, periods, constants, varying, watt_hours=watt_hours)
    fee, unused = RESERVED_RATE * len(all_hours), RESERVED_RATE * idle_hours
    fee_columns = {"line_item_unblended_cost": [fee], "reservation_unused_recurring_fee": [unused]} | sheet.net([fee])
    fee_columns |= {"reservation_unused_amortized_upfront_fee_for_billing_period": [0]}
    if sheet.is_discounted:
        fee_columns["reservation_net_unused_recurring_fee"] = sheet.net([unused])["line_item_net_unblended_cost"]
        fee_columns["reservation_net_unused_amortized_upfront_fee_for_billing_period"] = [0]
    fee_constants = (
        service.columns
        | reservation
        | {
            "line_item_line_item_type": "RIFee",
            "line_item_usage_type": "HeavyUsage:m6i.4xlarge",
            "line_item_usage_amount": len(all_hours) * UNIT,
            "reservation_number_of_reservations": "1",
            "reservation_unused_quantity": idle_hours * UNIT,
            "reservation_start_time": "2026-02-01T00:00:00.000Z",
            "reservation_end_time": "2027-01-31T23:59:59.000Z",
        }
    )
    yield Chunk(f"reserved-fee|{arn}", PLATFORM, [sheet.bounds], fee_constants, fee_columns)


def block_rows(sheet: Sheet, world: World, block: Block) -> Iterator[Chunk]:
    """Fee and refund in their own months; hours of the machines in it, and the hours nobody started, all at no charge."""
    if month_of(block.bought) == sheet.month:
        yield _block_fee(sheet, block, block.bought, times(block.instance_seconds // HOUR * UNIT, BLOCK_RATE), "Fee")
    if month_of(block.refunded) == sheet.month:
        yield _block_fee(sheet, block, block.refunded, -REFUND, "Refund")
    machines = [machine for machine in world.instances if machine.purchase == "block"]
    used: dict[int, int] = defaultdict(int)
    for machine in machines:
        chunk = _block_hours(sheet, world, block, machine)
        for hour, second_count in hours_between(machine.launched, machine.terminated, sheet.month):
            used[hour] += second_count
        yield chunk
    reserved = hours_between(block.start, block.end, sheet.month)
    unused = [(hour, covered * block.instances - used[hour]) for hour, covered in reserved]
    yield _unused_hours(sheet, block, [(hour, left) for hour, left in unused if left])


def _block_columns(block: Block, status: str) -> dict[str, object]:
    return {
        "capacity_reservation_capacity_reservation_arn": block.arn,
        "capacity_reservation_capacity_reservation_status": status,
        "capacity_reservation_capacity_reservation_type": "EC2 Capacity Blocks for ML",
    }


def _fee_share(block: Block, second_count: int) -> Rest:
    """The hour row's part of the fee: its seconds of all the instance-seconds that were bought."""
    share = Fraction(second_count, block.instance_seconds)
    return Rest(block.arn, share.numerator, share.denominator)


def _block_fee(sheet: Sheet, block: Block, when: int, cost: int, kind: str) -> Chunk:
    hour = when - when % HOUR
    service = priced(
        f"AmazonEC2, USE2-CapacityBlockFee:{block.instance_type}, RunInstances:CB, Hrs, Compute Instance",
        block.region_id,
        BLOCK_RATE,
        f"{kind} for {block.instances} {block.instance_type} in a Capacity Block for ML",
        block.instance_type,
    )
    constants = service.columns | {
        "line_item_line_item_type": kind,
        "line_item_usage_amount": block.instance_seconds // HOUR * UNIT if kind == "Fee" else 0,
        "line_item_unblended_cost": cost,
        "reservation_reservation_a_r_n": block.arn,
        "reservation_start_time": iso_milli(block.start),
        "reservation_end_time": iso_milli(block.end),
        "reservation_number_of_reservations": str(block.instances),
        "reservation_upfront_value": cost,
    }
    return Chunk(f"block-{kind}|{block.arn}", PRODUCTION, [(hour, hour + HOUR)], constants)


def _block_hours(sheet: Sheet, world: World, block: Block, machine: Instance) -> Chunk:
    worked = hours_between(machine.launched, machine.terminated, sheet.month)
    service = box(machine, rate=0)
    varying = sheet.billed([hours(used) for _, used in worked], 0)
    constants = service.columns | _block_columns(block, "Used") | tag_columns(machine, None)
    constants |= {"line_item_resource_id": machine.instance_id, "line_item_availability_zone": machine.zone}
    constants |= {"product": {**service.columns["product"], "marketoption": "CapacityBlock"}}
    claims = [line_claim(world, machine, hour, used, "accelerator", fee=_fee_share(block, used)) for hour, used in worked]
    return hourly(
        f"block-hours|{machine.instance_id}", PRODUCTION, worked, constants, varying, claims, WATTS[machine.instance_type]
    )


def _unused_hours(sheet: Sheet, block: Block, unused: list[tuple[int, int]]) -> Chunk:
    service = priced(
        f"AmazonEC2, USE2-UnusedBox:{block.instance_type}, RunInstances, Hrs, Compute Instance",
        block.region_id,
        0,
        f"unused {block.instance_type} Capacity Block instance-hour",
        block.instance_type,
    )
    claims: list[Claim | None] = [unclaimed("unused_commitment", fee=_fee_share(block, left)) for _, left in unused]
    return hourly(
        f"block-unused|{block.arn}",
        PRODUCTION,
        unused,
        service.columns | _block_columns(block, "Unused") | {"line_item_resource_id": block.arn},
        sheet.billed([hours(left) for _, left in unused], 0),
        claims,
    )
