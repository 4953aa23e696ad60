"""Everything of the AWS half, in order: fleets, run records, bills, carbon. Returns the truth of each source's objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagster_project.demo.aws import carbon, commitments, cur, estate, fleet, machines
from dagster_project.demo.aws.account import PAYER_A, PAYER_B, Payer
from dagster_project.demo.aws.lines import Sheet
from dagster_project.demo.clock import HISTORY, MONTHS
from dagster_project.demo.runs import write_runs
from dagster_project.demo.simulation import World
from dagster_project.demo.trials import add_trainium

ROWS_PER_FILE = 10_000
LARGEST_FILE = 250_000
CORRECTION_MONTH = "2026-07"  # of payer A


def worlds_of(scale: int) -> list[World]:
    worlds = [World(replica) for replica in range(scale)]
    for world in worlds:
        fleet.build(world)
        add_trainium(world)
    return worlds


def write_exports(exports: Path, late: Path, worlds: list[World]) -> dict[str, dict[str, dict[str, Any]]]:
    for world in worlds:
        write_runs(exports / "runs", world.runs, "AWS")
    rows_per_file = min(ROWS_PER_FILE * len(worlds), LARGEST_FILE)
    truth: dict[str, dict[str, dict[str, Any]]] = {}
    activity: dict[tuple[str, str], carbon.Activity] = {}
    for payer in (PAYER_A, PAYER_B):
        told = truth[payer.bill_source] = {}
        for month in (*HISTORY, *MONTHS) if payer is PAYER_B else MONTHS:
            executions = cur.executions(payer, month)
            for execution in executions:
                sheet = _sheet_of(worlds, payer, month, is_early=execution is not executions[-1])
                told |= cur.write_month(exports / payer.bill_source, sheet, execution, rows_per_file)
            activity[payer.account_id, month] = sheet.activity  # of the latest
    for release in carbon.releases():
        root = late if release.is_late else exports
        carbon.write_release(root / release.payer.carbon_source, release, activity[release.payer.account_id, release.month])
    return truth


def _sheet_of(worlds: list[World], payer: Payer, month: str, *, is_early: bool) -> Sheet:
    """The bill of a month as the latest delivery has it, or June before its restatement."""
    sheet = Sheet(payer, month, is_early)
    for world in worlds:
        covered = commitments.plan_coverage(world, month)
        for machine in world.instances:
            if machine.account in payer.accounts and machine.purchase != "block":
                machines.machine_rows(sheet, world, machine, covered)
        if payer is PAYER_A:
            commitments.block_rows(sheet, world)
            commitments.plan_rows(sheet, world, covered)
            commitments.reserved_rows(sheet, world)
        else:
            machines.job_rows(sheet, world)
        if month not in HISTORY:
            estate.estate_rows(sheet, world)
        if payer is PAYER_A and month == CORRECTION_MONTH:
            machines.correction_row(sheet, world)
    return sheet
