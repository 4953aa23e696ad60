"""A payer's bill of a month: what its fleet, commitments and estate did, the managed job, and a correction."""

from __future__ import annotations

from demo.aws import machines
from demo.aws.account import ON_DEMAND, PAYER_A, VISION, WATTS, Payer
from demo.aws.commitments import block_rows, plan_coverage, plan_rows, reserved_rows
from demo.aws.estate import estate_rows
from demo.aws.fleet import JOB_END, JOB_NODES, JOB_START, NODE_TYPE, job_arn
from demo.aws.lines import Sheet, hours, priced
from demo.clock import DAY, HOUR, hours_between, month_of
from demo.organisation import UNIT, money
from demo.simulation import World
from demo.truth import normalise, whole

CORRECTION_MONTH = "2026-07"
JOB_TYPE = f"ml.{NODE_TYPE}"


def sheet_of(worlds: list[World], payer: Payer, month: str, *, is_early: bool = False) -> Sheet:
    """The month as the latest delivery has it, or June before its restatement."""
    sheet = Sheet(payer, month, is_early)
    for world in worlds:
        covered = plan_coverage(world, month)
        for machine in world.instances:
            if machine.account in payer.accounts and machine.purchase != "block":
                machines.machine_rows(sheet, world, machine, covered)
        if payer is PAYER_A:
            block_rows(sheet, world)
            plan_rows(sheet, world, covered)
            reserved_rows(sheet, world)
        else:
            _job_rows(sheet, world)
        estate_rows(sheet, world)
        if payer is PAYER_A and month == CORRECTION_MONTH:
            _correction(sheet, world)
    return sheet


def _correction(sheet: Sheet, world: World) -> None:
    """An hour and a half taken back from a machine of the month, tagged as the machine is."""
    machine = next(
        machine
        for machine in world.instances
        if machine.name.startswith("llm8b-cpt-06") and machine.is_accelerated and month_of(machine.launched) == sheet.month
    )
    hour = machine.launched // HOUR * HOUR + 5 * HOUR
    columns = machines.resource_columns(machine, machine.tag)
    columns |= {"line_item_line_item_description": "Correction of usage billed twice (synthetic)"}
    claims = [whole(normalise(machine.tag or ""), "tag", "accelerator")]
    service, key = machines.box(machine), f"correction|{machine.instance_id}"
    sheet.use(key, machine.account, service, [(hour, HOUR)], columns, amounts=[-3 * UNIT // 2], claims=claims)


def _job_rows(sheet: Sheet, world: World) -> None:
    """Instance-hours and volume of the managed job, under its ARN."""
    worked, arn = hours_between(JOB_START, JOB_END, sheet.month), job_arn(world)
    name = arn.rpartition("/")[2]
    train = f"AmazonSageMaker, USE1-Train:{JOB_TYPE}, CreateTrainingJob, Hrs, ML Instance"
    volume = "AmazonSageMaker, USE1-VolumeUsage.gp2, CreateTrainingJob, GB-Mo, ML Storage"
    node_hours = [hours(used * JOB_NODES) for _, used in worked]
    sizes = [200 * JOB_NODES * used * UNIT // (31 * DAY) for _, used in worked]
    hourly = ON_DEMAND[JOB_TYPE]
    for key, words, rate, text, amounts, component, watts in (
        ("job", train, hourly, f"Training {JOB_TYPE} hour", node_hours, "accelerator", JOB_NODES * WATTS[NODE_TYPE]),
        ("job-volume", volume, money("0.14"), "GB-month of ML Storage", sizes, "storage", 0),
    ):
        service = priced(words, "us-east-1", rate, f"{text} in us-east-1")
        claims = [whole(normalise(name), "managed_job", component)] * len(worked)
        columns = {"line_item_resource_id": arn}
        sheet.use(f"{key}|{name}", VISION, service, worked, columns, amounts=amounts, claims=claims, watts=watts)
