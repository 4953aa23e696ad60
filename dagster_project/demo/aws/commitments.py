"""Bill rows of what was bought ahead: the Savings Plan, one reserved CPU machine, and the Capacity Block with its fee."""

from __future__ import annotations

from collections import defaultdict

from dagster_project.demo.aws import fleet
from dagster_project.demo.aws.account import (
    BLOCK_RATE,
    ON_DEMAND,
    PAYER_A,
    PLATFORM,
    PRODUCTION,
    RESERVED_RATE,
    SAVINGS_PLAN_RATE,
    WATTS,
)
from dagster_project.demo.aws.fleet import BLOCK_TYPE, NODE_TYPE
from dagster_project.demo.aws.lines import Sheet, net, priced, times
from dagster_project.demo.aws.machines import covered_hours, hour_rows, plan_columns
from dagster_project.demo.clock import HOUR, hours_between, iso_milli, month_of, seconds
from dagster_project.demo.organisation import UNIT, digest, money
from dagster_project.demo.simulation import World
from dagster_project.demo.truth import unclaimed

PLAN_NODES = 2
OFF = {seconds("2026-05-17T11:00:00"): money("0.01")}  # the one negation that is a cent off
RESERVED_TYPE = "m6i.4xlarge"


def plan_coverage(world: World, month: str) -> dict[tuple[str, int], int]:
    """Covered seconds of each machine-hour: the plan pays for two nodes of work, first come by id."""
    left: dict[int, int] = defaultdict(lambda: PLAN_NODES * HOUR)
    covered = {}
    for machine in sorted(world.instances, key=lambda machine: machine.instance_id):
        if (machine.account, machine.purchase, machine.instance_type) == (PRODUCTION, "on_demand", NODE_TYPE):
            for hour, used in hours_between(machine.launched, machine.terminated, month):
                taken = min(used, left[hour])
                if taken:
                    covered[machine.instance_id, hour] = taken
                    left[hour] -= taken
    return covered


