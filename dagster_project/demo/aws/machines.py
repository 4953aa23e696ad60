"""Bill rows of machines: instance-hours on demand and Spot, their volumes and traffic, a correction, and the managed job."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dagster_project.demo.aws import fleet
from dagster_project.demo.aws.account import ON_DEMAND, PAYER_A, REGIONS, SAVINGS_PLAN_RATE, VISION, WATTS
from dagster_project.demo.aws.lines import Hours, Sheet, Values, hours, priced
from dagster_project.demo.clock import DAY, HOUR, hours_between
from dagster_project.demo.organisation import NODE_CHIPS, TAG_KEY, UNIT, generator, money
from dagster_project.demo.simulation import Instance, World, normalise
from dagster_project.demo.truth import line_claim, whole

SPOT_RATE, VOLUME_RATE, TRAFFIC_RATE = money("8.6"), money("0.08"), money("0.01")  # an hour, a GB-month, a GB


def covered_hours(second_count: int) -> int:
    """Hours a commitment pays for, rounded down: an hour shared by two machines is never more than was committed."""
    return second_count * UNIT // HOUR


def box(machine: Instance) -> dict[str, Any]:
    kind, spot = machine.instance_type, "Spot " if machine.purchase == "spot" else ""
    usage, operation = (f"SpotUsage:{kind}", "RunInstances:SV001") if spot else (f"BoxUsage:{kind}", "RunInstances")
    words = f"AmazonEC2, {usage}, {operation}, Hrs, Compute Instance"
    name = f"{kind} Linux/UNIX {spot}Instance-hour in {machine.region_id}"
    return priced(words, machine.region_id, SPOT_RATE if spot else ON_DEMAND[kind], name)


def resource_columns(machine: Instance, tag: str | None, resource_id: str | None = None) -> dict[str, object]:
    tags = {"aws_created_by": "AssumedRole:synthetic:scheduler", "user_name": machine.name}
    if tag is not None:
        tags |= {f"user_{TAG_KEY}": tag, "user_cost_center": "training"}
    category = {"capability": "machine-learning"}
    return {"line_item_resource_id": resource_id or machine.instance_id, "resource_tags": tags, "cost_category": category}


def spot_rate(machine: Instance, hour: int) -> int:
    """The Spot price of the day, the same for all machines of a zone."""
    return SPOT_RATE + generator("spot", machine.zone, hour // DAY).randrange(-3_000, 3_001) * (UNIT // 10_000)


def hour_rows(
    sheet: Sheet, world: World, machine: Instance, key: str, worked: Hours, tag: str | None, columns: Values, **more: Any
) -> None:
    """Instance-hours of a machine; in a Capacity Block each carries its part of the fee."""
    listed, watts = ON_DEMAND[machine.instance_type], WATTS[machine.instance_type]
    rate = [spot_rate(machine, hour) for hour, _ in worked] if machine.purchase == "spot" else listed
    component = "accelerator" if machine.instance_type in NODE_CHIPS else "host"
    fee = partial(fleet.fee_share, world) if machine.purchase == "block" else lambda used: None
    claims = [line_claim(world, machine, hour, used, component, tag=tag, fee=fee(used)) for hour, used in worked]
    columns = {**box(machine), "line_item_availability_zone": machine.zone, **resource_columns(machine, tag), **columns}
    sheet.use(key, machine.account, worked, rate, columns, listed=listed, claims=claims, watts=watts, **more)


def machine_rows(sheet: Sheet, world: World, machine: Instance, covered: Mapping[tuple[str, int], int]) -> None:
    """Rows of one machine and what hangs on it; hours the Savings Plan covers are rows of their own, one covered in part is two.

    An early delivery has whole hours of the shared cluster, and no tag in the first hour of one machine: it was activated later.
    """
    worked = hours_between(machine.launched, machine.terminated, sheet.month)
    if not worked:
        return
    is_shared = machine.account is VISION and machine.tag is None
    billed = [(hour, HOUR) for hour, _ in worked] if sheet.is_early and is_shared else worked
    covering = {hour: covered.get((machine.instance_id, hour), 0) for hour, _ in billed}
    direct = [(hour, used - covering[hour]) for hour, used in billed if used > covering[hour]]
    by_tag = {machine.tag: direct}
    if sheet.is_early and machine.name == f"vit-h14-01{world.suffix}-1-0":
        by_tag = {None: direct[:1], machine.tag: direct[1:]}
    for tag, rows in by_tag.items():
        hour_rows(sheet, world, machine, f"box|{machine.instance_id}|{tag}", rows, tag, {})
    _covered_rows(sheet, world, machine, [(hour, taken) for hour, taken in covering.items() if taken])
    if machine.volume_gb:
        _volume_rows(sheet, machine, worked)
    if is_shared:
        _traffic_rows(sheet, world, machine, worked)


def _covered_rows(sheet: Sheet, world: World, machine: Instance, worked: Hours) -> None:
    amounts = [covered_hours(used) for _, used in worked]
    effective = [amount * SAVINGS_PLAN_RATE // UNIT for amount in amounts]
    columns = plan_columns(world) | {
        "line_item_line_item_type": "SavingsPlanCoveredUsage",
        "savings_plan_savings_plan_rate": SAVINGS_PLAN_RATE,
        "savings_plan_savings_plan_effective_cost": effective,
        "savings_plan_net_savings_plan_effective_cost": effective,
    }
    hour_rows(sheet, world, machine, f"covered|{machine.instance_id}", worked, machine.tag, columns, amounts=amounts)


def plan_columns(world: World) -> dict[str, Any]:
    plan_id = f"5ace0000-0000-4000-a000-{world.replica:012d}"
    return {
        "savings_plan_savings_plan_a_r_n": f"arn:aws:savingsplans::{PAYER_A.account_id}:savingsplan/{plan_id}",
        "savings_plan_offering_type": "ComputeSavingsPlans",
        "savings_plan_payment_option": "No Upfront",
        "savings_plan_purchase_term": "3yr",
        "savings_plan_region": "Any",
        "savings_plan_start_time": "2026-01-01T00:00:00.000Z",
        "savings_plan_end_time": "2028-12-31T23:59:59.000Z",
    }


def _volume_rows(sheet: Sheet, machine: Instance, worked: Hours) -> None:
    """The machine's gp3 volume, billed by the hour and tagged as the machine is."""
    first, last = sheet.bounds
    words = "AmazonEC2, EBS:VolumeUsage.gp3, CreateVolume-Gp3, GB-Mo, Storage"
    name = f"GB-month of General Purpose (gp3) provisioned storage - {REGIONS[machine.region_id].bill_name}"
    volume_id = "vol-" + machine.instance_id[2:]
    amounts = [machine.volume_gb * used * UNIT // (last - first) for _, used in worked]
    claim = None if machine.tag is None else whole(normalise(machine.tag), "tag", "storage")
    columns = priced(words, machine.region_id, VOLUME_RATE, name) | resource_columns(machine, machine.tag, volume_id)
    claims = [claim] * len(worked)
    sheet.use(f"volume|{volume_id}", machine.account, worked, VOLUME_RATE, columns, amounts=amounts, claims=claims)


def _traffic_rows(sheet: Sheet, world: World, machine: Instance, worked: Hours) -> None:
    """Traffic between zones on an untagged machine: the runs that held it share the hour, the rest is no run's."""
    words = "AmazonEC2, DataTransfer-Regional-Bytes, InterZone-In, GB, Data Transfer"
    name = "GB - regional data transfer - in/out/between EC2 AZs"
    columns = priced(words, machine.region_id, TRAFFIC_RATE, name) | resource_columns(machine, None)
    key, random = f"traffic|{machine.instance_id}", generator("traffic", machine.instance_id, sheet.month)
    amounts = [random.randrange(1, 40_000_000_000) if hour % (7 * HOUR) else random.randrange(1, 9_000) for hour, _ in worked]
    claims = [line_claim(world, machine, hour, HOUR, "network") for hour, _ in worked]
    sheet.use(key, machine.account, worked, TRAFFIC_RATE, columns, amounts=amounts, claims=claims)


def correction_row(sheet: Sheet, world: World) -> None:
    """An hour and a half taken back from a machine of the month, tagged as the machine is."""
    machine = next(machine for machine in world.instances if machine.name == f"llm8b-cpt-06{world.suffix}-1-0")
    hour, rate = machine.launched // HOUR * HOUR + 5 * HOUR, ON_DEMAND[machine.instance_type]
    columns = box(machine) | resource_columns(machine, machine.tag)
    columns |= {"line_item_line_item_description": "Correction of usage billed twice (synthetic)"}
    claims = [whole(normalise(machine.tag or ""), "tag", "accelerator")]
    key = f"correction|{machine.instance_id}"
    sheet.use(key, machine.account, [(hour, HOUR)], rate, columns, amounts=[-3 * UNIT // 2], claims=claims)


def job_rows(sheet: Sheet, world: World) -> None:
    """Instance-hours and volume of the managed job, under its ARN."""
    worked, arn = hours_between(fleet.JOB_START, fleet.JOB_END, sheet.month), fleet.job_arn(world)
    name, nodes, kind = arn.rpartition("/")[2], fleet.JOB_NODES, f"ml.{fleet.NODE_TYPE}"
    train = f"AmazonSageMaker, USE1-Train:{kind}, CreateTrainingJob, Hrs, ML Instance"
    volume = "AmazonSageMaker, USE1-VolumeUsage.gp2, CreateTrainingJob, GB-Mo, ML Storage"
    node_hours = [hours(used * nodes) for _, used in worked]
    sizes = [200 * nodes * used * UNIT // (31 * DAY) for _, used in worked]
    for key, words, rate, text, amounts, component, watts in (
        ("job", train, ON_DEMAND[kind], f"Training {kind} hour", node_hours, "accelerator", nodes * WATTS[fleet.NODE_TYPE]),
        ("job-volume", volume, money("0.14"), "GB-month of ML Storage", sizes, "storage", 0),
    ):
        columns = priced(words, "us-east-1", rate, f"{text} in us-east-1") | {"line_item_resource_id": arn}
        claims = [whole(normalise(name), "managed_job", component)] * len(worked)
        sheet.use(f"{key}|{name}", VISION, worked, rate, columns, amounts=amounts, claims=claims, watts=watts)
