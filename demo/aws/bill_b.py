"""Payer B's bill: shared and tagged clusters, a SageMaker job, the cluster nobody logged; June is delivered twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from demo.aws import estate, machines
from demo.aws.cur import Execution
from demo.aws.lines import Chunk, Sheet, hours, priced
from demo.aws.plan_b import JOB_NODES, SHARED_TYPE, job_of
from demo.clock import HOUR, days_after_month, hours_between, seconds
from demo.organisation import ON_DEMAND, PAYER_B, ROBOTICS, UNIT, VISION, WATTS, money
from demo.simulation import Instance, World
from demo.truth import normalise, whole

RESTATED_MONTH = "2026-06"
RESTATED_AT = seconds("2026-08-06T06:02:44")
JOB_TYPE = f"ml.{SHARED_TYPE}"


def executions(month: str) -> list[Execution]:
    """When the month was delivered, oldest first."""
    if month == "2026-09":
        return [Execution(days_after_month(month, 9, "20:15:31"), "118")]
    first = Execution(days_after_month(month, 13, "22:56:48"), "277")
    return [first, Execution(RESTATED_AT, "904")] if month == RESTATED_MONTH else [first]


def sheet_of(worlds: list[World], month: str, *, is_first_june: bool = False) -> Sheet:
    """The month as the latest delivery has it, or June before its restatement."""
    sheet = Sheet(PAYER_B, month)
    for world in worlds:
        for chunk in _chunks(sheet, world, is_first_june):
            sheet.add(chunk)
    return sheet


def _chunks(sheet: Sheet, world: World, is_first_june: bool) -> Iterator[Chunk]:
    late = _late_machine(world)
    for machine in world.machines(VISION, ROBOTICS):
        is_shared = machine.account == VISION and machine.tag is None
        full_hours = (lambda hour, used: HOUR) if is_first_june and is_shared else None
        no_tag_yet = _untagged_first_hour(machine) if is_first_june and machine is late else None
        yield from machines.instance_rows(sheet, world, machine, {}, full_hours, no_tag_yet)
        volume = machines.volume_rows(sheet, machine)
        if volume:
            yield volume
        traffic = machines.traffic_rows(sheet, world, machine) if is_shared else None
        if traffic:
            yield traffic
    yield from _job_rows(sheet, world)
    yield from estate.cpu_rows(sheet, world, VISION, "us-west-2", 2)
    yield from estate.bucket_rows(sheet, world, VISION, "us-west-2", "example-ag-synthetic-images", 51 if is_first_june else 50)
    yield from estate.monthly_charges(sheet, world, PAYER_B.account, "410.2", "500")
    if sheet.month == "2026-04":
        yield estate.charge(
            sheet, world, ROBOTICS, "Fee", money("12"), "AmazonRegistrar", "DomainRegistration", "Domain registration (synthetic)"
        )
    if sheet.month == RESTATED_MONTH and not is_first_june:
        usage, text = "USW2-BoxUsage:trn1.32xlarge", "Credit granted after the invoice (synthetic)"
        region = {"product_region_code": "us-west-2"}
        yield estate.charge(sheet, world, VISION, "Credit", money("-640.25"), "AmazonEC2", usage, text, **region)


def _late_machine(world: World) -> Instance:
    return next(machine for machine in world.instances if machine.name.startswith("vit-h14-01"))


def _untagged_first_hour(machine: Instance) -> Callable[[int], str | None]:
    """The tag was activated after the first hour had been billed."""
    first = machine.launched - machine.launched % HOUR
    return lambda hour: None if hour == first else machine.tag


def _job_rows(sheet: Sheet, world: World) -> Iterator[Chunk]:
    """Instance-hours and volume of the managed job, under its ARN."""
    job = job_of(world)
    worked = hours_between(job.start, job.end, sheet.month)
    if not worked:
        return
    periods = [(hour, hour + HOUR) for hour, _ in worked]
    train = priced(
        f"AmazonSageMaker, USE1-Train:{JOB_TYPE}, CreateTrainingJob, Hrs, ML Instance",
        "us-east-1",
        ON_DEMAND[JOB_TYPE],
        f"Training {JOB_TYPE} hour in us-east-1",
        JOB_TYPE,
    )
    amounts = [hours(used * JOB_NODES) for _, used in worked]
    constants = {"line_item_resource_id": job.arn}
    watt_hours = sum(used for _, used in worked) * JOB_NODES * WATTS[SHARED_TYPE] // HOUR
    claims = [whole(normalise(job.name), "managed_job", "accelerator")] * len(worked)
    yield Chunk(
        f"job|{job.name}", VISION, periods, train.columns | constants, sheet.billed(amounts, train.rate), claims, watt_hours
    )
    volume = priced(
        "AmazonSageMaker, USE1-VolumeUsage.gp2, CreateTrainingJob, GB-Mo, ML Storage",
        "us-east-1",
        money("0.14"),
        "GB-month of ML Storage in us-east-1",
    )
    sizes = [200 * JOB_NODES * used * UNIT // (31 * 24 * HOUR) for _, used in worked]
    claims = [whole(normalise(job.name), "managed_job", "storage")] * len(worked)
    yield Chunk(f"job-volume|{job.name}", VISION, periods, volume.columns | constants, sheet.billed(sizes, volume.rate), claims)