def plan_rows(sheet: Sheet, world: World, covered: dict[tuple[str, int], int]) -> None:
    """The negation of what was covered, and each hour's fee with what of it was used.

    A negation is a row an hour; equal to the covered rows, with discount too, but for one cent in one month.
    """
    amounts: dict[int, list[int]] = defaultdict(list)
    for (_, hour), second_count in sorted(covered.items(), key=lambda item: item[0][1]):
        amounts[hour].append(covered_hours(second_count))
    costs = {hour: [times(amount, ON_DEMAND[NODE_TYPE]) for amount in each] for hour, each in amounts.items()}
    negation = plan_columns(world) | {
        "line_item_line_item_type": "SavingsPlanNegation",
        "line_item_product_code": "AmazonEC2",
        "line_item_usage_type": f"BoxUsage:{NODE_TYPE}",
        "line_item_operation": "RunInstances",
        "line_item_line_item_description": f"SavingsPlanNegation used by {PRODUCTION.account_id}",
        "pricing_unit": "Hrs",
        "product": {"product_name": "Amazon Elastic Compute Cloud"},
        "product_region_code": "us-east-1",
        "line_item_usage_amount": [sum(each) for each in amounts.values()],
        "line_item_unblended_cost": [-sum(each) + OFF.get(hour, 0) for hour, each in costs.items()],
        "line_item_net_unblended_cost": [-sum(net(each)) for each in costs.values()],
    }
    sheet.add(f"plan-negation|{world.replica}", PRODUCTION, list(amounts), negation)
    starts = [hour for hour, _ in sheet.all_hours()]
    used = [sum(amount * SAVINGS_PLAN_RATE // UNIT for amount in amounts.get(hour, ())) for hour in starts]
    fee = PLAN_NODES * SAVINGS_PLAN_RATE
    columns = plan_columns(world) | {
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
        "savings_plan_recurring_commitment_for_billing_period": fee * len(starts),
        "savings_plan_used_commitment": used,
        "line_item_usage_amount": UNIT,
        "line_item_unblended_cost": fee,
        # the private discount leaves Savings Plans out, so the fee and what it pays for stay equal
        "line_item_net_unblended_cost": fee,
    }
    sheet.add(f"plan-fee|{world.replica}", PAYER_A, starts, columns)


def reserved_rows(sheet: Sheet, world: World) -> None:
    """A CPU machine on a reservation, switched off at the end of each month, so that a part stays unused."""
    instance_id = "i-0" + digest("reserved", world.replica)[:16]
    arn = f"arn:aws:ec2:us-east-1:{PLATFORM.account_id}:reserved-instances/7e5e0000-0000-4000-8000-{world.replica:012d}"
    all_hours, idle_hours, listed = sheet.all_hours(), 6, ON_DEMAND[RESERVED_TYPE]
    words = f"AmazonEC2, BoxUsage:{RESERVED_TYPE}, RunInstances, Hrs, Compute Instance"
    shared = priced(words, "us-east-1", listed, f"{RESERVED_TYPE} reserved instance applied") | {
        "pricing_term": "Reserved",
        "reservation_reservation_a_r_n": arn,
        "reservation_subscription_id": str(4_100_000 + world.replica),
    }
    columns = shared | {
        "line_item_line_item_type": "DiscountedUsage",
        "line_item_resource_id": instance_id,
        "reservation_effective_cost": RESERVED_RATE,
        "reservation_net_effective_cost": net([RESERVED_RATE])[0],
    }
    worked, watts = all_hours[:-idle_hours], WATTS[RESERVED_TYPE]
    sheet.use(f"reserved|{instance_id}", PLATFORM, worked, 0, columns, listed=listed, watts=watts)
    fee, unused = RESERVED_RATE * len(all_hours), RESERVED_RATE * idle_hours
    net_fee, net_unused = net([fee, unused])
    first, last = sheet.bounds
    fee_columns = shared | {
        "line_item_line_item_type": "RIFee",
        "line_item_usage_type": f"HeavyUsage:{RESERVED_TYPE}",
        "line_item_usage_amount": len(all_hours) * UNIT,
        "line_item_unblended_cost": fee,
        "line_item_net_unblended_cost": net_fee,
        "reservation_number_of_reservations": "1",
        "reservation_unused_quantity": idle_hours * UNIT,
        "reservation_unused_recurring_fee": unused,
        "reservation_net_unused_recurring_fee": net_unused,
        "reservation_unused_amortized_upfront_fee_for_billing_period": 0,
        "reservation_net_unused_amortized_upfront_fee_for_billing_period": 0,
        "reservation_start_time": "2026-02-01T00:00:00.000Z",
        "reservation_end_time": "2027-01-31T23:59:59.000Z",
    }
    sheet.add(f"reserved-fee|{arn}", PLATFORM, [first], fee_columns, length=last - first)


def block_rows(sheet: Sheet, world: World) -> None:
    """Fee and refund in their own months; hours of the machines in it, and the hours nobody started, all at no charge."""
    arn, bought = fleet.block_arn(world), fleet.BLOCK_SECONDS // HOUR * UNIT
    for kind, when, amount, cost in (
        ("Fee", fleet.BLOCK_BOUGHT, bought, times(bought, BLOCK_RATE)),
        ("Refund", fleet.BLOCK_REFUNDED, 0, -money("4500")),
    ):
        if month_of(when) == sheet.month:
            words = f"AmazonEC2, CapacityBlockFee:{BLOCK_TYPE}, RunInstances:CB, Hrs, Compute Instance"
            name = f"{kind} for {fleet.BLOCK_NODES} {BLOCK_TYPE} in a Capacity Block for ML"
            columns = priced(words, fleet.BLOCK_REGION, BLOCK_RATE, name) | {
                "line_item_line_item_type": kind,
                "line_item_usage_amount": amount,
                "line_item_unblended_cost": cost,
                "reservation_reservation_a_r_n": arn,
                "reservation_start_time": iso_milli(fleet.BLOCK_START),
                "reservation_end_time": iso_milli(fleet.BLOCK_END),
                "reservation_number_of_reservations": str(fleet.BLOCK_NODES),
                "reservation_upfront_value": cost,
            }
            sheet.add(f"block-{kind}|{arn}", PRODUCTION, [when // HOUR * HOUR], columns)
    _block_hours(sheet, world, arn)


def _block_hours(sheet: Sheet, world: World, arn: str) -> None:
    reserved = hours_between(fleet.BLOCK_START, fleet.BLOCK_END, sheet.month)
    unused = {hour: covered * fleet.BLOCK_NODES for hour, covered in reserved}
    block = {
        "capacity_reservation_capacity_reservation_arn": arn,
        "capacity_reservation_capacity_reservation_type": "EC2 Capacity Blocks for ML",
    }
    used = block | {
        "capacity_reservation_capacity_reservation_status": "Used",
        "product": {"product_name": "AmazonEC2", "region": fleet.BLOCK_REGION, "marketoption": "CapacityBlock"},
    }
    for machine in world.instances:
        if machine.purchase == "block":
            worked = hours_between(machine.launched, machine.terminated, sheet.month)
            hour_rows(sheet, world, machine, f"block-hours|{machine.instance_id}", worked, None, used)
            for hour, second_count in worked:
                unused[hour] -= second_count
    left = [(hour, second_count) for hour, second_count in unused.items() if second_count]
    words = f"AmazonEC2, UnusedBox:{BLOCK_TYPE}, RunInstances, Hrs, Compute Instance"
    columns = priced(words, fleet.BLOCK_REGION, 0, f"unused {BLOCK_TYPE} Capacity Block instance-hour") | block
    columns |= {"capacity_reservation_capacity_reservation_status": "Unused", "line_item_resource_id": arn}
    claims = [unclaimed("unused_commitment", fee=fleet.fee_share(world, second_count)) for _, second_count in left]
    sheet.use(f"block-unused|{arn}", PRODUCTION, left, 0, columns, claims=claims)
