"""Payer A's bill: what its fleet, commitments and estate did in a month, plus the charges and corrections of the invoice."""

from __future__ import annotations

from collections.abc import Iterator

from demo.aws import commitments, estate, machines
from demo.aws.lines import Chunk, Sheet
from demo.aws.plan_a import block_of
from demo.clock import HOUR, days_after_month, month_of
from demo.organisation import PAYER_A, PLATFORM, PRODUCTION, RESEARCH, UNIT, digest, money
from demo.simulation import World
from demo.truth import normalise, whole

CREDITS = {"2026-05": "-1500", "2026-08": "-820.4"}
REFUND_MONTH, CORRECTION_MONTH = "2026-08", "2026-07"


def sheet_of(worlds: list[World], month: str) -> Sheet:
    sheet = Sheet(PAYER_A, month)
    for world in worlds:
        for chunk in _chunks(sheet, world):
            sheet.add(chunk)
    return sheet


def published(month: str) -> int:
    """The last delivery of a closed month; September is still open and two days old."""
    return days_after_month(month, 14, "06:11:09") if month != "2026-09" else days_after_month(month, 9, "18:40:02")


def _chunks(sheet: Sheet, world: World) -> Iterator[Chunk]:
    covered = commitments.plan_coverage(world, sheet.month)
    for machine in world.machines(PRODUCTION, RESEARCH):
        if machine.purchase == "block":
            continue
        yield from machines.instance_rows(sheet, world, machine, covered)
        volume = machines.volume_rows(sheet, machine)
        if volume:
            yield volume
    yield from commitments.block_rows(sheet, world, block_of(world))
    yield from commitments.plan_rows(sheet, world, covered)
    yield from commitments.reserved_rows(sheet, world, "i-0" + digest("reserved", world.replica)[:16])
    yield from estate.cpu_rows(sheet, world, PLATFORM, "us-east-1", 5)
    for account, region_id, bucket, terabytes in (
        (PRODUCTION, "us-east-1", "example-ag-synthetic-checkpoints", 60),
        (RESEARCH, "us-west-2", "example-ag-synthetic-corpora", 140),
        (PRODUCTION, "us-east-2", "example-ag-synthetic-moe", 30),
    ):
        yield from estate.bucket_rows(sheet, world, account, region_id, bucket, terabytes)
    yield from estate.network_rows(sheet, world, PLATFORM, "us-east-1")
    yield estate.cloudfront_rows(sheet, world, PLATFORM)
    yield from estate.monthly_charges(sheet, world, PAYER_A.account, "2310.55", "1890")
    yield from _exceptions(sheet, world)


def _exceptions(sheet: Sheet, world: World) -> Iterator[Chunk]:
    if sheet.month in CREDITS:
        usage, text, cost = "BoxUsage:trn1.32xlarge", "Migration programme credit (synthetic)", money(CREDITS[sheet.month])
        more = {"product_region_code": "us-east-1", "line_item_operation": "RunInstances"}
        yield estate.charge(sheet, world, PRODUCTION, "Credit", cost, "AmazonEC2", usage, text, **more)
    if sheet.month == REFUND_MONTH:
        usage, text = "USW2-SpotUsage:trn1.32xlarge", "Refund for a billing error (synthetic)"
        more = {"product_region_code": "us-west-2"}
        yield estate.charge(sheet, world, RESEARCH, "Refund", money("-120.55"), "AmazonEC2", usage, text, **more)
    if sheet.month == CORRECTION_MONTH:
        yield _correction(sheet, world)


def _correction(sheet: Sheet, world: World) -> Chunk:
    """An hour and a half taken back from a machine of the month, tagged as the machine is."""
    machine = next(
        machine
        for machine in world.instances
        if machine.name.startswith("llm8b-cpt-06") and machine.is_accelerated and month_of(machine.launched) == sheet.month
    )
    service = machines.box(machine)
    hour = machine.launched - machine.launched % HOUR + 5 * HOUR
    constants = service.columns | {
        "line_item_resource_id": machine.instance_id,
        "line_item_line_item_description": "Correction of usage billed twice (synthetic)",
    }
    claim = whole(normalise(machine.tag or ""), "tag", "accelerator")
    return Chunk(
        f"correction|{machine.instance_id}",
        machine.account,
        [(hour, hour + HOUR)],
        constants | machines.tag_columns(machine, machine.tag),
        sheet.billed([-3 * UNIT // 2], service.rate),
        [claim],
    )
