"""Bill rows of machines: instance-hours on demand and Spot, their volumes, and the traffic of machines without a tag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from demo.aws.lines import Chunk, Service, Sheet, covered_hours, hourly, hours, priced
from demo.clock import DAY, HOUR, hours_between
from demo.organisation import ON_DEMAND, PAYER_A, REGIONS, SAVINGS_PLAN_RATE, TAG_KEY, UNIT, WATTS, generator, money
from demo.simulation import Instance, World
from demo.truth import Claim, line_claim, normalise, whole

VOLUME_RATE = money("0.08")  # per GB-month
TRAFFIC_RATE = money("0.01")


def box(instance: Instance, *, kind: str = "BoxUsage", rate: int | None = None) -> Service:
    usage_type = f"{REGIONS[instance.region_id].prefix}{kind}:{instance.instance_type}"
    price = ON_DEMAND.get(instance.instance_type, 0) if rate is None else rate
    operation = "RunInstances:SV001" if kind == "SpotUsage" else "RunInstances"
    name = f"{instance.instance_type} Linux/UNIX {'Spot ' if kind == 'SpotUsage' else ''}Instance-hour in {instance.region_id}"
    # Spot rows come without an instance type, as the real ones do
    shown = None if kind == "SpotUsage" else instance.instance_type
    return Service("AmazonEC2", usage_type, operation, instance.region_id, "Hrs", price, "Compute Instance", name, shown)


def tag_columns(instance: Instance, tag: str | None) -> dict[str, object]:
    tags = {"aws_created_by": "AssumedRole:synthetic:scheduler", "user_name": instance.name}
    if tag is not None:
        tags |= {f"user_{TAG_KEY}": tag, "user_cost_center": "training"}
    return {"resource_tags": tags, "cost_category": {"capability": "machine-learning"}}


def spot_rate(world: World, instance: Instance, hour: int) -> int:
    """The Spot price of the day, the same for all machines of a zone."""
    random = generator("spot", instance.zone, hour // DAY)
    return money("8.6") + random.randrange(-3_000, 3_001) * (UNIT // 10_000)


def component(instance: Instance) -> str:
    return "accelerator" if instance.is_accelerated else "host"


def instance_rows(
    sheet: Sheet,
    world: World,
    instance: Instance,
    covered: Mapping[tuple[str, int], int],
    billed_seconds: Callable[[int, int], int] | None = None,
    shown_tag: Callable[[int], str | None] | None = None,
) -> Iterator[Chunk]:
    """Rows of one machine; hours the Savings Plan covers are rows of their own, an hour covered in part is two.

    `billed_seconds(hour, seconds)` and `shown_tag(hour)` are what an early delivery got wrong.
    """
    billed_seconds = billed_seconds or (lambda hour, used: used)
    shown_tag = shown_tag or (lambda hour: instance.tag)
    worked = [
        (hour, billed_seconds(hour, used)) for hour, used in hours_between(instance.launched, instance.terminated, sheet.month)
    ]
    plan = [(hour, covered[instance.instance_id, hour]) for hour, _ in worked if (instance.instance_id, hour) in covered]
    direct = [(hour, used - covered.get((instance.instance_id, hour), 0)) for hour, used in worked]
    direct = [(hour, used) for hour, used in direct if used]
    # one chunk per spelling of the tag: constants are what a chunk's rows share
    for tag in sorted({shown_tag(hour) for hour, _ in direct}, key=str):
        yield _direct_rows(sheet, world, instance, [(hour, used) for hour, used in direct if shown_tag(hour) == tag], tag)
    if plan:
        yield _covered_rows(sheet, world, instance, plan)


def _direct_rows(sheet: Sheet, world: World, instance: Instance, worked: list[tuple[int, int]], tag: str | None) -> Chunk:
    amounts = [hours(used) for _, used in worked]
    if instance.purchase == "spot":
        service = box(instance, kind="SpotUsage", rate=money("8.6"))
        rates: int | list[int] = [spot_rate(world, instance, hour) for hour, _ in worked]
    else:
        service = box(instance)
        rates = service.rate
    varying = sheet.billed(amounts, rates, ON_DEMAND[instance.instance_type])
    return hourly(
        f"box|{instance.instance_id}|{tag}",
        instance.account,
        worked,
        service.columns | _place(instance) | tag_columns(instance, tag),
        varying,
        [line_claim(world, instance, hour, used, component(instance), tag=tag) for hour, used in worked],
        WATTS[instance.instance_type],
    )


def _covered_rows(sheet: Sheet, world: World, instance: Instance, worked: list[tuple[int, int]]) -> Chunk:
    service = box(instance)
    amounts = [covered_hours(used) for _, used in worked]
    effective = [amount * SAVINGS_PLAN_RATE // UNIT for amount in amounts]
    constants = service.columns | _place(instance) | tag_columns(instance, instance.tag) | plan_columns(world)
    constants |= {"line_item_line_item_type": "SavingsPlanCoveredUsage", "savings_plan_savings_plan_rate": SAVINGS_PLAN_RATE}
    varying = sheet.billed(amounts, service.rate) | {"savings_plan_savings_plan_effective_cost": effective}
    if sheet.is_discounted:
        varying["savings_plan_net_savings_plan_effective_cost"] = effective
    return hourly(
        f"covered|{instance.instance_id}",
        instance.account,
        worked,
        constants,
        varying,
        [line_claim(world, instance, hour, used, component(instance), tag=instance.tag) for hour, used in worked],
        WATTS[instance.instance_type],
    )


def plan_columns(world: World) -> dict[str, object]:
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


def _place(instance: Instance) -> dict[str, object]:
    return {"line_item_resource_id": instance.instance_id, "line_item_availability_zone": instance.zone}


def volume_rows(sheet: Sheet, instance: Instance) -> Chunk | None:
    """The machine's gp3 volume, billed by the hour and tagged as the machine is."""
    worked = hours_between(instance.launched, instance.terminated, sheet.month)
    if not instance.volume_gb or not worked:
        return None
    first, last = sheet.bounds
    region = REGIONS[instance.region_id]
    service = priced(
        f"AmazonEC2, {region.prefix}EBS:VolumeUsage.gp3, CreateVolume-Gp3, GB-Mo, Storage",
        instance.region_id,
        VOLUME_RATE,
        f"GB-month of General Purpose (gp3) provisioned storage - {region.bill_name}",
    )
    amounts = [instance.volume_gb * used * UNIT // (last - first) for _, used in worked]
    volume_id = "vol-" + instance.instance_id[2:]
    claims: list[Claim | None] = [None] * len(worked)
    if instance.tag is not None:
        claims = [whole(normalise(instance.tag), "tag", "storage")] * len(worked)
    return hourly(
        f"volume|{volume_id}",
        instance.account,
        worked,
        service.columns | {"line_item_resource_id": volume_id} | tag_columns(instance, instance.tag),
        sheet.billed(amounts, VOLUME_RATE),
        claims,
    )


def traffic_rows(sheet: Sheet, world: World, instance: Instance) -> Chunk | None:
    """Traffic between zones on an untagged machine: the runs that held it share the hour, the rest is nobody's."""
    worked = hours_between(instance.launched, instance.terminated, sheet.month)
    if not worked:
        return None
    region = REGIONS[instance.region_id]
    service = priced(
        f"AmazonEC2, {region.prefix}DataTransfer-Regional-Bytes, InterZone-In, GB, Data Transfer",
        instance.region_id,
        TRAFFIC_RATE,
        "GB - regional data transfer - in/out/between EC2 AZs",
        region_in_map_only=True,
    )
    random = generator("traffic", instance.instance_id, sheet.month)
    amounts = [random.randrange(1, 40_000_000_000) if hour % (7 * HOUR) else random.randrange(1, 9_000) for hour, _ in worked]
    claims = [line_claim(world, instance, hour, HOUR, "network") for hour, _ in worked]
    return hourly(
        f"traffic|{instance.instance_id}",
        instance.account,
        worked,
        service.columns | {"line_item_resource_id": instance.instance_id} | tag_columns(instance, None),
        sheet.billed(amounts, TRAFFIC_RATE),
        claims,
    )
